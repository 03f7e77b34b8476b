"""sentence-transformers: vectors in a file, and its own util.semantic_search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import peer
import torch
from sentence_transformers import SentenceTransformer, util


def index(corpus: Path, folder: Path) -> None:
    documents = list(peer.documents(corpus))
    vectors = SentenceTransformer(peer.MODEL, device="cpu").encode([each.whole for each in documents])
    folder.mkdir(parents=True)
    np.save(folder / "vectors.npy", vectors)
    (folder / "documents.json").write_text(json.dumps([(each.id, each.whole) for each in documents]))


class Search:
    def __init__(self, folder: Path) -> None:
        self.model = SentenceTransformer(peer.MODEL, device="cpu")
        self.vectors = torch.from_numpy(np.load(folder / "vectors.npy"))
        self.ids = [id_ for id_, _ in json.loads((folder / "documents.json").read_text())]

    def __call__(self, text: str, k: int) -> list[str]:
        (found,) = util.semantic_search(self.model.encode([text], convert_to_tensor=True), self.vectors, top_k=k)
        return [self.ids[int(each["corpus_id"])] for each in found]


if __name__ == "__main__":
    peer.main(index, Search)
