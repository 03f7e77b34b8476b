"""Whether a store is in order, and what can be read of one that is not."""
