"""Filters as SQL, and the rows that pass them."""
