"""What stores beyond this machine share: links to their collections, and dumps made by way of a local store."""
