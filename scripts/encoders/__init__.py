"""How the encoders that ship were made: see README.md."""
