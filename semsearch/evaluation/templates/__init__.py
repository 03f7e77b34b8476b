"""Evaluation of templates: checks, the score of a template on sentence pairs, and the search over a grid."""
