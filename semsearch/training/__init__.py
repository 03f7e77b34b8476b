"""Training: from a base model, an objective and a dataset to a trained encoder.

The public names are listed in `__init__.pyi`. Each is imported on first use, so that runs can be read without PyTorch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
