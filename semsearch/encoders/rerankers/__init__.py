"""Rerankers: cross-encoders, which read a query and a passage together and score the pair.

`Reranker` is the public class, imported on first use: most searches need none. What runs a model is one file each of
`runtimes`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
