"""The job of `semsearch index` as a careful person would write it with sentence-transformers and faiss-cpu.

    python -m scripts.bench.plain_index PASSAGES.jsonl MODEL_FOLDER OUT_FOLDER

The yardstick of scripts/bench/index.py. No checks, no updates, no crash safety: just texts, vectors and an index.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import faiss
from sentence_transformers import SentenceTransformer


def main(passages: Path, model: Path, out: Path) -> None:
    records = [json.loads(line) for line in passages.read_text(encoding="utf-8").splitlines()]
    encoder = SentenceTransformer(str(model), device="cpu")
    vectors = encoder.encode([record["text"] for record in records], batch_size=32, normalize_embeddings=True)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    out.mkdir(parents=True, exist_ok=True)
    faiss.write_index(index, str(out / "vectors.faiss"))
    (out / "passages.json").write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
