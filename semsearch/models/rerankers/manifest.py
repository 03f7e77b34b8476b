"""A saved reranker: one folder with reranker.json, weights and tokenizer, and the fingerprint of its scores.

The fingerprint is computed from everything that determines the score of a pair: hashes of weights, configuration and
tokenizer, the longest input, the precision class and the calibration. It is stored, and verified on reading.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt, NotFound
from semsearch.models import safetensors_files as weights
from semsearch.models.bundle import CHECKSUM, DIGITS, ONNX, check_fields, checksum, verified, write_manifest
from semsearch.types import JsonMapping, JsonObject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANIFEST = "reranker.json"
AGAIN = "Copy the reranker's folder again, or export it again."
IDENTITY = ("max_tokens", "precision", "segments", "positive")  # beside hashes and the calibration


@dataclass(frozen=True, slots=True)
class Calibration:
    """score = sigmoid((logit - offset) / temperature). `fitted` describes the pairs that both were measured on."""

    temperature: float = 1.0
    offset: float = 0.0
    fitted: JsonMapping = field(default_factory=dict)

    def scores(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """(n,) -> (n,) in 0 … 1; NaN stays NaN."""
        import numpy as np  # the list of models does without

        scaled = (np.asarray(logits, dtype=np.float64) - self.offset) / self.temperature
        return np.asarray(0.5 * (1 + np.tanh(scaled / 2)))  # the sigmoid, without overflow


@dataclass(frozen=True, slots=True)
class RerankerBundle:
    """The manifest of a reranker, saved or read from a Hugging Face folder.

    `segments`: whether the network is told which tokens are the query's and which the passage's. `positive` is the
    label, of two, that says yes; None for a network with one. `parity` are figures measured at export.
    """

    name: str
    max_tokens: int
    precision: str
    segments: bool
    positive: int | None
    weights: str
    weights_sha256: str
    tokenizer: str
    tokenizer_sha256: str
    licence: str
    source: str
    config_sha256: str = ""
    calibration: Calibration = field(default_factory=Calibration)
    origin: JsonMapping = field(default_factory=dict)
    parity: JsonMapping = field(default_factory=dict)
    fingerprint: str = ""
    folder: Path = field(default=Path(), compare=False)

    def with_fingerprint(self) -> RerankerBundle:
        """The same with its fingerprint. An fp32 export is verified to equal its source, whose hashes it has."""
        proven: Mapping[str, str] = self.origin if self.precision == "fp32" else {}
        parts: JsonObject = {key: getattr(self, key) for key in IDENTITY}
        for key in ("weights_sha256", "tokenizer_sha256", "config_sha256"):
            parts[key] = proven.get(key, getattr(self, key))
        parts["calibration"] = [self.calibration.temperature, self.calibration.offset]
        return replace(self, fingerprint=checksum(parts)[:DIGITS])

    @property
    def runs_on_onnx(self) -> bool:
        """Whether the weights are an ONNX graph."""
        return self.weights.endswith(ONNX)

    def path(self, which: str) -> Path:
        """The verified file of `weights` or `tokenizer`. Raises Corrupt if the sha256 differs, NotFound without it."""
        return verified(self, which, weights.identity, "reranker", AGAIN)

    def files(self) -> list[Path]:
        """The files of a saved reranker beside its manifest."""
        return [self.folder / name for name in (self.weights, self.tokenizer, *self.origin.get("files", {}))]

    def describe(self, device: str, provider: str) -> JsonObject:
        """The facts in `semsearch models info` about this reranker, run on `device` with `provider`."""
        shown = ("name", "fingerprint", "max_tokens", "precision", "licence", "source")
        facts: JsonObject = {"kind": "reranker", **{key: getattr(self, key) for key in shown}}
        calibration = {"temperature": self.calibration.temperature, "offset": self.calibration.offset}
        return facts | calibration | {"fitted": dict(self.calibration.fitted), "device": device, "provider": provider}


def is_saved(folder: Path) -> bool:
    """Whether `folder` has the manifest of a reranker."""
    return (folder / MANIFEST).is_file()


def read(folder: Path) -> RerankerBundle:
    """The reranker saved in `folder`. Raises NotFound if it has no manifest, and Corrupt if that is damaged."""
    path = folder / MANIFEST
    if not path.is_file():
        raise NotFound(f"{folder} is not a reranker: it has no {MANIFEST}.", "Name the folder of an exported reranker.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        recorded, actual = content.pop(CHECKSUM), checksum(content)
        bundle = _parse(content, folder)
        expected = bundle.with_fingerprint().fingerprint
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Corrupt(f"{path} cannot be read: {error}.", AGAIN) from error
    if recorded != actual or expected != bundle.fingerprint:
        raise Corrupt(f"{path} was changed: it does not have its checksum.", AGAIN)
    return bundle


def write(bundle: RerankerBundle, folder: Path) -> RerankerBundle:
    """Write the manifest of `bundle`, with its fingerprint, into `folder`, which has its weights and tokenizer."""
    complete = replace(bundle, folder=folder).with_fingerprint()
    write_manifest(folder / MANIFEST, asdict(complete))
    return complete


def _parse(content: JsonObject, folder: Path) -> RerankerBundle:
    """The bundle in a manifest. Raises ValueError and the like for one that no export wrote."""
    check_fields(content, RerankerBundle)
    calibration = Calibration(**content.pop("calibration"))
    if not (isfinite(calibration.offset) and 0 < calibration.temperature < float("inf")):
        raise ValueError("its calibration is no temperature above 0 and an offset")
    for name in (content["weights"], content["tokenizer"], *content["origin"].get("files", {})):
        if Path(name).name != name:
            raise ValueError(f"it names a file outside its folder: {name}")
    if not isinstance(content["max_tokens"], int) or content["max_tokens"] < 1:
        raise ValueError("max_tokens is no number of tokens")
    return RerankerBundle(**content, calibration=calibration, folder=folder)
