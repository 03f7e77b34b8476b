"""The database of a local store: connections, schema, checksums, and the record of what was acknowledged."""
