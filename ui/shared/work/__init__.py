"""Work in the background: computations beside a page, and jobs on an index, with their progress."""
