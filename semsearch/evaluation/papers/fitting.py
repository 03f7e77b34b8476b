"""Post-processing of an encoder, fitted on texts: the encoder with whitening or a flow behind its method.

Neither knows of labels. The texts are read as passages; queries go through the same map. They should be like those
that will be searched or compared: what varies among them is what is evened out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.encoders import factory
from semsearch.encoders.encoder import Encoder
from semsearch.errors import UnknownName, UsageError
from semsearch.models import postprocessing

if TYPE_CHECKING:
    from numpy.typing import NDArray

WINDOW = 1024  # texts that are encoded before their vectors are counted
SECONDS = 10.0  # between two reports

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fit:
    """What is fitted: "whitening" or "flow", on which texts, and how many numbers are kept; None: as many as there are.

    `source` says in words where the texts come from. `seed` is the flow's: its weights, and the order of the texts.
    `power` is the whitening's: 1 evens out wholly, as the paper does, less in part.
    """

    kind: str
    texts: Iterable[str]
    dim: int | None = None
    seed: int = 0
    source: str = ""
    power: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in postprocessing.FITTED:
            raise UnknownName("post-processing", self.kind, postprocessing.FITTED)


def fitted(encoder: Encoder, fit: Fit, report: Report = lambda line: None) -> Encoder:
    """`encoder`, which runs in Torch, with one more step behind it. What it was is left alone.

    Raises UsageError for an ONNX encoder, and for too few texts.
    """
    return Encoder(fitted_engine(encoder.backend, fit, report))


def fitted_engine(engine: Any, fit: Fit, report: Report = lambda line: None) -> Any:
    """`fitted` for what runs inside an encoder."""
    engine = factory.torch_backend(engine, "post-processing")
    if fit.dim is not None:
        postprocessing.check(fit.dim, engine.dim)  # before the texts are encoded
    reading = _Reading(engine, fit.texts, report)
    found, told = (_whitening if fit.kind == postprocessing.WHITENING else _flow)(reading, fit)
    told = {"source": fit.source, "texts": reading.count, "sha256": reading.digest.hexdigest(), **told}
    report(f"fitted {fit.kind} on {reading.count:,} texts: {_figures(told)}")
    engine = engine.append_post(found, told)
    return engine.truncate(fit.dim) if fit.dim else engine


class _Reading:
    """The vectors of texts, before length 1, in parts; how many there were, and their hash."""

    def __init__(self, engine: Any, texts: Iterable[str], report: Report) -> None:
        self.count, self.digest = 0, hashlib.sha256()
        self._engine, self._texts, self._report = engine, texts, report

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        texts, told = (text for text in self._texts if text.strip()), time.monotonic()
        while window := list(islice(texts, WINDOW)):
            for text in window:
                self.digest.update(text.encode(errors="surrogatepass") + b"\n")
            self.count += len(window)
            yield self._engine.vectors(window, self._engine.prompts["passage"])
            if time.monotonic() - told > SECONDS:
                self._report(f"{self.count:,} texts encoded")
                told = time.monotonic()


def _whitening(reading: _Reading, fit: Fit) -> tuple[Any, dict[str, Any]]:
    from semsearch.evaluation.papers import whitening
    from semsearch.models.networks.post import Whitening

    found = whitening.fit(reading, fit.dim, fit.power)
    told = {"directions": len(found.mean), "varying": found.varying, "power": fit.power}
    return Whitening.of(found.mean, found.kernel), told


def _flow(reading: _Reading, fit: Fit) -> tuple[Any, dict[str, Any]]:
    from semsearch.evaluation.papers import flow

    parts = list(reading)
    if not parts:
        raise UsageError("there is no text to fit a flow on.", "Give a file with one text a line.")
    found = flow.fit(np.concatenate(parts), seed=fit.seed)
    bits = {"bits_before": round(found.before, 4), "bits_after": round(found.after, 4)}
    return found.flow, {"seed": fit.seed, **bits}


def _figures(told: dict[str, Any]) -> str:
    shown = {key: value for key, value in told.items() if key not in ("source", "texts", "sha256")}
    return ", ".join(f"{key} {value}" for key, value in shown.items())
