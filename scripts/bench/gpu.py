"""What a GPU does, against the CPU of the same machine in the same run: encoding, training, search, four bits.

    python -m scripts.bench.gpu MODEL [--decoder DIR] [--tiny]        MODEL: the folder of a BERT

Each part is a row of figures, or says why it was not measured. `--tiny` measures little, on any device.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np
import torch

from scripts.shared.places import SAMPLE
from semsearch import Encoder
from semsearch.errors import SemsearchError
from semsearch.evaluation.environment import caption
from semsearch.training import Dataset, TrainingConfig, train

if TYPE_CHECKING:
    from semsearch.types import Vectors

TEXTS, TINY_TEXTS = 2_048, 8
STEPS, TINY_STEPS = 30, 2
ROWS, TINY_ROWS, WIDTH, QUERIES, NEAREST = 1_000_000, 2_000, 384, 64, 10
Measurement = Callable[[], dict[str, Any]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--decoder", type=Path)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(json.dumps(machine() | measured(options.model, device, tiny=options.tiny, decoder=options.decoder), indent=1))
    return 0


def machine() -> dict[str, Any]:
    """Card, processor and versions."""
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {"card": card, "cuda": torch.version.cuda, "machine": caption()}


def measured(model: Path, device: str, *, tiny: bool = False, decoder: Path | None = None) -> dict[str, Any]:
    """The figures of every part by its name."""
    parts: dict[str, Measurement] = {
        "encode": partial(_encode, model, device, TINY_TEXTS if tiny else TEXTS),
        "train": partial(_train, model, device, TINY_STEPS if tiny else STEPS),
        "search": partial(_search, TINY_ROWS if tiny else ROWS),
        "four bits": partial(_four_bits, decoder, device, TINY_TEXTS if tiny else TEXTS // 8),
    }
    return {name: _result(part) for name, part in parts.items()}


def _result(part: Measurement) -> dict[str, Any]:
    try:
        return part()
    except (SemsearchError, RuntimeError, ImportError) as error:
        return {"not measured": str(error)[:300]}


def _encode(model: Path, device: str, count: int) -> dict[str, Any]:
    """Texts a second under CoT-BERT's template, and the least cosine with those of the CPU in float32."""
    texts, speeds = _texts(count), {}
    exact = None
    for where, dtype in (("cpu", "fp32"), (device, "fp32"), (device, "bf16"), (device, "fp16")):
        if (name := f"{where} {dtype}") in speeds or (where == "cpu" and dtype == "fp16"):
            continue
        encoder = Encoder.load(f"{model}#dtype={dtype},template=cot-bert", device=where, cache=None)
        speeds[name], exact = _compared(encoder, texts, exact)
    return speeds


def _train(model: Path, device: str, steps: int) -> dict[str, Any]:
    """Seconds a step of CoT-BERT's objective with batches of 128."""
    texts, speeds = _texts(256), {}
    for where, precision in dict.fromkeys((("cpu", "fp32"), (device, "fp32"), (device, "bf16"))):
        number = steps if where != "cpu" or steps <= TINY_STEPS else 3
        settings = TrainingConfig(
            "cotbert", str(model), steps=number, precision=precision, device=where, batch_size=min(128, 4 * steps)
        )
        with tempfile.TemporaryDirectory() as folder:
            report = train(settings, Dataset({"anchor": texts}, None, "sample"), Path(folder) / "out")
        speeds[f"{where} {precision}"] = {"seconds a step": round(report.seconds / number, 4)}
    return speeds


def _search(count: int) -> dict[str, Any]:
    """Milliseconds a query of a flat index of random vectors, and whether the card finds the same ten."""
    chance = np.random.default_rng(0)
    index = faiss.IndexFlatIP(WIDTH)
    for _ in range(0, count, 100_000):
        index.add(chance.normal(size=(min(count, 100_000), WIDTH)).astype(np.float32))
    queries = chance.normal(size=(QUERIES, WIDTH)).astype(np.float32)
    (_, exact), seconds = _timed(lambda: index.search(queries, NEAREST))
    speeds: dict[str, Any] = {"vectors": index.ntotal, "cpu ms": round(1000 * seconds / QUERIES, 3)}
    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        return speeds | {"not measured": "FAISS has no GPU here"}
    copy = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)
    copy.search(queries, NEAREST)
    (_, ids), seconds = _timed(lambda: copy.search(queries, NEAREST))
    return speeds | {"gpu ms": round(1000 * seconds / QUERIES, 3), "same": float((ids == exact).mean())}


def _four_bits(decoder: Path | None, device: str, count: int) -> dict[str, Any]:
    """Texts a second of a decoder under PromptEOL in bf16 and in four bits, and their least cosine."""
    if decoder is None:
        return {"not measured": "no decoder: --decoder DIR"}
    texts, speeds, exact = _texts(count), {}, None
    for dtype in ("bf16", "nf4"):
        encoder = Encoder.load(f"{decoder}#dtype={dtype},template=prompteol", device=device, cache=None)
        speeds[dtype], exact = _compared(encoder, texts, exact)
    return speeds


def _compared(encoder: Encoder, texts: Sequence[str], exact: Vectors | None) -> tuple[dict[str, float], Vectors]:
    """Texts a second of a second round, and the least cosine with the exact vectors, by default these themselves."""
    encoder.encode(texts)  # a card makes ready for each shape that it has not seen
    vectors, seconds = _timed(partial(encoder.encode, texts))
    exact = vectors if exact is None else exact
    least = float((vectors * exact).sum(1).min())
    return {"texts a second": round(len(texts) / seconds, 1), "least cosine": least}, exact


def _texts(count: int) -> list[str]:
    """Different texts of twenty words of the sample."""
    words = " ".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.rglob("*.md"))).split()
    return [" ".join([f"{at}:", *words[at % (len(words) - 20) :][:20]]) for at in range(count)]


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    result = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return result, time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
