"""Filters in the language of Milvus."""
