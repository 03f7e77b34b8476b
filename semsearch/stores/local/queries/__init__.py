"""SQL of a user over a store."""
