"""A Milvus server: its address, its calls, and its collections as tables with keys."""
