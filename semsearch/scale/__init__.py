"""Work beyond one machine: embedding on a Ray cluster.

Its modules are imported on first use, and Ray, which is an extra, before a cluster is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
