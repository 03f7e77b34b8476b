"""The addresses of the server, by subject: indexes, documents, texts, its own state, and those of other services."""
