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
    from semsearch.evaluation.attribution import token_contributions
    from semsearch.evaluation.embedding_geometry import pair_geometry, text_geometry
    from semsearch.evaluation.fill_mask import mask_vectors, mask_words
    from semsearch.evaluation.index_geometry import index_geometry
    from semsearch.evaluation.known_item import drawn_sentences, own_rank, own_recall
    from semsearch.evaluation.queries import questions
    from semsearch.evaluation.retrieval import evaluate, judgements
    from semsearch.evaluation.runs import keep_run, kept_runs, remove_run
    from semsearch.evaluation.sts import pearson, ranks, spearman, sts
    from semsearch.evaluation.sts_tasks import sts_pairs, sts_task, sts_tasks
    from semsearch.evaluation.templates.check import TemplateCheck, check_template
    from semsearch.evaluation.templates.trials import search_templates, template_grid
    from semsearch.index import Index
    from semsearch.indexing.sources import SyncOptions
    from semsearch.prompts.library import templates
    from semsearch.stores.local.facets import Facet
    from semsearch.training.base_model import trained_from
    from semsearch.training.catalogue import training_methods
    from semsearch.training.runs import TrainingRun, training_run, training_runs
    from semsearch.types import Document, Hit, Progress, Query, Results, SyncReport, VectorSample

__version__ = "0.1.0"

_HOME_OF = {
    "Document": "semsearch.types",
    "Encoder": "semsearch.encoders.encoder",
    "Facet": "semsearch.stores.local.facets",
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
    "TemplateCheck": "semsearch.evaluation.templates.check",
    "TrainingRun": "semsearch.training.runs",
    "VectorSample": "semsearch.types",
    "check_template": "semsearch.evaluation.templates.check",
    "drawn_sentences": "semsearch.evaluation.known_item",
    "evaluate": "semsearch.evaluation.retrieval",
    "index_geometry": "semsearch.evaluation.index_geometry",
    "judgements": "semsearch.evaluation.retrieval",
    "mask_vectors": "semsearch.evaluation.fill_mask",
    "mask_words": "semsearch.evaluation.fill_mask",
    "keep_run": "semsearch.evaluation.runs",
    "kept_runs": "semsearch.evaluation.runs",
    "own_rank": "semsearch.evaluation.known_item",
    "own_recall": "semsearch.evaluation.known_item",
    "pair_geometry": "semsearch.evaluation.embedding_geometry",
    "pearson": "semsearch.evaluation.sts",
    "questions": "semsearch.evaluation.queries",
    "ranks": "semsearch.evaluation.sts",
    "remove_run": "semsearch.evaluation.runs",
    "search_templates": "semsearch.evaluation.templates.trials",
    "spearman": "semsearch.evaluation.sts",
    "sts": "semsearch.evaluation.sts",
    "sts_pairs": "semsearch.evaluation.sts_tasks",
    "sts_task": "semsearch.evaluation.sts_tasks",
    "sts_tasks": "semsearch.evaluation.sts_tasks",
    "template_grid": "semsearch.evaluation.templates.trials",
    "templates": "semsearch.prompts.library",
    "text_geometry": "semsearch.evaluation.embedding_geometry",
    "token_contributions": "semsearch.evaluation.attribution",
    "trained_from": "semsearch.training.base_model",
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
    "TemplateCheck",
    "TrainingRun",
    "VectorSample",
    "check_template",
    "drawn_sentences",
    "evaluate",
    "index_geometry",
    "judgements",
    "keep_run",
    "kept_runs",
    "mask_vectors",
    "mask_words",
    "own_rank",
    "own_recall",
    "pair_geometry",
    "pearson",
    "questions",
    "ranks",
    "remove_run",
    "search_templates",
    "spearman",
    "sts",
    "sts_pairs",
    "sts_task",
    "sts_tasks",
    "template_grid",
    "templates",
    "text_geometry",
    "token_contributions",
    "trained_from",
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
