"""Evaluation of templates: checks, the score of a template on sentence pairs, and the search over a grid.

Its modules, which need numpy, are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
