"""Speed, memory and quality, measured: see README.md."""
