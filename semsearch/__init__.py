"""semsearch finds text by meaning. The whole public API is on this screen.

    from semsearch import Encoder, Index, Query, Document, Hit, sts

Names resolve on first use, so `import semsearch` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semsearch.chunking.splitter import Splitter
    from semsearch.documents.loaders import Fields
    from semsearch.documents.walk import Rules
    from semsearch.encoders.encoder import Encoder
    from semsearch.errors import SemsearchError
    from semsearch.evaluation.sts import sts
    from semsearch.index import Index
    from semsearch.indexing.sources import SyncOptions
    from semsearch.prompts.library import templates
    from semsearch.stores.records import Facet
    from semsearch.training.catalogue import training_methods
    from semsearch.training.runs import TrainingRun, base_model_of, training_run, training_runs
    from semsearch.types import Document, Hit, Progress, Query, Results, SyncReport, VectorSample

__version__ = "0.1.0"

_HOME_OF = {
    "Document": "semsearch.types",
    "Encoder": "semsearch.encoders.encoder",
    "Facet": "semsearch.stores.records",
    "Fields": "semsearch.documents.loaders",
    "Hit": "semsearch.types",
    "Index": "semsearch.index",
    "Progress": "semsearch.types",
    "Query": "semsearch.types",
    "Results": "semsearch.types",
    "Rules": "semsearch.documents.walk",
    "SemsearchError": "semsearch.errors",
    "Splitter": "semsearch.chunking.splitter",
    "SyncOptions": "semsearch.indexing.sources",
    "SyncReport": "semsearch.types",
    "TrainingRun": "semsearch.training.runs",
    "VectorSample": "semsearch.types",
    "sts": "semsearch.evaluation.sts",
    "templates": "semsearch.prompts.library",
    "base_model_of": "semsearch.training.runs",
    "training_methods": "semsearch.training.catalogue",
    "training_run": "semsearch.training.runs",
    "training_runs": "semsearch.training.runs",
}
__all__ = [
    "Document",
    "Encoder",
    "Facet",
    "Fields",
    "Hit",
    "Index",
    "Progress",
    "Query",
    "Results",
    "Rules",
    "SemsearchError",
    "Splitter",
    "SyncOptions",
    "SyncReport",
    "TrainingRun",
    "VectorSample",
    "base_model_of",
    "sts",
    "templates",
    "training_methods",
    "training_run",
    "training_runs",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"semsearch has no name {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
