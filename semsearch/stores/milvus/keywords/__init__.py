"""Search by words in Milvus."""
