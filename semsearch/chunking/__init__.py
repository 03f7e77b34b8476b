"""From a document to passages: `document.text[start:end] == passage.text`.

The splitter is imported on first use, as a search splits nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
