"""Groups: documents that repeat others, what the documents are about, and labels as in examples."""
