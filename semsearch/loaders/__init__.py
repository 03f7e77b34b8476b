"""Readers of documents, one file type each."""
