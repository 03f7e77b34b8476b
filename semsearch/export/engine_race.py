"""A race of the engines that can run one model on this machine: PyTorch, and ONNX Runtime in fp32 and int8.

They take turns at the same texts, one round each, so that a slow moment of the machine hits all of them. The agreement
of their vectors with those of the first engine stands beside their speed. Only an engine with the fingerprint of the
model may serve an index that exists; int8 is another space, for an index that is made with it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders import factory
from semsearch.errors import SemsearchError
from semsearch.export.exporter import export_backend, replaced_folder, silent
from semsearch.export.parity import cosine_of_each
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.encoders.base import EncoderBackend

ROUNDS = 3
QUERIES = 30  # texts that are encoded one at a time
EXPORTS = ("fp32", "int8")
FASTER = 1.1  # times as fast as the engine in use: less is not worth a change


@dataclass(frozen=True)
class EngineFigures:
    """An engine: medians of texts a second and of ms a query, and the cosines of its vectors with the first engine's.

    `same_space`: its vectors may be compared with those of the model. `problem`: why it could not run.
    """

    engine: str
    same_space: bool = True
    texts_per_second: float = 0.0
    query_ms: float = 0.0
    least_cosine: float | None = None
    mean_cosine: float | None = None
    problem: str = ""


def race(
    model: str,
    texts: Sequence[str],
    *,
    device: str = "auto",
    threads: int = 0,
    keep: bool = False,
    report: Callable[[str], None] = silent,
) -> JsonObject:
    """Measure every engine of `model` on `texts`: `engines`, the `fastest` one for its indexes, whether it is `kept`.

    With `keep`, `index` and `query` run the model on the fastest engine from now on, on this machine. Raises as
    Encoder.load does.
    """
    first, _ = factory.open_backend(Reference.parse(model), device=device, threads=threads)
    with tempfile.TemporaryDirectory() as scratch:
        engines, problems = {_name(first): first}, []
        for dtype in EXPORTS if first.runtime == "PyTorch" else ():
            report(f"exporting {model} in {dtype}")
            try:
                made = _exported(first, Path(scratch) / dtype, dtype, device, threads)
                engines[_name(made)] = made
            except SemsearchError as error:
                problems.append(EngineFigures(f"ONNX Runtime {dtype}", problem=error.message))
        figures = _measure(engines, texts, report)
        fastest = _fastest(figures, _name(first))
        kept = keep and _keep(first, engines[fastest], device)
    rows = [asdict(row) for row in (*figures, *problems)]
    return {"model": first.name, "fingerprint": first.fingerprint, "engines": rows, "fastest": fastest, "kept": kept}


def _name(engine: EncoderBackend) -> str:
    precision = engine.bundle.precision if engine.bundle else "fp32"
    return f"{engine.runtime} {precision}"


def _exported(first: EncoderBackend, folder: Path, dtype: str, device: str, threads: int) -> EncoderBackend:
    export_backend(factory.torch_backend(first, "bench"), folder, dtype)
    made, _ = factory.open_backend(Reference(str(folder)), device=device, threads=threads)
    return made


def _measure(
    engines: dict[str, EncoderBackend], texts: Sequence[str], report: Callable[[str], None]
) -> list[EngineFigures]:
    """Rounds in turn, after one that warms up and gives the vectors."""
    rows = {}
    for name, engine in engines.items():
        report(f"warming up {name}")
        rows[name] = engine.encode(texts, role="passage")
    bulk: dict[str, list[float]] = {name: [] for name in engines}
    single: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(ROUNDS):
        for name, engine in engines.items():
            report(f"round {number + 1} of {ROUNDS}: {name}")
            bulk[name].append(_seconds(engine, [texts]))
            single[name] += [_seconds(engine, [[text]]) for text in texts[:QUERIES]]
    first = next(iter(engines))
    return [
        EngineFigures(
            name,
            same_space=engine.fingerprint == engines[first].fingerprint,
            texts_per_second=round(len(texts) / median(bulk[name]), 1),
            query_ms=round(1000 * median(single[name]), 2),
            least_cosine=round(float((near := cosine_of_each(rows[name], rows[first])).min()), 4),
            mean_cosine=round(float(np.mean(near)), 4),
        )
        for name, engine in engines.items()
    ]


def _seconds(engine: EncoderBackend, batches: Sequence[Sequence[str]]) -> float:
    began = time.perf_counter()
    for batch in batches:
        engine.encode(batch, role="query" if len(batch) == 1 else "passage")
    return time.perf_counter() - began


def _fastest(figures: Sequence[EngineFigures], present: str) -> str:
    """The engine with the most texts a second among those of the same space; the present one unless it is beaten."""
    rates = {row.engine: row.texts_per_second for row in figures if row.same_space}
    best = max(rates, key=rates.__getitem__)
    return best if rates[best] >= FASTER * rates[present] else present


def _keep(first: EncoderBackend, fastest: EncoderBackend, device: str) -> bool:
    """Store the fastest engine for this machine; nothing is stored for a model that is the fastest itself."""
    kept = model_folders.engine_folder(first.fingerprint, device)
    model_folders.forget_engine(first.fingerprint, device)
    if fastest is first or fastest.bundle is None:
        return True
    with replaced_folder(kept) as new:
        shutil.copytree(fastest.bundle.folder, new, dirs_exist_ok=True)
    return True
