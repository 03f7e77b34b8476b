"""The nouns of semsearch: what a document, a passage, a query and a hit are.

Letters used in every docstring: `n` texts, `q` queries, `t` tokens, `h` hidden width, `d` vector width,
`k` neighbours. Each name is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
