"""The local store: one SQLite file is the truth, vector index files beside it are caches that may be deleted.

What it offers is listed in `__init__.pyi` (see `stores.drivers.StoreDriver`) and imported on first use: a search needs
neither the writer nor backups.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
