"""The vectors of a million Wikipedia sentences by the default encoder, made once and kept in the user's cache folder.

    nice python -m scripts.bench.wiki_vectors [--count 1000000] [--folder DIR]      needs: pip install '.[onnx]'

It takes about an hour on two cores and can be stopped at any time: the next run goes on after the last complete part.
`scale.py` measures with them. Vectors of another encoder are another folder.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.shared.places import DATA
from semsearch import Encoder

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semsearch-benchmarks"
COUNT = 1_000_000
PART = 10_000  # sentences in a file


def sentences(count: int = COUNT, start: int = 0) -> Iterator[str]:
    """Sentences `start` up to `count` of the Wikipedia sample."""
    with lzma.open(DATA / "wiki_sentences_1m" / "wiki1m.txt.xz", "rt", encoding="utf-8") as lines:
        yield from (line.strip() for line in islice(lines, start, count))


def folder_of(encoder: Encoder, root: Path = CACHE) -> Path:
    """Where the vectors of this encoder are kept."""
    return root / f"wiki-{encoder.fingerprint[:16]}"


def vectors(folder: Path, count: int = COUNT) -> NDArray[np.float16]:
    """The first `count` vectors (count, d) in half precision. Raises SystemExit where some are still missing."""
    parts = [folder / f"{start:07}.npy" for start in range(0, count, PART)]
    if missing := [part for part in parts if not part.is_file()]:
        lacking = f"{len(missing)} of {len(parts)} parts are missing in {folder}"
        sys.exit(f"error: {lacking}. Run python -m scripts.bench.wiki_vectors.")
    return np.concatenate([np.load(part) for part in parts])[:count]


def embed(encoder: Encoder, folder: Path, count: int) -> None:
    """Make the parts that are missing, one file each, renamed when complete."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, count, PART):
        part = folder / f"{start:07}.npy"
        if part.is_file():
            continue
        began = time.perf_counter()
        rows = encoder.encode(list(sentences(start + PART, start)), role="passage").astype(np.float16)
        unfinished = part.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.save(file, rows, allow_pickle=False)
        unfinished.replace(part)
        rate = len(rows) / (time.perf_counter() - began)
        print(f"{start + len(rows):,} of {count:,} sentences, {rate:.0f} a second", file=sys.stderr)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=COUNT, help="of the sentences")
    options.add_argument("--folder", type=Path, default=CACHE, help="in which the folder of the encoder is")
    chosen = options.parse_args()
    encoder = Encoder.load("minilm")
    folder = folder_of(encoder, chosen.folder)
    embed(encoder, folder, chosen.count)
    print(folder)


if __name__ == "__main__":
    main()
