"""What the stores on SQLite, PostgreSQL and Lance share: filters compiled to SQL, words and BM25, facets.

What not every query needs is listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
