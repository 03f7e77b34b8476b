"""What the stores on SQLite and on PostgreSQL share: filters compiled to SQL, words and BM25, facets."""
