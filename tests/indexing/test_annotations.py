"""Metadata that a person sets on documents, also on those of files, and that outlive a change of the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import Document, Index, NotFound, Unreadable, UsageError, admin


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "bread.md").write_text("---\nauthor: Ada\n---\nFlour and yeast.\n", encoding="utf-8")
    (folder / "tea.txt").write_text("Tea is hot.\n", encoding="utf-8")
    return folder


@pytest.fixture
def index(notes: Path, tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.sync(notes)
        made.add([Document("own", "Salt of the sea.", {"kind": "note"})])
        yield made


def metadata(index: Index) -> dict[str, dict[str, object]]:
    return {each["id"]: each["metadata"] for each in index.documents()}


def test_a_tag_is_set_on_documents_of_files_and_others_and_embeds_nothing(index: Index) -> None:
    before = index.vectors([passage["id"] for passage in index.passages("bread.md")])
    assert index.annotate(["bread.md", "own"], {"tag": "to read"}) == 2
    assert index.annotate("own", {"tag": "to read"}) == 0  # it has it already
    assert index.matching(where="tag = 'to read'") == ["bread.md", "own"]
    assert metadata(index)["bread.md"] == {"author": "Ada", "tag": "to read"}
    assert (index.vectors([passage["id"] for passage in index.passages("bread.md")]) == before).all()
    assert index.analysis.verify() == []


def test_it_stays_when_the_file_is_read_again_beside_what_the_file_says_now(index: Index, notes: Path) -> None:
    index.annotate(["bread.md", "tea.txt"], {"tag": "to read"})
    (notes / "bread.md").write_text("---\nauthor: Bob\n---\nFlour, yeast and salt.\n", encoding="utf-8")
    assert index.sync().changed == 1
    assert metadata(index)["bread.md"] == {"author": "Bob", "tag": "to read"}
    (notes / "tea.txt").rename(notes / "hot.txt")
    assert index.sync().moved == 1
    assert metadata(index)["hot.txt"] == {"tag": "to read"}
    assert (index.sync().changed, index.analysis.verify()) == (0, [])


def test_none_removes_a_key_and_a_dump_keeps_the_others(index: Index, notes: Path, tmp_path: Path) -> None:
    index.annotate(["bread.md", "tea.txt"], {"tag": "to read"})
    index.annotate("tea.txt", {"tag": None})
    assert metadata(index)["tea.txt"] == {}
    admin.dump(index, tmp_path / "a.dump")
    with admin.restore(tmp_path / "a.dump", tmp_path / "again", trust=True) as again:
        (notes / "bread.md").write_text("Yeast alone.\n", encoding="utf-8")
        again.sync()
        assert metadata(again)["bread.md"] == {"tag": "to read"}


def test_what_cannot_be_set_changes_nothing(index: Index) -> None:
    with pytest.raises(UsageError, match="own metadata"):
        index.annotate(["tea.txt"], {"author": "me"})
    with pytest.raises(NotFound):
        index.annotate(["tea.txt", "nothing"], {"tag": "x"})
    with pytest.raises(UsageError):
        index.annotate(["tea.txt"], {"": "x"})
    with pytest.raises(Unreadable):
        index.annotate(["tea.txt"], {"tag": float("nan")})
    assert metadata(index)["tea.txt"] == {} and "tag" not in metadata(index)["own"]
