"""From files and documents to the store: sync, ingest, sources and file states.

What an open index uses is listed in `__init__.pyi` and imported on first use, as a search does without.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
