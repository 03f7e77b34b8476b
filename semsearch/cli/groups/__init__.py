"""Commands about what is alike in an index: dedup, cluster, label."""
