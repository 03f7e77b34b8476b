"""The page Templates."""
