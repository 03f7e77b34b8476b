"""The job of `semsearch serve` as a careful person would write it with FastAPI, sentence-transformers and faiss-cpu.

    python -m scripts.bench.plain_server FOLDER MODEL_FOLDER PORT

FOLDER has what plain_index.py writes. The yardstick of serve.py. No batching of requests, no
limits, no writing: FastAPI runs each request in a thread of its pool.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from scripts.bench.plain_query import Plain


class Texts(BaseModel):
    """Texts to encode."""

    texts: list[str]


class Question(BaseModel):
    """A query."""

    text: str
    k: int = 10


def application(plain: Plain) -> FastAPI:
    """The two addresses."""
    app = FastAPI()

    @app.post("/embed")
    def embed(body: Texts) -> dict[str, Any]:
        return {"vectors": plain.encoder.encode(body.texts, normalize_embeddings=True).tolist()}

    @app.post("/search")
    def search(body: Question) -> dict[str, Any]:
        return {"hits": [{"score": score, **record} for score, record in plain.search(body.text, body.k)]}

    return app


if __name__ == "__main__":
    folder, model, port = sys.argv[1:4]
    uvicorn.run(application(Plain(Path(folder), Path(model))), port=int(port), log_level="warning")
