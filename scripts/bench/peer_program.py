"""What `peers.py` runs in an environment of each library, by the path of this file; it imports no other script.

    peer_program.py PEER index CORPUS.jsonl FOLDER
    peer_program.py PEER one FOLDER TEXT               prints the ids of the hits, as JSON
    peer_program.py PEER all FOLDER QUERIES.jsonl      prints {"ids": {query: [document, …]}, "ms": [of each query, …]}

Every library has its default settings. The environment variable PEER_MODEL is the folder of all-MiniLM-L6-v2.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

MODEL = os.environ.get("PEER_MODEL", "sentence-transformers/all-MiniLM-L6-v2")
K = 10
Search = Callable[[str], list[str]]  # a text -> the ids of the ten best documents


@dataclass(frozen=True)
class Text:
    """A document in BEIR's format."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


def documents(path: Path) -> Iterator[Text]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Text(row["_id"], row.get("title", ""), row["text"])


class Peer(Protocol):
    def index(self, corpus: Path, folder: Path) -> None: ...
    def open(self, folder: Path) -> Search: ...


class Semsearch:
    """The default encoder and the default search, by meaning and by words."""

    def index(self, corpus: Path, folder: Path) -> None:
        from semsearch import Document, Index

        with Index.create(folder, encoder="minilm") as made:
            made.add(Document(each.id, each.text, title=each.title or None) for each in documents(corpus))

    def open(self, folder: Path) -> Search:
        from semsearch import Index

        index = Index.open(folder)
        return lambda text: [hit.document for hit in index.search(text, k=K, group="document")]


class Chroma:
    """A persistent client, a collection with the default embedding function (MiniLM in ONNX Runtime)."""

    BATCH = 1000

    def index(self, corpus: Path, folder: Path) -> None:
        import chromadb

        collection = chromadb.PersistentClient(str(folder)).create_collection("documents")
        texts = documents(corpus)
        while batch := list(islice(texts, self.BATCH)):
            collection.add(ids=[each.id for each in batch], documents=[each.whole for each in batch])

    def open(self, folder: Path) -> Search:
        import chromadb

        collection = chromadb.PersistentClient(str(folder)).get_collection("documents")
        return lambda text: list(collection.query(query_texts=[text], n_results=K)["ids"][0])


class SentenceTransformers:
    """Vectors in a file, and its own util.semantic_search."""

    def index(self, corpus: Path, folder: Path) -> None:
        import numpy as np
        from sentence_transformers import SentenceTransformer

        texts = list(documents(corpus))
        vectors = SentenceTransformer(MODEL, device="cpu").encode([each.whole for each in texts])
        folder.mkdir(parents=True)
        np.save(folder / "vectors.npy", vectors)
        (folder / "documents.json").write_text(json.dumps([(each.id, each.whole) for each in texts]))

    def open(self, folder: Path) -> Search:
        import numpy as np
        import torch
        from sentence_transformers import SentenceTransformer, util

        model, vectors = SentenceTransformer(MODEL, device="cpu"), torch.from_numpy(np.load(folder / "vectors.npy"))
        ids = [id_ for id_, _ in json.loads((folder / "documents.json").read_text())]

        def search(text: str) -> list[str]:
            (hits,) = util.semantic_search(model.encode([text], convert_to_tensor=True), vectors, top_k=K)
            return [ids[int(hit["corpus_id"])] for hit in hits]

        return search


class Txtai:
    """An Embeddings database with content, over its default model."""

    def index(self, corpus: Path, folder: Path) -> None:
        from txtai import Embeddings

        embeddings = Embeddings(path=MODEL, content=True)
        embeddings.index((each.id, each.whole, None) for each in documents(corpus))
        embeddings.save(str(folder))

    def open(self, folder: Path) -> Search:
        from txtai import Embeddings

        embeddings = Embeddings()
        embeddings.load(str(folder))
        return lambda text: [hit["id"] for hit in embeddings.search(text, K)]


class Lance:
    """A table whose texts are embedded by its registry's sentence-transformers function."""

    def index(self, corpus: Path, folder: Path) -> None:
        import lancedb
        from lancedb.embeddings import get_registry
        from lancedb.pydantic import LanceModel, Vector

        model = get_registry().get("sentence-transformers").create(name=MODEL, device="cpu")

        class Row(LanceModel):  # type: ignore[misc]
            id: str
            text: str = model.SourceField()
            vector: Vector(model.ndims()) = model.VectorField()  # type: ignore[valid-type]

        table = lancedb.connect(folder).create_table("documents", schema=Row)
        table.add([{"id": each.id, "text": each.whole} for each in documents(corpus)])

    def open(self, folder: Path) -> Search:
        import lancedb

        table = lancedb.connect(folder).open_table("documents")
        return lambda text: [hit["id"] for hit in table.search(text).limit(K).to_list()]


PEERS: dict[str, type[Peer]] = {
    "semsearch": Semsearch,
    "Chroma": Chroma,
    "sentence-transformers": SentenceTransformers,
    "txtai": Txtai,
    "LanceDB": Lance,
}


def main() -> None:
    name, command, first, second = sys.argv[1:]
    peer = PEERS[name]()
    if command == "index":
        peer.index(Path(first), Path(second))
        return
    search = peer.open(Path(first))
    if command == "one":
        print(json.dumps(search(second)))
        return
    answers: dict[str, Any] = {"ids": {}, "ms": []}
    queries = list(documents(Path(second)))
    search(queries[0].text)  # a warm-up
    for each in queries:
        began = time.perf_counter()
        answers["ids"][each.id] = search(each.text)
        answers["ms"].append(1000 * (time.perf_counter() - began))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
