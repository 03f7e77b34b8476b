"""Passages of an index in the plane, for a map: places by PCA or UMAP."""
