"""Embedding on a Ray cluster. Modules are imported on first use, and Ray, an extra, before a cluster is used."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
