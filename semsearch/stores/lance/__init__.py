"""The Lance store: one table of a collection on a disk, a share or an object store, without a server.

What it offers is listed in `__init__.pyi` (see `stores.drivers.StoreDriver`) and imported on first use: neither the
names of indexes nor `--help` need the library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
