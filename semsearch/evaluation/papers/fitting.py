"""Post-processing fitted on texts: an encoder with whitening or a flow after its method.

Neither uses labels. The texts are encoded as passages, and queries are mapped in the same way. The texts should
resemble those that will be searched or compared, since their directions of variation are evened out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders import factory
from semsearch.encoders.encoder import Encoder
from semsearch.errors import UnknownName, UsageError
from semsearch.evaluation.papers import whitening
from semsearch.models import postprocessing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.encoders.base import BaseEncoder
    from semsearch.encoders.torch_backend import TorchBackend
    from semsearch.models.networks.post import Fitted
    from semsearch.types import JsonObject

WINDOW = 1024  # texts per window of the encoding
SECONDS = 10.0  # between two reports

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fit:
    """What to fit: `kind` "whitening" or "flow", on `texts`, with `dim` components; None for all.

    `source` describes where the texts come from. `seed` is for the flow: its weights and the order of the texts.
    `power` is for whitening: 1 whitens fully, as in the paper, a lower power in part. Raises UnknownName for `kind`.
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
    """A copy of `encoder` with one more post-processing step. Raises as `fitted_backend` does."""
    return Encoder(fitted_backend(encoder, fit, report))


def fitted_backend(encoder: BaseEncoder, fit: Fit, report: Report = lambda line: None) -> TorchBackend:
    """The back end of `fitted`. Raises UsageError for an encoder that does not run in PyTorch, and too few texts."""
    backend = factory.torch_backend(encoder, "post-processing")
    if fit.dim is not None:
        postprocessing.check(fit.dim, backend.dim)  # before the texts are encoded
    vectors = _VectorStream(backend, fit.texts, report)
    module, details = (_whitening if fit.kind == postprocessing.WHITENING else _flow)(vectors, fit)
    shown = ", ".join(f"{key} {value}" for key, value in details.items())
    report(f"fitted {fit.kind} on {vectors.count:,} texts: {shown}")
    record = {"source": fit.source, "texts": vectors.count, "sha256": vectors.digest.hexdigest(), **details}
    backend = backend.append_post(module, record)
    return backend.truncate(fit.dim) if fit.dim else backend


class _VectorStream:
    """The vectors of texts, not normalised, window by window; counts the texts and hashes them."""

    def __init__(self, backend: TorchBackend, texts: Iterable[str], report: Report) -> None:
        self.count, self.digest = 0, hashlib.sha256()
        self._backend, self._texts, self._report = backend, texts, report

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        texts, reported = (text for text in self._texts if text.strip()), time.monotonic()
        while window := list(islice(texts, WINDOW)):
            for text in window:
                self.digest.update(text.encode(errors="surrogatepass") + b"\n")
            self.count += len(window)
            yield self._backend.vectors(window, self._backend.prompts["passage"])
            if time.monotonic() - reported > SECONDS:
                self._report(f"{self.count:,} texts encoded")
                reported = time.monotonic()


def _whitening(vectors: _VectorStream, fit: Fit) -> tuple[Fitted, JsonObject]:
    from semsearch.models.networks.post import Whitening  # torch, which checking an export does without

    whitener = whitening.fit(vectors, fit.dim, fit.power)
    details = {"directions": len(whitener.mean), "varying": whitener.varying, "power": fit.power}
    return Whitening.of(whitener.mean, whitener.kernel), details


def _flow(vectors: _VectorStream, fit: Fit) -> tuple[Fitted, JsonObject]:
    from semsearch.evaluation.papers import flow_fitting  # torch

    parts = list(vectors)
    if not parts:
        raise UsageError("there are no texts to fit a flow on.", "Use a file with one text per line.")
    trained = flow_fitting.fit(np.concatenate(parts), seed=fit.seed)
    bits = {"bits_before": round(trained.before, 4), "bits_after": round(trained.after, 4)}
    return trained.flow, {"seed": fit.seed, **bits}
