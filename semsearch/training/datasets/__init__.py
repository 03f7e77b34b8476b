"""Training data, read as a Dataset: folders of documents, lines of text, pairs, triplets, labelled pairs."""
