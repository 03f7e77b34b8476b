"""UMAP (McInnes et al. 2018, https://arxiv.org/abs/1802.03426) by cosine, with a fixed seed: the same map every time.

It runs in a process of its own: compiling at its start would block the pages, and it cannot run twice in one process.
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
    """Whether umap-learn is installed."""
    return find_spec("umap") is not None


def placed(vectors: Floats) -> Floats:
    """(n, d) -> (n, 2). Raises SemsearchError with the last line of the process where it fails."""
    # -P: ignores a umap.py in the folder where the server was started
    command = [sys.executable, "-P", "-m", __name__]
    ran = subprocess.run(command, input=_bytes(vectors), capture_output=True, check=False)
    if ran.returncode:
        lines = ran.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise SemsearchError(f"UMAP failed: {lines[-1][:300]}", "PCA is shown instead.")
    found: Floats = np.load(io.BytesIO(ran.stdout), allow_pickle=False)
    return found


def main() -> None:
    """Read vectors from stdin and write positions to stdout, both as npy."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # other output must not mix with the result
    vectors = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    neighbours = min(NEIGHBOURS, len(vectors) - 1)
    made = import_module("umap").UMAP(n_components=2, n_neighbors=neighbours, metric="cosine", random_state=0, n_jobs=1)
    out.write(_bytes(np.asarray(made.fit_transform(vectors), np.float32)))


def _bytes(rows: Floats) -> bytes:
    file = io.BytesIO()
    np.save(file, rows, allow_pickle=False)
    return file.getvalue()


if __name__ == "__main__":
    main()
