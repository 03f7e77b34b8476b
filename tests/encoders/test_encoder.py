"""Encoder: the shapes of sentence-transformers, cuts, odd text, devices, and texts that are embedded once."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import UNIT

from semsearch.encoders.embedding_cache import VectorCache
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.encoders.onnx import OnnxBackend
from semsearch.errors import DeviceUnavailable, UnknownName, UsageError
from semsearch.models import model_folders
from semsearch.models.batching import batches_by_length
from semsearch.models.bundle import read
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import Prompt
from semsearch.types import TruncationStats

SENTENCES = ["A diesel engine ignites its fuel by compression.", "Soup of the day", "Soup of the day", ""]


class Counting(HashingEncoder):
    """The hashing encoder, and a record of every text that it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Any:
        self.seen.extend(texts)
        return super().embed(texts, prompt, batch_size)


# What sentence-transformers has


def test_a_string_gives_a_vector_and_a_list_gives_rows(minilm_encoder: Encoder) -> None:
    assert minilm_encoder.encode("soup").shape == (384,)
    assert minilm_encoder.encode(["soup"]).shape == (1, 384)
    assert minilm_encoder.encode(SENTENCES).shape == (4, 384)
    assert minilm_encoder.encode([]).shape == (0, 384)
    assert minilm_encoder.encode(np.array(SENTENCES)).shape == (4, 384)  # type: ignore[call-overload]
    assert minilm_encoder.encode(inputs=SENTENCES).shape == (4, 384)  # type: ignore[call-overload]


def test_an_encoder_shows_what_it_is(minilm_encoder: Encoder) -> None:
    assert repr(minilm_encoder) == "Encoder('all-MiniLM-L6-v2', dim=384, device='cpu')"


def test_every_argument_of_sentence_transformers_is_known(minilm_encoder: Encoder) -> None:
    st = pytest.importorskip("sentence_transformers").SentenceTransformer
    import inspect

    theirs = [name for name in inspect.signature(st.encode).parameters if name not in ("self", "inputs", "kwargs")]
    ours = [name for name in inspect.signature(Encoder.encode).parameters if name not in ("self", "sentences")]
    assert ours[: len(theirs) - 2] == theirs[:-2]  # the same order too
    assert theirs[-2:] == ["pool", "chunk_size"]  # refused by name


def test_vectors_are_near_to_those_of_sentence_transformers(golden: Path, minilm_encoder: Encoder) -> None:
    theirs = np.load(golden / "minilm.npz", allow_pickle=False)["sentence_transformers_default"]
    texts = json.loads((golden / "sentences.json").read_text(encoding="utf-8"))[: len(theirs)]
    cosines = (minilm_encoder.encode(texts) * theirs).sum(axis=1)
    assert len(cosines) == 9 and cosines.mean() > 0.985


def test_a_prompt_is_given_by_text_name_or_role(hashing: HashingEncoder) -> None:
    encoder = Encoder(hashing)
    assert np.array_equal(encoder.encode("soup", prompt="hot "), encoder.encode("hot soup"))
    named: list[dict[str, Any]] = [{"prompt_name": "query"}, {"prompt_name": "document"}, {"role": "query"}]
    for options in named:
        assert np.array_equal(encoder.encode("soup", **options), encoder.encode("soup"))  # no prompt of its own
    with pytest.raises(UnknownName, match="no prompt is called 'clustering'"):
        encoder.encode("soup", prompt_name="clustering")


def test_tensors_and_bits_on_request(minilm_encoder: Encoder) -> None:
    torch = pytest.importorskip("torch")
    plain = minilm_encoder.encode(SENTENCES)
    tensor = minilm_encoder.encode(SENTENCES, convert_to_tensor=True)
    assert isinstance(tensor, torch.Tensor) and np.array_equal(tensor.numpy(), plain)
    listed = minilm_encoder.encode(SENTENCES, convert_to_numpy=False)
    assert isinstance(listed, list) and len(listed) == 4
    bits = minilm_encoder.encode(SENTENCES, precision="ubinary")
    assert bits.shape == (4, 48) and np.array_equal(np.unpackbits(bits, axis=1), plain > 0)


