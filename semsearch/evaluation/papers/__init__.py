"""Measurements and methods from the papers: transfer tasks, layer scores, token attribution, whitening, flow.

The modules that need numpy or PyTorch are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
