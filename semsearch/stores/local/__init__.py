"""The local store: one SQLite file is the truth, vector index files beside it are caches."""
