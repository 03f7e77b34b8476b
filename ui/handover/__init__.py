"""What one page hands to others: the last search, and tags in the metadata."""
