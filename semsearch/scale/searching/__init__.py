"""Searching without a server: folders of shards made searchable, and many queries answered, on a cluster or here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
