"""The page Library: the documents of an index, the indexes, and copies."""
