"""Folders of Parquet shards, as `index --to-shards` writes them, searched in place without a server: read only.

What it offers is listed in `__init__.pyi` (see `stores.drivers.StoreDriver`) and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
