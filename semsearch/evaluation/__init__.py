"""How good an encoder or an index is, in numbers."""
