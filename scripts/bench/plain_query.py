"""The job of `semsearch query` as a careful person would write it with sentence-transformers and faiss-cpu.

    python -m scripts.bench.plain_query FOLDER MODEL_FOLDER "a question"

FOLDER is what scripts/bench/plain_index.py wrote. The yardstick of scripts/bench/index.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import faiss
from sentence_transformers import SentenceTransformer


class Plain:
    """Everything loaded once, so that the benchmark can ask it warm as well."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.encoder = SentenceTransformer(str(model), device="cpu")
        self.index = faiss.read_index(str(folder / "vectors.faiss"))
        self.records = json.loads((folder / "passages.json").read_text(encoding="utf-8"))

    def search(self, question: str, k: int = 10) -> list[tuple[float, dict[str, Any]]]:
        vectors = self.encoder.encode([question], normalize_embeddings=True)
        scores, rows = self.index.search(vectors, k)
        return [(float(score), self.records[row]) for score, row in zip(scores[0], rows[0], strict=True) if row >= 0]


if __name__ == "__main__":
    for score, record in Plain(Path(sys.argv[1]), Path(sys.argv[2])).search(sys.argv[3]):
        print(f"{score:.3f}  {record['id']}  {record['text'][:100]}")
