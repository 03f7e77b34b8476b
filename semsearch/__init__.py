"""semsearch finds text by meaning.

    from semsearch import Document, Encoder, Hit, Index, Query, sts

The public names are listed in `__init__.pyi`. Each is imported on first use, so `import semsearch` costs nothing. What
is used less often is public in semsearch.evaluation, semsearch.training, semsearch.prompts and semsearch.export;
docs/api.md describes all of it.
"""

import os

import lazy_loader

__version__ = "0.1.0"

# ONNX Runtime from 1.31 on otherwise reports each model that it loads to its publisher, and keeps an id of the machine
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
