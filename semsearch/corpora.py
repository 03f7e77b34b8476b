"""Training and evaluation data: folders, text files, pairs and triplets, and what is in an index."""
