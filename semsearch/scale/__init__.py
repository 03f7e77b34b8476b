"""Work beyond one machine: embedding on a Ray cluster, and what an index of a given size takes.

Nothing here imports Ray, which is an extra, before a cluster is used.
"""
