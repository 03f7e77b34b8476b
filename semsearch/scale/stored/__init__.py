"""The folder into which a job writes, and what its files say."""
