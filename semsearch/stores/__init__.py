"""Stores of passages and vectors: the interface (`protocol`), and one package per store (`local` is SQLite)."""
