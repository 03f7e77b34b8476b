"""Indexes on a Milvus server, which many machines may share: `--store milvus:http://host:19530`.

What it offers is listed in `__init__.pyi` (see `stores.drivers.StoreDriver`) and imported on first use: shell
completion needs neither numpy nor a client.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
