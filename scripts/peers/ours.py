"""semsearch: its default encoder and its default search, by meaning and by words."""

from __future__ import annotations

from pathlib import Path

import peer

from semsearch import Document, Index


def index(corpus: Path, folder: Path) -> None:
    with Index.create(folder) as made:
        made.add(Document(each.id, each.text, title=each.title or None) for each in peer.documents(corpus))


class Search:
    def __init__(self, folder: Path) -> None:
        self.index = Index.open(folder)

    def __call__(self, text: str, k: int) -> list[str]:
        return [hit.document for hit in self.index.search(text, k=k, group="document")]


if __name__ == "__main__":
    peer.main(index, Search)
