"""`query` and `similar`."""
