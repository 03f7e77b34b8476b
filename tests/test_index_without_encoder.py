"""An index without an encoder: vectors of one's own go in, and searches by vector or by words come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index, UsageError, admin

DIM = 8
TEXTS = ("Diesel engines ignite by compression.", "Bread needs salt.", "A heron stands in the water.")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Three documents whose vectors are the axes; the first two documents also have a year."""
    with Index.create(tmp_path / "own", encoder=None, dimensions=DIM) as made:
        made.add([Document(f"d{n}", text, {"year": 2000 + n}) for n, text in enumerate(TEXTS)], vectors=np.eye(3, DIM))
        yield made


def test_vectors_and_words_are_searched_for_and_hits_have_no_strength(index: Index) -> None:
    with Index.open(index.path) as again:
        for one in (index, again):
            by_vector = one.search(vector=[0, 9, 1, 0, 0, 0, 0, 0], k=2)
            assert [(hit.document, hit.strength) for hit in by_vector] == [("d1", None), ("d2", None)]
            assert by_vector[0].scores == {"cosine": pytest.approx(9 / 82**0.5, abs=1e-3)} and by_vector.good_match
            assert [hit.document for hit in one.search("heron", mode="keyword")] == ["d2"]
            both = one.search("diesel engine", vector=np.eye(3, DIM)[1], k=2)
            assert {hit.document for hit in both} == {"d0", "d1"} and both[0].parts
            assert {
                hit.document: len(snippet.words) for hit, snippet in zip(both, one.snippets(both), strict=True)
            } == {"d0": 2, "d1": 0}
            assert one.similar("d0", k=1)[0].document != "d0"


def test_what_needs_an_encoder_is_one_clear_error_and_changes_nothing(index: Index, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A file.")
    calls: list[Callable[[], object]] = [
        lambda: index.search("diesel"),
        lambda: index.search("diesel", mode="semantic", vector=np.ones(DIM)),
        lambda: index.search(["diesel", "bread"]),
        lambda: index.search(vector=np.ones(DIM), more="bread"),
        lambda: index.search(vector=np.ones(DIM), min_strength=0.5),
        lambda: index.add([Document("x", "No vector.")]),
        lambda: index.update("d0", text="Another text."),
        lambda: index.sync(tmp_path / "a.txt"),
        lambda: index.encoder.encode(["text"], role="query"),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="index own has no encoder"):
            call()
    assert len(index) == 3 and index.get("d0")["text"] == TEXTS[0]
    assert index.update("d0", metadata={"year": 1}).changed == 1 and index.count({"year": 1}) == 1


def test_an_encoder_and_a_width_exclude_each_other(index: Index, tmp_path: Path) -> None:
    for wrong in ({"encoder": None}, {"encoder": None, "dimensions": 0}, {"encoder": None, "dimensions": "8"}):
        with pytest.raises(UsageError, match="dimensions=384"):
            Index.create(tmp_path / "new", **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="encoder=None"):
        Index.create(tmp_path / "new", encoder="hashing", dimensions=DIM)
    with pytest.raises(UsageError, match="width 8"):
        Index.create(index.path, encoder=None, dimensions=DIM + 1, exist_ok=True)
    Index.create(index.path, encoder=None, dimensions=DIM, exist_ok=True).close()
    Index.create(tmp_path / "encoded", encoder="hashing").close()
    with pytest.raises(UsageError, match="encoder hashing"):
        Index.create(tmp_path / "encoded", encoder=None, dimensions=256, exist_ok=True)
    with Index.open(index.path, encoder="hashing") as other, pytest.raises(UsageError, match="without an encoder"):
        _ = other.encoder


def test_it_is_verified_compacted_dumped_and_restored_as_any_other(index: Index, tmp_path: Path) -> None:
    index.delete(["d1"])
    admin.compact(index)
    admin.rebuild(index, "exact")
    assert index.analysis.verify() == [] and index.analysis.audit(sample=2, k=1)["drift"] is None
    admin.dump(index, tmp_path / "own.dump")
    with admin.restore(tmp_path / "own.dump", tmp_path / "restored") as again:
        assert again.search(vector=np.eye(3, DIM)[2], k=1)[0].document == "d2" and again.analysis.verify() == []
        again.add([Document("d3", "New.")], vectors=np.eye(1, DIM))
        assert len(again) == 3 and again.info()["spaces"][0]["encoder"]["name"] == "none"


def test_commands_answer_or_say_what_is_missing(index: Index, cli: CommandLine, tmp_path: Path) -> None:
    index.close()
    (tmp_path / "a.txt").write_text("A file.")
    for ok in (
        ["query", "heron", "--mode", "keyword"],
        ["query", "--like", "d0"],
        ["query", "heron", "--like", "d0", "--json"],
        ["similar", "d0"],
        ["info"],
        ["verify"],
        ["audit"],
        ["compact"],
        ["get", "d0"],
        ["delete", "--id", "d1", "-y"],
    ):
        ran = cli("--home", tmp_path, *ok, "-n", "own")
        assert ran.code == 0, (ok, ran.err)
    assert cli("--home", tmp_path, "list").code == 0
    refused = [
        ["query", "heron"],
        ["query", "heron", "--mode", "semantic"],
        ["index", tmp_path / "a.txt"],
        ["index", tmp_path / "a.txt", "-m", "hashing"],
        ["index", tmp_path / "a.txt", "--dry-run"],
        ["index"],
    ]
    for wrong in refused:
        ran = cli("--home", tmp_path, *wrong, "-n", "own")
        assert ran.code == 2 and "Traceback" not in ran.err and "vector=" not in ran.err, (wrong, ran.err)
        assert "has no encoder" in ran.err or "without an encoder" in ran.err, (wrong, ran.err)
