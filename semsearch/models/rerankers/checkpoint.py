"""Rerankers as Hugging Face publishes them, described from their configuration alone: no torch, no weights.

A reranker is a sequence-classification model with one label, whose logit says how well a passage answers a query, or
with two, one of which says yes: then the logit is the difference, the logarithm of the odds. Code in the folder is
never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.models import hf_config, model_card, safetensors_files, st_config, tokenizer_files
from semsearch.models.rerankers.manifest import RerankerBundle
from semsearch.types import JsonMapping
from semsearch.utils.file_contents import read_object

HEAD = "ForSequenceClassification"
YES = ("positive", "relevant", "yes", "true", "entailment", "duplicate", "is_duplicate", "paraphrase", "label_1")
TWO_SEGMENTS = ("albert", "bert", "convbert", "electra", "ernie", "mobilebert", "rembert")  # by default of their kind
MOST_LABELS = 10  # that are told apart: two at most are of use
OTHER = "Name a cross-encoder, such as hf:cross-encoder/ms-marco-MiniLM-L6-v2."


def is_one(folder: Path) -> bool:
    """Whether the model in `folder` is a sequence classifier of pairs, by its configuration: one label, or two."""
    config = read_object(folder / hf_config.CONFIG)
    return _has_head(config) and not st_config.is_pipeline(folder) and len(_labels(config)) <= 2


def describe(folder: Path, *, name: str = "", source: str = "") -> RerankerBundle:
    """The reranker in `folder`, with its fingerprint. Raises NotFound if a file is missing, UsageError for another."""
    model = hf_config.read_model(folder)
    label = name or folder.resolve().name
    if not _has_head(model.config) or model.causal:
        raise UsageError(f"{label} is no reranker: its {hf_config.CONFIG} names no model …{HEAD}.", OTHER)
    positive = _positive(label, _labels(model.config))
    weights = safetensors_files.find(model.folder)
    words = tokenizer_files.read(model.folder)
    return RerankerBundle(
        name=label,
        max_tokens=hf_config.longest(model, words),
        precision="fp32",
        segments=_segments(model.config),
        positive=positive,
        weights=weights,
        weights_sha256=safetensors_files.identity(model.folder / weights),
        tokenizer=words.file,
        tokenizer_sha256=words.sha256,
        licence=model_card.licence(folder),
        source=source,
        config_sha256=hf_config.config_hash(model),
        folder=folder.resolve(),
    ).with_fingerprint()


def _has_head(config: JsonMapping) -> bool:
    named = config.get("architectures")
    return isinstance(named, list) and any(str(each).endswith(HEAD) for each in named)


def _labels(config: JsonMapping) -> dict[int, str]:
    """Label number -> name. A configuration without any has two, as transformers reads it."""
    named = config.get("id2label")
    if isinstance(named, Mapping) and named:
        return {int(number): str(name) for number, name in named.items() if str(number).isdigit()}
    count = config.get("num_labels", 2)
    return {number: f"LABEL_{number}" for number in range(min(count, MOST_LABELS) if isinstance(count, int) else 0)}


def _positive(name: str, labels: Mapping[int, str]) -> int | None:
    """The label that says yes, None where there is one label only. Raises UsageError for other labels."""
    if len(labels) == 1:
        return None
    said = [number for number, label in labels.items() if label.lower() in YES]
    if len(labels) != 2 or len(said) != 1:
        listed = ", ".join(list(labels.values())[:5]) or "none"
        raise UsageError(
            f"{name} is no reranker: its labels are {listed}, and one label, or two with a positive one, are needed.",
            OTHER,
        )
    return said[0]


def _segments(config: JsonMapping) -> bool:
    kinds = config.get("type_vocab_size", 2 if config.get("model_type") in TWO_SEGMENTS else 0)
    return isinstance(kinds, int) and kinds > 1
