"""From tokens to hidden states to a vector: references, bundles, tokenization, networks and methods."""
