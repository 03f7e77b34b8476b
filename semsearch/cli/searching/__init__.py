"""Commands that search an index or look over its documents: query, similar, sql, cluster, dedup, label."""
