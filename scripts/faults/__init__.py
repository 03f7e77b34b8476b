"""Faults planted and tried: see README.md."""
