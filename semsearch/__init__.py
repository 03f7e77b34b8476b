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
    from semsearch.evaluation.at_masks import mask_vectors as mask_vectors
    from semsearch.evaluation.at_masks import mask_words as mask_words
    from semsearch.evaluation.before import trained_from as trained_from
    from semsearch.evaluation.contributions import token_contributions as token_contributions
    from semsearch.evaluation.own import drawn_sentences as drawn_sentences
    from semsearch.evaluation.own import own_rank as own_rank
    from semsearch.evaluation.own import own_recall as own_recall
    from semsearch.evaluation.retrieval import evaluate as evaluate
    from semsearch.evaluation.retrieval import judgements as judgements
    from semsearch.evaluation.runs import keep_run as keep_run
    from semsearch.evaluation.runs import kept_runs as kept_runs
    from semsearch.evaluation.runs import remove_run as remove_run
    from semsearch.evaluation.shape import pair_geometry as pair_geometry
    from semsearch.evaluation.shape import text_geometry as text_geometry
    from semsearch.evaluation.stored import index_geometry as index_geometry
    from semsearch.evaluation.sts import pearson as pearson
    from semsearch.evaluation.sts import ranks as ranks
    from semsearch.evaluation.sts import spearman as spearman
    from semsearch.evaluation.sts import sts as sts
    from semsearch.evaluation.tasks import sts_pairs as sts_pairs
    from semsearch.evaluation.tasks import sts_task as sts_task
    from semsearch.evaluation.tasks import sts_tasks as sts_tasks
    from semsearch.evaluation.template_check import TemplateCheck as TemplateCheck
    from semsearch.evaluation.template_check import check_template as check_template
    from semsearch.evaluation.template_trials import search_templates as search_templates
    from semsearch.evaluation.template_trials import template_grid as template_grid
    from semsearch.facets import Facet as Facet
    from semsearch.index import Index as Index
    from semsearch.loaders import Fields as Fields
    from semsearch.methods_of_training import training_methods as training_methods
    from semsearch.prompts.library import templates as templates
    from semsearch.roots import SyncOptions as SyncOptions
    from semsearch.runs_of_training import TrainingRun as TrainingRun
    from semsearch.runs_of_training import training_run as training_run
    from semsearch.runs_of_training import training_runs as training_runs
    from semsearch.split import Splitter as Splitter
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
    "Facet": "semsearch.facets",
    "Fields": "semsearch.loaders",
    "Hit": "semsearch.types",
    "Index": "semsearch.index",
    "Progress": "semsearch.types",
    "Query": "semsearch.types",
    "Results": "semsearch.types",
    "Rules": "semsearch.walk",
    "SemsearchError": "semsearch.errors",
    "Splitter": "semsearch.split",
    "SyncOptions": "semsearch.roots",
    "SyncReport": "semsearch.types",
    "TemplateCheck": "semsearch.evaluation.template_check",
    "TrainingRun": "semsearch.runs_of_training",
    "VectorSample": "semsearch.types",
    "check_template": "semsearch.evaluation.template_check",
    "drawn_sentences": "semsearch.evaluation.own",
    "evaluate": "semsearch.evaluation.retrieval",
    "index_geometry": "semsearch.evaluation.stored",
    "judgements": "semsearch.evaluation.retrieval",
    "mask_vectors": "semsearch.evaluation.at_masks",
    "mask_words": "semsearch.evaluation.at_masks",
    "keep_run": "semsearch.evaluation.runs",
    "kept_runs": "semsearch.evaluation.runs",
    "own_rank": "semsearch.evaluation.own",
    "own_recall": "semsearch.evaluation.own",
    "pair_geometry": "semsearch.evaluation.shape",
    "pearson": "semsearch.evaluation.sts",
    "questions": "semsearch.evaluation.asked",
    "ranks": "semsearch.evaluation.sts",
    "remove_run": "semsearch.evaluation.runs",
    "search_templates": "semsearch.evaluation.template_trials",
    "spearman": "semsearch.evaluation.sts",
    "sts": "semsearch.evaluation.sts",
    "sts_pairs": "semsearch.evaluation.tasks",
    "sts_task": "semsearch.evaluation.tasks",
    "sts_tasks": "semsearch.evaluation.tasks",
    "template_grid": "semsearch.evaluation.template_trials",
    "templates": "semsearch.prompts.library",
    "text_geometry": "semsearch.evaluation.shape",
    "token_contributions": "semsearch.evaluation.contributions",
    "trained_from": "semsearch.evaluation.before",
    "training_methods": "semsearch.methods_of_training",
    "training_run": "semsearch.runs_of_training",
    "training_runs": "semsearch.runs_of_training",
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
