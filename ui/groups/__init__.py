"""Groups: documents that repeat others, and what the documents are about."""
