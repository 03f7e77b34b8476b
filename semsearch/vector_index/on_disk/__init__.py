"""Inverted lists in a file: vectors of any number, searched in place, built from parts that know nothing of each other.

centroids.npy    (lists, d) float32: a vector is in the list of the nearest one
sizes.npy        (lists,) int64: how many vectors each list has
lists.data       of each list the codes (n, d) in half precision, then the ids (n,) int64

The layout is that of FAISS's OnDiskInvertedLists, which maps the file into memory; its own files of them have absolute
paths, and its merging prints on stdout (https://github.com/facebookresearch/faiss/issues/744). A part has the rows of
`parts.row_type`, ordered by list.
"""
