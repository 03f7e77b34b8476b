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
    from semsearch.evaluation.contributions import token_contributions as token_contributions
    from semsearch.evaluation.sts import pearson as pearson
    from semsearch.evaluation.sts import ranks as ranks
    from semsearch.evaluation.sts import spearman as spearman
    from semsearch.evaluation.sts import sts as sts
    from semsearch.index import Index as Index
    from semsearch.roots import SyncOptions as SyncOptions
    from semsearch.types import Document as Document
    from semsearch.types import Hit as Hit
    from semsearch.types import Progress as Progress
    from semsearch.types import Query as Query
    from semsearch.types import Results as Results
    from semsearch.types import SyncReport as SyncReport
    from semsearch.walk import Rules as Rules

__version__ = "0.1.0"

_HOME_OF = {
    "Document": "semsearch.types",
    "Encoder": "semsearch.encoder",
    "Hit": "semsearch.types",
    "Index": "semsearch.index",
    "Progress": "semsearch.types",
    "Query": "semsearch.types",
    "Results": "semsearch.types",
    "Rules": "semsearch.walk",
    "SemsearchError": "semsearch.errors",
    "SyncOptions": "semsearch.roots",
    "SyncReport": "semsearch.types",
    "pearson": "semsearch.evaluation.sts",
    "ranks": "semsearch.evaluation.sts",
    "spearman": "semsearch.evaluation.sts",
    "sts": "semsearch.evaluation.sts",
    "token_contributions": "semsearch.evaluation.contributions",
}
__all__ = [
    "Document",
    "Encoder",
    "Hit",
    "Index",
    "Progress",
    "Query",
    "Results",
    "Rules",
    "SemsearchError",
    "SyncOptions",
    "SyncReport",
    "pearson",
    "ranks",
    "spearman",
    "sts",
    "token_contributions",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"semsearch has no name {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
