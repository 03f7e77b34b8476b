"""The page of a home without an index."""
