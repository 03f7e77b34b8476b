"""Copies of documents: each is close to the one that is kept, and what is kept is what the rule says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semsearch import BadFilter, Copies, Document, Index, UnknownName, UsageError
from semsearch.analysis import copies
from semsearch.search import shared_words

ENGINE = "Diesel engines ignite by compression of the air in them and the fuel is injected late."
TEXTS = {
    "a/engine.txt": ENGINE,
    "engine.txt": ENGINE,
    "loud.txt": ENGINE.upper().replace(" IN THEM", ", in them,"),
    "longer.txt": f"{ENGINE} Always.",
    "bread.txt": "Bread needs salt and time.",
    "empty.txt": "",
    "void.txt": "",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document(name, text, {"n": at}) for at, (name, text) in enumerate(TEXTS.items())])
        yield made


def by_document(found: Copies) -> dict[str, tuple[str, float]]:
    return {copy.document: (copy.kind, copy.shared_words) for copy in found.copies}


def test_copies_say_how_they_agree_and_the_longest_text_is_kept(index: Index) -> None:
    (group,) = index.analysis.copies(threshold=0.8, words=0.8)
    assert (group.keep, group.why) == ("longer.txt", "it has the longest text")
    assert set(by_document(group)) == {"a/engine.txt", "engine.txt", "loud.txt"}
    assert all(kind == "near" and 0.9 < words < 1 for kind, words in by_document(group).values())
    (group,) = index.analysis.copies(threshold=0.8, words=0.8, keep="first")
    assert (group.keep, group.why) == ("a/engine.txt", "its name is the first")
    assert by_document(group)["engine.txt"] == ("exact", 1.0)
    assert by_document(group)["loud.txt"] == ("same words", 1.0)
    assert by_document(group)["longer.txt"][0] == "near"
    assert [copy.kind for copy in group.copies] == ["exact", "same words", "near"]


def test_exact_copies_are_equal_letter_by_letter_and_texts_without_a_word_are_none(index: Index) -> None:
    (group,) = index.analysis.copies(exact=True)
    assert (group.keep, group.why) == ("engine.txt", "its path is the shortest")
    assert by_document(group) == {"a/engine.txt": ("exact", 1.0)}
    assert index.analysis.copies(exact=True, where="n > 0") == []


def test_a_text_with_the_same_meaning_and_other_words_is_no_copy(tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", encoder=None, dimensions=2) as index:
        said = [Document("a", "The kettle boils."), Document("b", "Water gets hot in the pot.")]
        index.add(said, vectors=[[1, 0], [1, 0.01]])
        assert index.analysis.copies() == []
        (group,) = index.analysis.copies(words=0)
        assert (group.keep, [copy.document for copy in group.copies]) == ("b", ["a"])


@pytest.mark.parametrize("compared", [copies.COMPARED, 1], ids=["all with all", "through the vector index"])
def test_every_copy_is_close_to_the_document_that_is_kept(
    tmp_path: Path, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors 10 degrees apart: neighbours are close, and together they are a chain from one end to the other."""
    monkeypatch.setattr(copies, "COMPARED", compared)
    monkeypatch.setattr(copies, "AT_ONCE", 2)
    chain = [[1, 0], [0.985, 0.174], [0.940, 0.342], [0.866, 0.5], [0, -1]]
    with Index.create(tmp_path / "own", encoder=None, dimensions=2) as index:
        marks = ".!?;…"
        index.add([Document(f"d{at}", f"The same words{marks[at]}") for at in range(5)], vectors=chain)
        found = index.analysis.copies(threshold=0.98, keep="first")
    assert {copy.document: group.keep for group in found for copy in group.copies} == {"d1": "d0", "d3": "d2"}
    assert all(copy.cosine >= 0.98 for group in found for copy in group.copies)


def test_the_bound_on_shared_words_is_never_below_the_share() -> None:
    texts = ["a b b c", "a b d", "a b b c d e f", "", "x " * 70_000, "x " * 66_000 + "y"]
    counted = np.stack([shared_words.counts(text) for text in texts])
    for least in (0.0, 0.3, 0.4, 0.5, 0.9, 1.0):
        for one in range(len(texts)):
            alike = shared_words.bound(counted, least)(one, np.arange(len(texts)))
            exact = [shared_words.shared(texts[one].split(), text.split()) >= least for text in texts]
            assert all(alike[np.array(exact)])
    assert not shared_words.bound(counted, 0.5)(0, np.array([1]))[0]


def test_the_rule_chooses_by_the_time_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for at, name in enumerate(("new.txt", "middle.txt", "old.txt")):
        (folder / name).write_text(ENGINE)
        os.utime(folder / name, (2_000_000 - at * 1000, 2_000_000 - at * 1000))
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.sync(folder)
        expected = {"newest": "new.txt", "oldest": "old.txt", "longest": "old.txt", "first": "middle.txt"}
        for rule, name in expected.items():
            (group,) = index.analysis.copies(keep=rule)  # type: ignore[arg-type]
            assert group.keep == name, rule
        assert index.analysis.copies(keep="newest")[0].why == "its file is the newest"


def test_an_exception_of_progress_ends_it(index: Index) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.analysis.copies(progress=stop)


def test_wrong_arguments_are_usage_errors(index: Index) -> None:
    for wrong in ({"threshold": 2}, {"words": 3}, {"words": "many"}):
        with pytest.raises(UsageError):
            index.analysis.copies(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="longest"):
        index.analysis.copies(keep="long")  # type: ignore[arg-type]
    with pytest.raises(BadFilter):
        index.analysis.copies(where="n <")
