"""The tables of five papers as data, how each row is run, and what came of it: see ../reproduce_papers.py."""
