"""The base model of a run: its folder, and the templates of texts in training and at inference.

Where the objective sets no template, the base model's own is used: one in its name, a saved encoder's, its pipeline's.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, methods, model_folders
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import HUB, Reference
from semsearch.models.networks import loading
from semsearch.training.checks import PAGE, find_base
from semsearch.training.hyperparameters import Hyperparameters

ROBERTA = ("roberta", "xlm-roberta", "camembert")
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model's folder, its kind (bert, roberta, causal), and how texts are read in training and at inference.

    `parts` are the optional parts of its checkpoint that are already trained, such as a pooler.
    """

    folder: Path
    kind: str
    training: Bundle
    inference: Bundle
    parts: frozenset[str] = frozenset()


def load_base(name: str | Path, hyperparameters: Hyperparameters, *, trust: bool = False) -> BaseModel:
    """The base model called `name`, under the hyperparameters' templates where it names none itself.

    Raises NotFound, and UsageError for an ONNX encoder, or where model and templates do not go together.
    """
    reference = Reference.parse(name)
    folder = find_base(reference)
    saved = _saved_encoder(folder, reference)
    architecture, decodes = loading.architecture(folder, trust=trust)
    kind = "causal" if decodes else "roberta" if architecture in ROBERTA else "bert"
    parts = methods.make(saved.method, saved.options).needs if saved else frozenset()
    if saved and not reference.template and not hyperparameters.training_templates:
        return BaseModel(folder, kind, saved, saved, parts)
    entry = model_folders.catalogue().get(reference.model, {})
    licence = saved.licence if saved else str(entry.get("licence", ""))
    page = PAGE + reference.model.removeprefix(HUB) if reference.model.startswith(HUB) else ""
    source = saved.source if saved else str(entry.get("source") or page)
    templates = hyperparameters.training_templates
    both = []
    for each in (templates, hyperparameters.inference_templates or templates):
        under = _with_template(reference, each, kind, entry.get("template") or "")
        bundle = hf_config.describe(folder, under, name=reference.model, source=source, trust=trust)
        both.append(replace(bundle, licence=bundle.licence or licence))
    training, inference = both
    return BaseModel(folder, kind, training, inference, parts)


def _saved_encoder(folder: Path, reference: Reference) -> Bundle | None:
    """The encoder saved in `folder`, its weights verified; None for a model without a manifest."""
    if not (folder / bundles.MANIFEST).is_file():
        return None
    saved = bundles.read(folder)
    saved.path("weights")
    also = {"layer": reference.layer, "max_tokens": reference.max_tokens, **reference.options}
    for key in () if reference.template else (key for key, value in also.items() if value is not None):
        raise UsageError(
            f"{reference.model} is a trained encoder with a template of its own, so {key} cannot be chosen.",
            f"Name a template too: {reference.model}#{key}=…,template=mean",
        )
    if saved.post:
        LOG.warning("%s is trained without its %s, which was fitted to its weights.", reference.model, saved.post[0])
    return replace(saved, post=(), dim=0, parity={}, background=()).with_fingerprint()


def _with_template(reference: Reference, templates: Mapping[str, str], kind: str, default: str) -> Reference:
    """`reference` under its own template, else the one for its kind; `default` where there are no `templates`."""
    if reference.template:
        return reference
    if not templates:
        return reference.with_(template=default)
    if kind not in templates:
        raise UsageError(
            f"this method has no template for {reference.model}, a model of the kind {kind}.",
            f"It trains models of the kind {' or '.join(templates)}; or name a template: {reference.model}#TEMPLATE",
        )
    return reference.with_(template=templates[kind])
