"""From a path to documents: walking folders, ignore rules, and one loader per file type.

What other packages use now and then is listed in `__init__.pyi` and imported on first use: a search needs no loader.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
