"""From files and documents to the store: sync, ingest, sources and file states."""
