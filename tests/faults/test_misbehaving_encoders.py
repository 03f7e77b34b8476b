"""Encoders that misbehave: what they break is named, nothing unusable is stored, and no raw error comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch import Document, EncodingFailed, Index, SemsearchError, UsageError, admin
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.indexing.ingest import BATCH, FIRST

Fault = Callable[[Sequence[str], np.ndarray], Any]  # texts and their right vectors -> what the encoder does


def raises(error: BaseException) -> Fault:
    def fault(texts: Sequence[str], rows: np.ndarray) -> Any:
        raise error

    return fault


def rows_with(number: float) -> Fault:
    """Only the rows of bad texts are spoilt."""

    def fault(texts: Sequence[str], rows: np.ndarray) -> Any:
        bad = np.array(["poison" in text for text in texts])
        return np.where(bad[:, None], np.float32(number), rows)

    return fault


def scaled(factor: float) -> Fault:
    def fault(texts: Sequence[str], rows: np.ndarray) -> Any:
        bad = np.array(["poison" in text for text in texts])
        return np.where(bad[:, None], rows.astype(np.float64) * factor, rows)

    return fault


FAULTS: dict[str, Fault] = {
    "NaN": rows_with(np.nan),
    "infinity": rows_with(np.inf),
    "minus infinity": rows_with(-np.inf),
    "zero": rows_with(0),
    "tiny": scaled(1e-9),
    "huge in half precision": scaled(1e6),
    "huge in single precision": scaled(1e300),
    "one row too few": lambda texts, rows: rows[:-1],
    "one row too many": lambda texts, rows: np.concatenate([rows, rows[:1]]),
    "no row": lambda texts, rows: rows[:0],
    "too wide": lambda texts, rows: np.pad(rows, ((0, 0), (0, 3))),
    "too narrow": lambda texts, rows: rows[:, :-1],
    "flat": lambda texts, rows: rows.ravel(),
    "None": lambda texts, rows: None,
    "words": lambda texts, rows: [["a"] * rows.shape[1]] * len(texts),
    "ragged": lambda texts, rows: [row[: at + 1].tolist() for at, row in enumerate(rows)] + [[1.0, 2.0]],
    "complex": lambda texts, rows: rows * 1j,
    "ValueError": raises(ValueError("not this text\nplease")),
    "RuntimeError without a text": raises(RuntimeError()),
    "RecursionError": raises(RecursionError("too deep")),
    "AssertionError": raises(AssertionError()),
}


class Misbehaving(BaseEncoder):
    """The hashing encoder, with a fault for every call that has a text with `trigger` in it."""

    name, fingerprint = "misbehaving", "misbehaving-1"

    def __init__(self, fault: Fault, trigger: str = "poison") -> None:
        self._right = HashingEncoder(32)
        self.dim, self.fault, self.trigger, self.calls = 32, fault, trigger, 0

    def encode(self, texts: Sequence[str], /, *, role: Any) -> Any:
        self.calls += 1
        rows = self._right.encode(texts, role=role)
        return self.fault(texts, rows) if any(self.trigger in text for text in texts) else rows


def documents(n: int, *bad: int) -> list[Document]:
    return [Document(f"d{at}", f"{'poison ' if at in bad else ''}number {at} about ships") for at in range(n)]


@pytest.mark.parametrize("fault", FAULTS)
def test_only_the_texts_at_which_an_encoder_fails_are_skipped_and_named(tmp_path: Path, fault: str) -> None:
    with Index.create(tmp_path / "one", encoder=Misbehaving(FAULTS[fault])) as index:
        report = index.add(documents(30, 3, 17))
        assert [skipped.path for skipped in report.skipped] == ["d3", "d17"]
        assert all(skipped.reason.startswith("the encoder misbehaving failed") for skipped in report.skipped)
        assert (report.added, len(index)) == (28, 28) and "d3" not in index.matching()
        vectors = index.vectors([hit.id for hit in index.search("number 4 ships", k=100)])
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
        admin.compact(index)
        assert index.analysis.verify() == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_query_at_which_an_encoder_fails_is_one_clear_error(tmp_path: Path, fault: str) -> None:
    with Index.create(tmp_path / "one", encoder=Misbehaving(FAULTS[fault])) as index:
        index.add(documents(3))
        for search in (lambda: index.search("poison"), lambda: index.search(["ships", "poison ships"])):
            with pytest.raises(EncodingFailed, match="the encoder misbehaving failed") as caught:
                search()
            assert caught.value.exit_code == 1 and "\n" not in str(caught.value)
        assert len(index.search("poison ships", mode="keyword")) == 3
        assert len(index.search("ships")) == 3


def test_the_version_before_stays_where_the_new_text_cannot_be_encoded(tmp_path: Path) -> None:
    with Index.create(tmp_path / "one", encoder=Misbehaving(FAULTS["NaN"])) as index:
        index.add([Document("a", "the old text"), Document("b", "another")])
        report = index.add([Document("a", "a poison text"), Document("b", "a third")])
        assert (report.changed, [each.path for each in report.skipped]) == (1, ["a"])
        assert "the version indexed before stays" in report.skipped[0].reason
        assert (index.get("a")["text"], index.get("b")["text"]) == ("the old text", "a third")


def test_a_file_with_such_a_text_is_tried_again_and_its_stored_records_stay(tmp_path: Path) -> None:
    encoder = Misbehaving(FAULTS["ValueError"])
    file = tmp_path / "notes" / "all.jsonl"
    file.parent.mkdir()
    texts = {"a": "one of ships", "b": "two of ships", "c": "three of ships"}

    def write() -> None:
        file.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))

    with Index.create(tmp_path / "one", encoder=encoder) as index:
        write()
        assert index.sync([file.parent]).added == 3
        texts.update(b="a poison text", d="four of ships")
        write()
        report = index.sync()
        assert (report.added, report.changed, [each.path for each in report.skipped]) == (1, 0, ["b"])
        assert index.get("b")["text"] == "two of ships"
        assert [each.path for each in index.sync().skipped] == ["b"]
        encoder.trigger = "nothing has this"
        assert (index.sync().changed, index.get("b")["text"]) == (1, "a poison text")
        assert index.sync().unchanged == 4


def test_a_document_with_one_bad_passage_among_good_ones_is_skipped_whole(tmp_path: Path) -> None:
    long = "\n\n".join(f"Paragraph {at} about ships and the sea. " * 30 for at in range(8))
    with Index.create(tmp_path / "one", encoder=Misbehaving(FAULTS["zero"])) as index:
        report = index.add([Document("good", long), Document("bad", f"{long}\n\npoison\n\n{long}")])
        assert [each.path for each in report.skipped] == ["bad"] and index.matching() == ["good"]


def test_an_encoder_that_fails_at_every_text_ends_the_run_with_one_error(tmp_path: Path) -> None:
    encoder = Misbehaving(FAULTS["too wide"], trigger="")
    with Index.create(tmp_path / "one", encoder=encoder) as index:
        with pytest.raises(EncodingFailed, match=r"shape .* as well\. Repair the encoder"):
            index.add(documents(1000))
        assert encoder.calls == 2 and len(index) == 0  # the batch, and a plain sentence
        encoder.trigger = "poison"
        assert index.add(documents(1000)).added == 1000


def test_an_encoder_that_stops_working_loses_no_batch_that_was_stored(tmp_path: Path) -> None:
    encoder = Misbehaving(FAULTS["ValueError"], trigger="number 600 ")
    with Index.create(tmp_path / "one", encoder=encoder) as index:
        encoder.fault = lambda texts, rows: setattr(encoder, "trigger", "") or raises(ValueError("gone"))(texts, rows)
        with pytest.raises(EncodingFailed, match="gone"):
            index.add(documents(1000))
        assert len(index) == FIRST + 2 * BATCH and index.analysis.verify() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit])
def test_an_interrupt_or_a_full_memory_is_no_text_that_fails(tmp_path: Path, error: type[BaseException]) -> None:
    encoder = Misbehaving(raises(error()))
    with Index.create(tmp_path / "one", encoder=encoder) as index:
        with pytest.raises(error):
            index.add(documents(30, 3))
        assert encoder.calls == 1 and len(index) == 0


def test_a_failure_at_queries_costs_the_strengths_and_not_the_run(tmp_path: Path) -> None:
    class NoQueries(Misbehaving):
        fingerprint = "no-queries-1"  # its answers to the foreign questions are not in the user's cache

        def encode(self, texts: Sequence[str], /, *, role: Any) -> Any:
            if role == "query" and len(texts) > 1:
                raise ValueError("no queries")
            return super().encode(texts, role=role)

    with Index.create(tmp_path / "one", encoder=NoQueries(FAULTS["NaN"])) as index:
        report = index.add(documents(5))
        assert report.added == 5 and any("no queries" in warning for warning in report.warnings)
        assert [hit.strength for hit in index.search("ships", mode="semantic")] == [None] * 5


@pytest.mark.parametrize("number", [np.nan, np.inf, 0.0])
def test_own_vectors_that_mean_nothing_are_refused_with_their_place(tmp_path: Path, number: float) -> None:
    with Index.create(tmp_path / "one", encoder=None, dimensions=3) as index:
        with pytest.raises(UsageError, match="vector 2 of 2"):
            index.add([Document("a", "x"), Document("b", "y")], vectors=[[1, 0, 0], [number] * 3])
        with pytest.raises(UsageError, match="the vector"):
            index.search(vector=[number] * 3)
        assert len(index) == 0


@pytest.mark.parametrize("factor", [1e-40, 1e-30, 1e-7, 1e6, 1e30])
def test_own_vectors_of_any_length_point_where_they_did(tmp_path: Path, factor: float) -> None:
    right = np.array([[3.0, 4.0, 0.0], [0.0, 1.0, 1.0]])
    with Index.create(tmp_path / "one", encoder=None, dimensions=3) as index:
        index.add([Document("a", "x"), Document("b", "y")], vectors=right * factor)
        found = index.search(vector=right[0] * factor)
        assert found[0].document == "a" and found[0].scores["cosine"] == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("vectors", [np.ones((2, 4)), np.ones((3, 3)), "words", [[1j] * 3] * 2, [[1, 2], [3]]])
def test_own_vectors_of_another_shape_or_kind_are_refused(tmp_path: Path, vectors: Any) -> None:
    with Index.create(tmp_path / "one", encoder=None, dimensions=3) as index:
        with pytest.raises(SemsearchError) as caught:
            index.add([Document("a", "x"), Document("b", "y")], vectors=vectors)
        assert caught.value.exit_code == 2 and len(index) == 0
