"""The page Indexes."""
