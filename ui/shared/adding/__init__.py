"""Adding documents: the one panel for it, wherever it stands."""
