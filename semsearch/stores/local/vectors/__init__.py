"""Vectors of a local store, read, and the caches that are built of them."""
