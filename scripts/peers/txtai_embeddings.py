"""txtai: an Embeddings database with content, over its default model."""

from __future__ import annotations

from pathlib import Path

import peer
from txtai import Embeddings


def index(corpus: Path, folder: Path) -> None:
    embeddings = Embeddings(path=peer.MODEL, content=True)
    embeddings.index((each.id, each.whole, None) for each in peer.documents(corpus))
    embeddings.save(str(folder))


class Search:
    def __init__(self, folder: Path) -> None:
        self.embeddings = Embeddings()
        self.embeddings.load(str(folder))

    def __call__(self, text: str, k: int) -> list[str]:
        return [each["id"] for each in self.embeddings.search(text, k)]


if __name__ == "__main__":
    peer.main(index, Search)
