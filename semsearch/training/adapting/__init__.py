"""An encoder trained further on texts of its own, with what keeps it an encoder of other texts too.

PyTorch is imported with the first name that is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
