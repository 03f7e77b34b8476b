"""The page Indexes & models."""
