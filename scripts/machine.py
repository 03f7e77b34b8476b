"""What a published figure has to name, under the name that the scripts beside this one import."""

from semsearch.evaluation.environment import caption, describe

__all__ = ["caption", "describe"]
