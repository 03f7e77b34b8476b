"""Vectors written and read by `embed`, `dump --vectors` and `index --from-vectors`, and `index --from chroma`."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from helpers.commandline import CommandLine

FILES = Path(__file__).parents[1] / "fixtures" / "databases"


def test_embed_writes_parquet_and_half_precision(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("embed", "-", "-o", tmp_path / "v.npy", "--precision", "float16", stdin="a\nb\n")
    assert np.load(tmp_path / "v.npy").dtype == np.float16
    assert cli("embed", "a", "--precision", "float16").code == 2
    assert cli("embed", "a", "--format", "parquet").code == 2
    parquet = pytest.importorskip("pyarrow.parquet")
    cli.ok("embed", "-", "-o", tmp_path / "v.parquet", stdin="a\nb\n")
    assert parquet.read_table(tmp_path / "v.parquet")["text"].to_pylist() == ["a", "b"]


def test_vectors_go_out_and_make_an_index_again(cli: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.jsonl").write_text('{"id": "x", "text": "a diesel engine"}\n{"id": "y", "text": "bread"}\n')
    cli.ok("index", tmp_path / "t.jsonl", "-n", "one")
    cli.ok("dump", "one", "--vectors", tmp_path / "v.parquet")
    cli.ok("dump", "one", "--vectors", tmp_path / "v.npy")
    assert cli("dump", "one", "--vectors", tmp_path / "v.npy").code == 2  # not replaced without -y
    cli.ok("index", "--from-vectors", tmp_path / "v.npy", tmp_path / "v.jsonl", "-n", "two", "-m", "hashing")
    assert "hashing" in cli.ok("info", "two").out
    cli.ok("index", "--from-vectors", tmp_path / "v.parquet", "-n", "three")
    assert cli.ok("query", "bread", "-n", "three", "--mode", "keyword").out
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(2, 256)))
    refused = cli("index", "--from-vectors", tmp_path / "v.npy", tmp_path / "v.jsonl", "-n", "four", "-m", "hashing")
    assert refused.code == 4 and "not those of encoder hashing" in refused.err
    assert "four" not in cli.ok("list").out
    assert cli("index", "--from-vectors", tmp_path / "v.parquet", "--dry-run", "-n", "five").code == 2


def test_a_folder_of_chroma_is_followed(cli: CommandLine, tmp_path: Path) -> None:
    with tarfile.open(FILES / "chroma.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    assert "5 added" in cli.ok("index", tmp_path / "chroma", "--from", "chroma", "-n", "old").out
    assert "5 unchanged" in cli.ok("index", "-n", "old").out
    assert "3 added" in cli.ok("index", FILES / "txtai.zip", "--from", "txtai", "-n", "texts").out
    assert cli("index", tmp_path / "chroma", tmp_path, "--from", "chroma", "-n", "x").code == 2
