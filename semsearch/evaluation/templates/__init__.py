"""Templates measured: checks, the score of one, and the search over a grid of them."""
