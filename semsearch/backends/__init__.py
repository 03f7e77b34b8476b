"""Vector indexes, one file each: a class `Backend` that keeps `semsearch.types.VectorIndex`."""
