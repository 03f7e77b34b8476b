"""UMAP (McInnes et al. 2018, https://arxiv.org/abs/1802.03426) by cosine, with a fixed seed: the same map every time.

In a process of its own: what it compiles at its start would hold up the pages, and it cannot run twice in one process.
"""

from __future__ import annotations

import io
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from semsearch import SemsearchError

from .clusters import Floats

NEIGHBOURS = 15  # umap-learn's own default


def installed() -> bool:
    """Whether umap-learn is there."""
    return find_spec("umap") is not None


def placed(vectors: Floats) -> Floats:
    """(n, d) -> (n, 2). Raises SemsearchError with what the process said last where it fails."""
    # -P: a umap.py in the folder where the server was started is not what is meant
    ran = subprocess.run(
        [sys.executable, "-P", "-m", __name__], input=_bytes(vectors), capture_output=True, check=False
    )
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines() or ["no word"]
        raise SemsearchError(f"UMAP failed: {said[-1][:300]}", "PCA is shown; pip install -U umap-learn may help.")
    found: Floats = np.load(io.BytesIO(ran.stdout), allow_pickle=False)
    return found


def main() -> None:
    """From the vectors on stdin to the places on stdout, both as npy."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # what else is printed is no part of the answer
    vectors = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    near = min(NEIGHBOURS, len(vectors) - 1)
    made = import_module("umap").UMAP(n_components=2, n_neighbors=near, metric="cosine", random_state=0, n_jobs=1)
    out.write(_bytes(np.asarray(made.fit_transform(vectors), np.float32)))


def _bytes(rows: Floats) -> bytes:
    told = io.BytesIO()
    np.save(told, rows, allow_pickle=False)
    return told.getvalue()


if __name__ == "__main__":
    main()
