"""UMAP (McInnes et al. 2018, https://arxiv.org/abs/1802.03426) by cosine, with a fixed seed: always the same places.

It runs in a process of its own, which ends with its caller's wish: compiling at its start would block all threads, it
cannot run twice in one process, and it cannot be interrupted otherwise. What it says of its progress is read there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.types import Progress
from semsearch.utils import plugins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

NEIGHBOURS = 15  # umap-learn's own default
LOOK = 0.25  # seconds between two looks at what the process says
TAIL = 4_000  # characters of that, which are read
VECTORS, PLACED, SAID = "vectors.npy", "places.npy", "said.txt"
STEPS = 1_000  # of the progress
STAGES = (  # what umap-learn prints with verbose=True, what that means, and the steps that are done by then
    ("Construct embedding", "placing the passages", 450),
    ("NN descent", "finding neighbours", 250),
    ("RP forest", "finding neighbours", 150),
    ("Finding Nearest", "finding neighbours", 120),
    ("fuzzy simplicial", "finding neighbours", 100),
)
EPOCHS, ROUNDS = re.compile(r"(\d+)%\|"), re.compile(r"(\d+) +/ +(\d+)\s")


def require() -> None:
    """Raises MissingExtra where umap-learn is not installed."""
    plugins.require(("umap",), "UMAP", "map")


def places(vectors: Vectors, progress: Callable[[Progress], None]) -> NDArray[np.float32]:
    """(n, d) -> (n, 2). An exception of `progress` ends the process.

    Raises MissingExtra, and SemsearchError with the last line of the process where it fails.
    """
    require()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / VECTORS, vectors, allow_pickle=False)
        # -P: ignores a umap.py in the folder where the caller was started
        command = [sys.executable, "-P", "-m", __name__, name]
        with (folder / SAID).open("wb") as said:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            while not _ended(process):
                progress(step(_said(folder)))
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            lines = _said(folder).strip().splitlines() or ["no message"]
            raise SemsearchError(f"UMAP failed: {lines[-1][:300]}", "Use PCA instead.")
        places: NDArray[np.float32] = np.load(folder / PLACED, allow_pickle=False)
        return places


def step(said: str) -> Progress:
    """The progress that the process has printed.

    >>> step("Construct embedding\\rEpochs completed:  40%| ####").done, step("").item
    (670, 'starting')
    """
    for sign, meaning, done in STAGES:
        if (at := said.rfind(sign)) >= 0:
            return Progress(done + _further(said[at:], done), STEPS, "steps", meaning)
    return Progress(10, STEPS, "steps", "starting")


def _further(said: str, done: int) -> int:
    """The steps that are done of a stage."""
    if done == STAGES[0][2]:
        epochs = EPOCHS.findall(said)
        return int((STEPS - done) * int(epochs[-1]) / 100) if epochs else 0
    rounds = ROUNDS.findall(said) if done == STAGES[1][2] else []
    return int(200 * int(rounds[-1][0]) / max(1, int(rounds[-1][1]))) if rounds else 0


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(LOOK)
    except subprocess.TimeoutExpired:
        return False
    return True


def _said(folder: Path) -> str:
    return (folder / SAID).read_bytes().decode("utf-8", "replace")[-TAIL:]


def main(folder: Path) -> None:
    """Read vectors from the folder, and write places there."""
    vectors = np.load(folder / VECTORS, allow_pickle=False)
    neighbours = min(NEIGHBOURS, len(vectors) - 1)
    options = {"n_components": 2, "n_neighbors": neighbours, "metric": "cosine", "random_state": 0, "n_jobs": 1}
    made = import_module("umap").UMAP(**options, verbose=True)
    np.save(folder / PLACED, np.asarray(made.fit_transform(vectors), np.float32), allow_pickle=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
