"""semsearch finds text by meaning. The whole public API is on this screen.

    from semsearch import Encoder, Index, Query, Document, Hit, sts

Names resolve on first use, so `import semsearch` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semsearch.encoder import Encoder as Encoder
    from semsearch.errors import SemsearchError as SemsearchError
    from semsearch.evaluation.sts import sts as sts
    from semsearch.index import Index as Index
    from semsearch.types import Document as Document
    from semsearch.types import Hit as Hit
    from semsearch.types import Query as Query
    from semsearch.types import Results as Results

__version__ = "0.1.0"

_HOME_OF = {
    "Document": "semsearch.types",
    "Encoder": "semsearch.encoder",
    "Hit": "semsearch.types",
    "Index": "semsearch.index",
    "Query": "semsearch.types",
    "Results": "semsearch.types",
    "SemsearchError": "semsearch.errors",
    "sts": "semsearch.evaluation.sts",
}
__all__ = ["Document", "Encoder", "Hit", "Index", "Query", "Results", "SemsearchError", "sts"]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"semsearch has no name {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
