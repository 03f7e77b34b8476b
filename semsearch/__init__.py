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
    from semsearch.evaluation.asked import questions as questions
    from semsearch.evaluation.contributions import token_contributions as token_contributions
    from semsearch.evaluation.own import drawn_sentences as drawn_sentences
    from semsearch.evaluation.own import own_rank as own_rank
    from semsearch.evaluation.own import own_recall as own_recall
    from semsearch.evaluation.retrieval import evaluate as evaluate
    from semsearch.evaluation.retrieval import judgements as judgements
    from semsearch.evaluation.stored import index_geometry as index_geometry
    from semsearch.evaluation.sts import pearson as pearson
    from semsearch.evaluation.sts import ranks as ranks
    from semsearch.evaluation.sts import spearman as spearman
    from semsearch.evaluation.sts import sts as sts
    from semsearch.evaluation.template_check import TemplateCheck as TemplateCheck
    from semsearch.evaluation.template_check import check_template as check_template
    from semsearch.index import Index as Index
    from semsearch.prompts.library import templates as templates
    from semsearch.roots import SyncOptions as SyncOptions
    from semsearch.types import Document as Document
    from semsearch.types import Hit as Hit
    from semsearch.types import Progress as Progress
    from semsearch.types import Query as Query
    from semsearch.types import Results as Results
    from semsearch.types import SyncReport as SyncReport
    from semsearch.types import VectorSample as VectorSample
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
    "TemplateCheck": "semsearch.evaluation.template_check",
    "VectorSample": "semsearch.types",
    "check_template": "semsearch.evaluation.template_check",
    "drawn_sentences": "semsearch.evaluation.own",
    "evaluate": "semsearch.evaluation.retrieval",
    "index_geometry": "semsearch.evaluation.stored",
    "judgements": "semsearch.evaluation.retrieval",
    "own_rank": "semsearch.evaluation.own",
    "own_recall": "semsearch.evaluation.own",
    "pearson": "semsearch.evaluation.sts",
    "questions": "semsearch.evaluation.asked",
    "ranks": "semsearch.evaluation.sts",
    "spearman": "semsearch.evaluation.sts",
    "sts": "semsearch.evaluation.sts",
    "templates": "semsearch.prompts.library",
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
    "TemplateCheck",
    "VectorSample",
    "check_template",
    "drawn_sentences",
    "evaluate",
    "index_geometry",
    "judgements",
    "own_rank",
    "own_recall",
    "pearson",
    "questions",
    "ranks",
    "spearman",
    "sts",
    "templates",
    "token_contributions",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"semsearch has no name {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
