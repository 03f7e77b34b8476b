"""From vectors to nearest ids: index backends, the planner that chooses one, cache files and the searcher.

The searcher is imported on first use: a search by words compares no vectors.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
