"""The tables of five papers as data, the runs of their rows, and the results: see reproduce.py."""
