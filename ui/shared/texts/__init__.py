"""Texts of documents as they are read: without the signs of their markup, and in blocks."""
