"""The public Reranker: a query and passages to scores in 0 … 1, from any folder or hub id of a cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch import settings
from semsearch.encoders.rerankers import runtimes
from semsearch.errors import MissingExtra, NotFound, UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import local_models, model_folders
from semsearch.models.model_ref import HUB, Reference
from semsearch.models.rerankers import manifest
from semsearch.utils import plugins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semsearch.encoders.rerankers.runtime import Logits, RerankerRuntime
    from semsearch.types import JsonObject

DEFAULT = "default"
BACKENDS = ("auto", *plugins.own_names(runtimes.__name__))
NONE_YET = (
    "no reranker is part of semsearch, and none is set as default.",
    'Name a cross-encoder: rerank="ms-marco-MiniLM-L6-v2", a folder or "hf:owner/name"; or set SEMSEARCH_RERANKER.',
    "Name a cross-encoder: --rerank ms-marco-MiniLM-L6-v2 (once: semsearch models pull ms-marco-MiniLM-L6-v2), "
    "a folder or hf:owner/name; or set SEMSEARCH_RERANKER to it.",
)


class Reranker:
    """Reads a query and a passage together, which takes longer than comparing two vectors, and sees more."""

    def __init__(self, runtime: RerankerRuntime, reference: str = "") -> None:
        self._runtime = runtime
        self.name, self.fingerprint = runtime.bundle.name, runtime.bundle.fingerprint
        self.max_tokens = runtime.bundle.max_tokens
        self.reference = reference or self.name
        self.calibration = runtime.bundle.calibration

    @classmethod
    def load(
        cls, name: str | Path = DEFAULT, *, device: str = "auto", backend: str = "auto", threads: int = 0
    ) -> Reranker:
        """The reranker called `name`: a name of the catalogue, a folder, or hf:owner/name.

        A folder has an export (reranker.json), or a sequence-classification model with one label, or two of which one
        says yes; only safetensors are read, and code that comes with a model is never run. `device` is auto, cpu, cuda
        or cuda:N, `backend` auto, onnx or torch, `threads` 0 one worker per core.

        Raises NotFound, UsageError for another kind of model, DeviceUnavailable, Corrupt, and MissingExtra if a model
        needs torch.
        """
        if backend not in BACKENDS:
            raise UnknownName("backend of rerankers", backend, BACKENDS)
        reference = _reference(name)
        folder = model_folders.find_reranker(reference.model, reference.revision)
        runtime = _runtime(folder, reference, backend)
        of_hub = reference.model.startswith(HUB)
        entry = model_folders.rerankers().get(reference.model, {})
        named = bool(of_hub or entry)
        source = f"https://huggingface.co/{reference.model.removeprefix(HUB)}" if of_hub else entry.get("source", "")
        label = reference.model if named else folder.resolve().name
        running = runtime(folder, name=label, source=source, device=device, threads=threads)
        return cls(running, str(reference) if named else str(folder.resolve()))

    @classmethod
    def from_settings(cls, name: str = DEFAULT) -> Reranker:
        """`load` with the user's settings; "default" is the one of the settings. Raises NotFound where none is set."""
        chosen = settings.load()
        name = (chosen.reranker or DEFAULT) if name == DEFAULT else name
        return cls.load(name, device=chosen.device, threads=chosen.threads)

    @staticmethod
    def catalogue() -> list[JsonObject]:
        """The rerankers with a name: whether it is on this machine (`local`), licence, size … Nothing is loaded."""
        return local_models.rerankers()

    @staticmethod
    def on_this_machine() -> list[str]:
        """References of the rerankers that need no download: that of the settings, the catalogue's, saved ones.

        Saved ones are those below `Encoder.models_dir()`. Nothing is loaded.
        """
        own = settings.load().reranker
        named = [each["name"] for each in local_models.rerankers() if each["local"]]
        saved = map(str, local_models.saved_rerankers(local_models.models_dir()))
        return list(dict.fromkeys([*([] if own == DEFAULT else [own]), *named, *saved]))

    def __repr__(self) -> str:
        return f"Reranker({self.name!r}, device={self.device!r})"

    @property
    def runtime(self) -> RerankerRuntime:
        """What runs the model."""
        return self._runtime

    @property
    def device(self) -> str:
        """The device that really runs: cpu, or cuda:N."""
        return self._runtime.device

    @property
    def info(self) -> JsonObject:
        """Name, fingerprint, limits, calibration, licence, source, and the device in use."""
        return self._runtime.bundle.describe(self.device, self._runtime.provider)

    def logits(self, query: str, passages: Sequence[str]) -> Logits:
        """The numbers of the model itself for n passages, before calibration, and how much was truncated."""
        return self._runtime.logits(query, passages)

    def score(self, query: str, passages: Sequence[str], /) -> NDArray[np.float64]:
        """n passages -> (n,) in 0 … 1, in their order: the calibrated chance that each answers `query`."""
        return self.calibration.scores(self.logits(query, passages).values)


def _reference(name: str | Path) -> Reference:
    """The reranker called `name`. Raises UsageError for what only encoders have, and NotFound for the default one."""
    reference = Reference.parse(name)
    if reference.model == DEFAULT and DEFAULT not in model_folders.rerankers():
        raise NotFound(*NONE_YET)
    if Reference(reference.model, revision=reference.revision) != reference:
        raise UsageError(f"{name}: a reranker has no template and no options.", f"Name it alone: {reference.model}")
    return reference


def _runtime(folder: Path, reference: Reference, backend: str) -> type[RerankerRuntime]:
    """What runs the model in `folder`. Raises UsageError where `backend` cannot, MissingExtra."""
    saved = manifest.is_saved(folder)
    if not saved and (folder / bundles.MANIFEST).is_file():
        raise UsageError(f"{reference.model} is an encoder, not a reranker.", "Name a cross-encoder.")
    kind = "onnx" if saved else "torch"
    if backend not in ("auto", kind):
        raise UsageError(
            f"{reference.model} does not run on {backend}.",
            "Leave out the backend." if saved else "Export it first with semsearch.export.export_reranker.",
        )
    plugins.require(("onnxruntime",), f"the reranker {reference.model}", "cpu") if saved else None
    try:
        runtime: type[RerankerRuntime] = plugins.load(runtimes, kind).Runtime
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "transformers", "safetensors"):
            raise
        raise MissingExtra(f"the reranker {reference.model}, which is no export,", "train", "PyTorch") from error
    return runtime
