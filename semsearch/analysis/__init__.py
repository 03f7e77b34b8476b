"""What a collection is like as a whole: pairs, copies, clusters, topics, labels, layouts, and how sound an index is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
