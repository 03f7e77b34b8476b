"""On a real Milvus server, what a run has written is found by its index when the run ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.remote_stores import milvus_server

from semsearch import Document, Index

pytestmark = pytest.mark.scale

MANY = 12_000  # vectors: enough for the coarse index of a segment that grows, which finds four of five neighbours


def test_the_neighbours_of_many_new_vectors_are_found_after_the_run(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((MANY, 64)).astype(np.float32)
    documents = [Document(f"d{at}", f"Text {at}") for at in range(MANY)]
    with (
        milvus_server(tmp_path) as server,
        Index.create(tmp_path / "many", encoder=None, dimensions=64, store=f"milvus:{server.address}") as index,
    ):
        index.add(documents, vectors=vectors)
        assert index.audit(sample=60)["recall"] >= 0.95
