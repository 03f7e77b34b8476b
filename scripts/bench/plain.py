"""The jobs of semsearch as a careful person would write them with sentence-transformers, faiss-cpu and FastAPI.

    python -m scripts.bench.plain index PASSAGES.jsonl MODEL_FOLDER FOLDER
    python -m scripts.bench.plain query FOLDER MODEL_FOLDER "a question"
    python -m scripts.bench.plain serve FOLDER MODEL_FOLDER PORT

The yardstick of index.py and serve.py. No checks, no updates, no crash safety, no batching of requests, no limits: just
texts, vectors and an index.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import faiss
from sentence_transformers import SentenceTransformer


def index(passages: Path, model: Path, folder: Path) -> None:
    records = [json.loads(line) for line in passages.read_text(encoding="utf-8").splitlines()]
    encoder = SentenceTransformer(str(model), device="cpu")
    vectors = encoder.encode([record["text"] for record in records], batch_size=32, normalize_embeddings=True)
    write(folder, vectors, records)


def write(folder: Path, vectors: Any, records: list[dict[str, str]]) -> None:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    folder.mkdir(parents=True, exist_ok=True)
    faiss.write_index(index, str(folder / "vectors.faiss"))
    (folder / "passages.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


class Plain:
    """Everything loaded once, so that it can be asked warm as well."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.encoder = SentenceTransformer(str(model), device="cpu")
        self.index = faiss.read_index(str(folder / "vectors.faiss"))
        self.records = json.loads((folder / "passages.json").read_text(encoding="utf-8"))

    def search(self, question: str, k: int = 10) -> list[tuple[float, dict[str, Any]]]:
        vectors = self.encoder.encode([question], normalize_embeddings=True)
        scores, rows = self.index.search(vectors, k)
        return [(float(score), self.records[row]) for score, row in zip(scores[0], rows[0], strict=True) if row >= 0]


def serve(plain: Plain, port: int) -> None:
    """Two addresses; FastAPI runs each request in a thread of its pool."""
    import uvicorn
    from fastapi import Body, FastAPI

    app = FastAPI()

    @app.post("/embed")
    def embed(texts: Annotated[list[str], Body(embed=True)]) -> dict[str, Any]:
        return {"vectors": plain.encoder.encode(texts, normalize_embeddings=True).tolist()}

    @app.post("/search")
    def search(text: Annotated[str, Body()], k: Annotated[int, Body()] = 10) -> dict[str, Any]:
        return {"hits": [{"score": score, **record} for score, record in plain.search(text, k)]}

    uvicorn.run(app, port=port, log_level="warning")


if __name__ == "__main__":
    job, first, second, third = sys.argv[1:5]
    if job == "index":
        index(Path(first), Path(second), Path(third))
    elif job == "serve":
        serve(Plain(Path(first), Path(second)), int(third))
    else:
        for score, record in Plain(Path(first), Path(second)).search(third):
            print(f"{score:.3f}  {record['id']}  {record['text'][:100]}")
