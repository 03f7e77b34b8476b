"""The PostgreSQL store: a schema of a database for each collection, with the vectors of pgvector.

What it offers is listed in `__init__.pyi` (see `stores.drivers.StoreDriver`) and imported on first use: neither the
names of indexes nor `--help` need the client library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