def test_bits_are_packed_as_sentence_transformers_packs_them(minilm_encoder: Encoder) -> None:
    quantize = pytest.importorskip("sentence_transformers.quantization").quantize_embeddings
    plain = minilm_encoder.encode(SENTENCES)
    for precision in ("binary", "ubinary"):
        ours = minilm_encoder.encode(SENTENCES, precision=precision)
        assert (
            np.array_equal(ours, quantize(plain, precision=precision))
            and ours.dtype == quantize(plain, precision).dtype
        )


def test_truncated_vectors_are_normalised_on_request(minilm_encoder: Encoder) -> None:
    cut = minilm_encoder.encode(SENTENCES, truncate_dim=64)
    assert np.array_equal(cut, minilm_encoder.encode(SENTENCES)[:, :64])
    unit = minilm_encoder.encode(SENTENCES, truncate_dim=64, normalize_embeddings=True)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=UNIT)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "int8"},
        {"output_value": "token_embeddings"},
        {"device": "cuda"},
        {"pool": {}},
        {"batchsize": 3},
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(minilm_encoder: Encoder, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        minilm_encoder.encode("soup", **options)


def test_text_that_is_no_string_is_named(minilm_encoder: Encoder) -> None:
    with pytest.raises(UsageError, match="text 1 is not a string but int"):
        minilm_encoder.encode(["soup", 7])  # type: ignore[list-item]


def test_similarity_is_the_cosine_of_every_pair(minilm_encoder: Encoder) -> None:
    a, b = np.array([[3.0, 0], [0, 2]]), np.array([1.0, 1])
    assert minilm_encoder.similarity(a, b) == pytest.approx(np.full((2, 1), 2**-0.5))


def test_the_progress_bar_is_on_stderr_and_only_on_request(hashing: Any, capfd: pytest.CaptureFixture[str]) -> None:
    Encoder(hashing).encode(SENTENCES)
    assert capfd.readouterr() == ("", "")
    Encoder(hashing).encode(SENTENCES, show_progress_bar=True)
    out, err = capfd.readouterr()
    assert out == "" and "Encoding" in err


# Long and odd text


def test_the_sentence_is_cut_and_never_the_prompt(minilm_encoder: Encoder) -> None:
    bundle = read(model_folders.find("minilm"))
    tokenizer = Tokenizer(bundle.path("tokenizer"), 16)
    prompt = Prompt(before="this sentence : ", after=" means something .")
    (ids,) = tokenizer.ids(["word " * 40], prompt)
    (short,) = tokenizer.ids([""], prompt)
    assert len(ids) == 16
    kept = 16 - len(short)
    before = len(tokenizer.ids([""], Prompt(before=prompt.before))[0]) - 1
    assert ids[:before] == short[:before] and ids[before + kept :] == short[before:]
    assert tokenizer.truncation == TruncationStats(passages=1, tokens=40 - kept)


def test_what_was_cut_is_counted(minilm_encoder: Encoder) -> None:
    encoder = Encoder.load("minilm")
    encoder.encode(["word " * 254, "word " * 300, "short"])
    assert (encoder.truncation.passages, encoder.truncation.tokens) == (1, 300 - 254)


@pytest.mark.parametrize("unit", ["hello world, this is text. ", "日本語", "a ", "é", "aé日 "], ids=ascii)
def test_a_cut_before_tokenising_does_not_change_the_result(unit: str) -> None:
    tokenizer = Tokenizer(read(model_folders.find("minilm")).path("tokenizer"), 256)
    text = unit * (60_000 // len(unit))
    (ids,) = tokenizer.ids([text], Prompt())
    whole = tokenizer._fast.encode(text).ids
    assert ids == (whole if len(whole) <= 256 else [*whole[:255], whole[-1]])


def test_a_megabyte_of_text_is_encoded_in_a_moment(minilm_encoder: Encoder) -> None:
    began = time.process_time()
    minilm_encoder.encode(["hello world, this is text. " * 40_000])
    assert time.process_time() - began < 5  # all of it would be 280,000 tokens; cut, it takes 0.1 s


@pytest.mark.parametrize("token", ["[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]"])
def test_a_special_token_that_a_user_types_is_text(token: str) -> None:
    bundle = read(model_folders.find("minilm"))
    (ids,) = Tokenizer(bundle.path("tokenizer"), 256).ids([f"a {token} b"], Prompt())
    special = {0, 100, 101, 102, 103}
    assert not special & set(ids[1:-1])


def test_odd_text_is_text(minilm_encoder: Encoder) -> None:
    odd = ["", "\x00", "\ud800", "\ud83d\ude00", "\u202e\u0007", " \t\n", "a" * 5000]
    assert np.isfinite(minilm_encoder.encode(odd)).all()
    assert np.array_equal(minilm_encoder.encode("\ud83d\ude00"), minilm_encoder.encode("😀"))


def test_batches_hold_every_text_once_within_their_budget() -> None:
    lengths = [5, 300, 1, 40, 40, 7, 0, 90]
    batches = list(batches_by_length(lengths, max_texts=3, max_tokens=100))
    assert sorted(at for batch in batches for at in batch.tolist()) == list(range(len(lengths)))
    assert lengths[batches[0][0]] == 300
    assert all(len(b) == 1 or (len(b) <= 3 and len(b) * max(lengths[at] for at in b) <= 100) for b in batches)


# Devices


def test_an_absent_device_is_an_error(minilm_encoder: Encoder) -> None:
    with pytest.raises(DeviceUnavailable, match=r"device cuda:1 was requested.*device=.cpu") as caught:
        Encoder.load("minilm", device="cuda:1")
    assert caught.value.exit_code == 6
    assert minilm_encoder.device == "cpu" and minilm_encoder.info["provider"] == "CPUExecutionProvider"


def test_an_encoder_that_knows_no_device_refuses_one_too() -> None:
    assert Encoder.load("hashing", device="cpu").device == "cpu"
    with pytest.raises(DeviceUnavailable, match="hashing runs on a CPU only"):
        Encoder.load("hashing", device="cuda")
    with pytest.raises(UsageError, match="no device is called 'gpu'"):
        Encoder.load("hashing", device="gpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:", "CPU", "cuda:x", ""])
def test_an_unknown_device_is_a_usage_error(device: str) -> None:
    with pytest.raises(UsageError, match="no device is called"):
        Encoder.load("minilm", device=device)


def test_a_batch_that_memory_does_not_hold_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = OnnxBackend(read(model_folders.find("minilm")))
    session, sizes = encoder._session, []

    class Small:
        def run(self, names: None, feeds: dict[str, Any]) -> Any:
            sizes.append(len(feeds["input_ids"]))
            if sizes[-1] > 2:
                raise RuntimeError("Failed to allocate memory for requested buffer")
            return session.run(names, feeds)

    monkeypatch.setattr(encoder, "_session", Small())
    assert encoder._run([[101, 102]] * 5).shape == (5, 384)
    assert sizes == [5, 2, 3, 1, 2]


# Embedded once


def test_a_text_is_embedded_once_in_a_call() -> None:
    engine = Counting()
    vectors = Encoder(engine).encode(["b", "a", "b", "b"])
    assert engine.seen == ["b", "a"]
    assert np.array_equal(vectors[0], vectors[2]) and not np.array_equal(vectors[0], vectors[1])


def test_a_text_is_embedded_once_ever(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    fresh = Encoder(first, VectorCache(tmp_path / "cache.db", 256)).encode(SENTENCES)
    again = Encoder(second, VectorCache(tmp_path / "cache.db", 256)).encode([*SENTENCES, "new"])
    assert second.seen == ["new"]
    assert np.array_equal(again[:4], fresh)


def test_rounding_is_the_same_whether_cached_or_not(tmp_path: Path, hashing: HashingEncoder) -> None:
    plain = Encoder(hashing).encode(SENTENCES)
    cached = Encoder(hashing, VectorCache(tmp_path / "cache.db", 256))
    assert np.array_equal(cached.encode(SENTENCES), cached.encode(SENTENCES))
    assert np.array_equal(cached.encode(SENTENCES), VectorCache.rounded(plain))
    assert (cached.encode(SENTENCES) * plain).sum(axis=1).min() > 0.999999


def test_another_prompt_or_fingerprint_is_another_vector(tmp_path: Path) -> None:
    engine = Counting()
    encoder = Encoder(engine, VectorCache(tmp_path / "cache.db", 256))
    encoder.encode(["a"])
    encoder.encode(["a"], prompt="hot ")
    encoder.fingerprint = "another"
    encoder.encode(["a"])
    assert engine.seen == ["a", "a", "a"]


def test_queries_are_not_kept(tmp_path: Path) -> None:
    Encoder(Counting(), VectorCache(tmp_path / "cache.db", 256)).encode_query(["secret"])
    assert not (tmp_path / "cache.db").exists()


def test_queries_and_documents_have_prompts_of_their_own() -> None:
    engine = Counting()
    engine.prompts = {"query": Prompt("ask: "), "passage": Prompt("told: ", " end")}
    encoder = Encoder(engine)
    asked, told = encoder.encode_query(["soup"]), encoder.encode_document(["soup"])
    alone = HashingEncoder().encode(["ask: soup", "told: soup end"])
    assert np.allclose(asked[0], alone[0]) and np.allclose(told[0], alone[1])
    assert np.array_equal(told, encoder.encode(["soup"])) and not np.array_equal(asked, told)
    assert encoder.encode_document("soup").shape == (256,)


def test_the_oldest_vectors_are_forgotten_first(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache.db", 4, most_bytes=10 * (2 * 4 + 64))
    texts = [str(number) for number in range(25)]
    for text in texts:
        cache.put("space", [text], np.eye(1, 4, dtype=np.float32))
    assert sorted(cache.get("space", texts)) == list(range(15, 25))


def test_a_broken_cache_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(b"this is no database" * 100)
    engine = Counting()
    encoder = Encoder(engine, VectorCache(path, 256))
    assert encoder.encode(["a"]).shape == (1, 256)
    encoder.encode(["b"])
    encoder.encode(["b"])
    assert engine.seen == ["a", "b"]
    assert [p.name for p in tmp_path.glob("*.corrupt-*")]


def test_a_row_that_was_changed_is_embedded_again(tmp_path: Path) -> None:
    engine = Counting()
    cache = VectorCache(tmp_path / "cache.db", 256)
    before = Encoder(engine, cache).encode(["a"])
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(512)")
    assert np.array_equal(Encoder(engine, cache).encode(["a"]), before)
    assert engine.seen == ["a", "a"]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "cache.db").mkdir()
    assert Encoder(Counting(), VectorCache(tmp_path / "cache.db", 256)).encode(["a"]).shape == (1, 256)


def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_fill, args=(tmp_path / "cache.db", part)) for part in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    texts = [f"{part} {at}" for part in range(2) for at in range(200)]
    assert len(VectorCache(tmp_path / "cache.db", 256).get("('x', '', '')", texts)) == 400


def _fill(path: Path, part: int) -> None:
    engine = HashingEncoder()
    engine.fingerprint = "x"
    encoder = Encoder(engine, VectorCache(path, 256))
    for at in range(200):
        encoder.encode([f"{part} {at}"])


# What loading costs


def test_the_minilm_encoder_loads_nothing_heavy() -> None:
    code = (
        "import sys; from semsearch import Encoder; Encoder.load().encode_query('soup');"
        "print([m for m in ('torch', 'transformers', 'huggingface_hub', 'faiss', 'sqlite_utils', 'rich', 'sqlite3')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
