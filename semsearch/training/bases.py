"""What a run begins with: a model that is named as anywhere, and the templates it is read under while it learns and
afterwards. Those are its own where the objective has none: a template in its name, a saved encoder's, its pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.encoders.factory import HASHING
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, methods, model_folders
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import HUB, Reference
from semsearch.models.networks import loading
from semsearch.training.objectives import Recipe

ROBERTA = ("roberta", "xlm-roberta", "camembert")
KINDS = ("bert", "roberta", "causal")
PAGE = "https://huggingface.co/"
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Base:
    """A model's folder, its kind (bert, roberta, causal), and how it is read in training and afterwards.

    `parts` are those of its checkpoint that it was trained with already, such as a pooler.
    """

    folder: Path
    kind: str
    trains: Bundle
    serves: Bundle
    parts: frozenset[str] = frozenset()

    @property
    def causal(self) -> bool:
        return self.kind == "causal"


def base(name: str | Path, recipe: Recipe, *, trust: bool = False) -> Base:
    """What `name` is, under the templates of `recipe` where it names none itself.

    Raises NotFound, and UsageError for an ONNX encoder, or where model and templates do not go together.
    """
    reference = Reference.parse(name)
    _check(reference)
    folder = model_folders.find(reference.model, reference.revision)
    saved = _saved(folder, reference)
    kind = family(loading.architecture(folder, trust=trust))
    parts = methods.make(saved.method, saved.options).needs if saved else frozenset()
    if saved and not reference.template and not recipe.trains:
        return Base(folder, kind, saved, saved, parts)
    entry = model_folders.catalogue().get(reference.model, {})
    licence = saved.licence if saved else str(entry.get("licence", ""))
    source = saved.source if saved else str(entry.get("source") or _page(reference))
    trains, serves = (
        hf_config.describe(folder, under, name=reference.model, source=source, trust=trust)
        for under in _readings(reference, recipe, kind, entry.get("template") or "")
    )
    trains, serves = (replace(each, licence=each.licence or licence) for each in (trains, serves))
    return Base(folder, kind, trains, serves, parts)


def family(architecture: tuple[str, bool]) -> str:
    """bert, roberta or causal: which templates of the papers suit a model."""
    kind, decodes = architecture
    return "causal" if decodes else "roberta" if kind in ROBERTA else "bert"


def _check(reference: Reference) -> None:
    """UsageError where a reference is none that a run can begin with."""
    if reference.model == HASHING:
        raise UsageError(f"{HASHING} has no weights to train.", "Name a model: a folder, or hf:owner/name.")
    if reference.dim is not None:
        raise UsageError(
            f"{reference.model} is trained at its whole width, so dim {reference.dim} cannot be chosen.",
            f"To have the first {reference.dim} numbers serve too: --matryoshka-dims {reference.dim}",
        )


def _saved(folder: Path, reference: Reference) -> Bundle | None:
    """The encoder that `folder` holds, its weights checked; None for a model that says not how it is read."""
    if not (folder / bundles.MANIFEST).is_file():
        return None
    saved = bundles.read(folder)
    if saved.weights.endswith(bundles.ONNX):
        origin = saved.source.removeprefix(PAGE)
        hub = f", such as {HUB}{origin}" if origin != saved.source else ""
        raise UsageError(
            f"{reference.model} is an exported encoder: ONNX weights cannot be trained.",
            f"Name the model it was made from: a folder with config.json and model.safetensors{hub}.",
        )
    saved.path("weights")
    also = {"layer": reference.layer, "max_tokens": reference.max_tokens, **reference.options}
    for key in () if reference.template else (key for key, value in also.items() if value is not None):
        raise UsageError(
            f"{reference.model} was saved with the way it is read, so {key} cannot be chosen.",
            f"Name a template too: {reference.model}#{key}=…,template=mean",
        )
    if saved.post:
        LOG.warning("%s is trained without its %s, which was fitted to its weights.", reference.model, saved.post[0])
    return replace(saved, post=(), dim=0, parity={}, background=()).with_fingerprint()


def _readings(reference: Reference, recipe: Recipe, kind: str, usual: str) -> tuple[Reference, Reference]:
    """`reference` under the template of training, and under that of what is saved."""
    if reference.template:
        return reference, reference
    trains = _under(reference, recipe.trains, kind) if recipe.trains else reference.with_(template=usual)
    return trains, _under(reference, recipe.serves, kind) if recipe.serves else trains


def _under(reference: Reference, templates: Mapping[str, str], kind: str) -> Reference:
    if kind not in templates:
        raise UsageError(
            f"this way of training has no template for {reference.model}, a model of the kind {kind}.",
            f"It trains models of the kind {' or '.join(templates)}; or name a template: {reference.model}#TEMPLATE",
        )
    return reference.with_(template=templates[kind])


def _page(reference: Reference) -> str:
    return PAGE + reference.model.removeprefix(HUB) if reference.model.startswith(HUB) else ""
