"""`train`."""
