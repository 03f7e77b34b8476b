"""Chroma: a persistent client, a collection with the default embedding function (MiniLM in ONNX Runtime)."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import chromadb
import peer

BATCH = 1000


def index(corpus: Path, folder: Path) -> None:
    collection = chromadb.PersistentClient(str(folder)).create_collection("documents")
    documents = peer.documents(corpus)
    while batch := list(islice(documents, BATCH)):
        collection.add(ids=[each.id for each in batch], documents=[each.whole for each in batch])


class Search:
    def __init__(self, folder: Path) -> None:
        self.collection = chromadb.PersistentClient(str(folder)).get_collection("documents")

    def __call__(self, text: str, k: int) -> list[str]:
        return list(self.collection.query(query_texts=[text], n_results=k)["ids"][0])


if __name__ == "__main__":
    peer.main(index, Search)
