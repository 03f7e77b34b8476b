"""Texts, teachers and the measure of choice of ../train_default.py."""
