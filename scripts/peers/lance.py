"""LanceDB: a table whose texts are embedded by its registry's sentence-transformers function."""

from __future__ import annotations

from pathlib import Path

import lancedb
import peer
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector

model = get_registry().get("sentence-transformers").create(name=peer.MODEL, device="cpu")


class Row(LanceModel):  # type: ignore[misc]
    id: str
    text: str = model.SourceField()
    vector: Vector(model.ndims()) = model.VectorField()  # type: ignore[valid-type]


def index(corpus: Path, folder: Path) -> None:
    table = lancedb.connect(folder).create_table("documents", schema=Row)
    table.add([{"id": each.id, "text": each.whole} for each in peer.documents(corpus)])


class Search:
    def __init__(self, folder: Path) -> None:
        self.table = lancedb.connect(folder).open_table("documents")

    def __call__(self, text: str, k: int) -> list[str]:
        return [each["id"] for each in self.table.search(text).limit(k).to_list()]


if __name__ == "__main__":
    peer.main(index, Search)
