"""Encoders: text to vectors. A back end (onnx, torch, causal, hashing) is a class based on base.EncoderBackend.

What commands use is listed in `__init__.pyi` and imported on first use, as `--help` does without numpy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
