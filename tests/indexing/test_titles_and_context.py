"""Titles of files, and passages that are embedded and found with title and heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch import Document, Encoder, Index
from semsearch.utils.passage_context import embedded

LONG = " ".join(f"It has a sentence number {number} about nothing in particular." for number in range(60))


def titles(folder: Path, home: Path) -> dict[str, str | None]:
    with Index.create("titles", encoder="hashing", home=home) as index:
        index.sync(folder)
        return {str(one["id"]): one["title"] for one in index.documents()}


def write(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        stem, suffix = name.rsplit("_", 1)
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def test_a_title_is_that_of_the_front_matter_then_the_main_heading_then_the_file_name(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "files",
        front_md="---\ntitle: Kettles\n---\n# Summary\n\nText.\n",
        heading_md="## Summary\n\nText.\n\n# Boilers\n\nText.\n",
        tax_return_2024_md="## Summary\n\nText.\n",
        shopping_list_txt="Milk.\n",
        page_html="<h2>Summary</h2><p>Text.</p><h1>Pumps</h1><p>Text.</p>",
        pep_rst="PEP: 8\nTitle: Style Guide\nStatus: Active\n\n\nAbstract\n========\n\nText.\n",
        chapters_rst="Abstract\n========\n\nText.\n\nMotive\n======\n\nText.\n",
        whole_rst="====\nBook\n====\n\nAbstract\n========\n\nText.\n",
    )
    assert titles(folder, tmp_path / "home") == {
        "front.md": "Kettles",
        "heading.md": "Boilers",
        "tax_return_2024.md": "tax return 2024",
        "shopping_list.txt": "shopping list",
        "page.html": "Pumps",
        "pep.rst": "Style Guide",
        "chapters.rst": "chapters",
        "whole.rst": "Book",
    }


def test_sections_of_restructuredtext_are_headings_and_its_fields_metadata(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "files",
        pep_rst="PEP: 8\nTitle: Style\nStatus: Active\n\n"
        f"Abstract\n========\n\n{LONG}\n\nUse ``this``\n~~~~~~~~~~~~\n\n{LONG}\n",
    )
    with Index.create("rst", encoder="hashing", home=tmp_path / "home") as index:
        index.sync(folder)
        (document,) = index.get(ids=["pep.rst"])
        hits = index.search("sentence number 59", k=100, mode="keyword", group="passage")
    assert document["metadata"] == {"PEP": 8, "Status": "Active"}
    assert {hit.heading for hit in hits} == {None, "Abstract", "Use this"}  # None: that of the fields


def test_a_passage_is_embedded_with_the_title_and_heading_that_it_lacks(tmp_path: Path) -> None:
    encoder = Encoder.load("hashing")
    document = Document("engine", f"The cooling system.\n\n{LONG}", title="The cooling system")
    with Index.create("context", encoder=encoder, home=tmp_path) as index:
        index.add([document])
        hits = index.search("sentence", mode="keyword", group="passage", k=100)
        assert len(hits) > 2
        for hit in hits:
            lacks = not hit.text.startswith("The cooling system")
            expected = f"The cooling system\n\n{hit.text}" if lacks else hit.text
            vector = encoder.encode([expected], role="passage")
            (found,) = index.search(vector=vector, k=1, group="passage")
            assert found.id == hit.id and found.scores["cosine"] == pytest.approx(1, abs=2e-3)


def test_a_passage_is_found_by_words_of_its_title_and_by_parts_of_identifiers(tmp_path: Path) -> None:
    with Index.create("words", encoder="hashing", home=tmp_path) as index:
        index.add(
            [
                Document("a", f"The pump. {LONG}", title="Radiators"),
                Document("b", "Set MaxRequestWorkers, or call getElementById or xml_http_request."),
                Document("c", "Nothing of the kind."),
            ]
        )
        found = index.search("radiators", mode="keyword", group="passage", k=50)
        assert len(found) > 1 and {hit.document for hit in found} == {"a"}
        for words in ("request workers", "element by id", "MaxRequestWorkers", "http request"):
            assert [hit.document for hit in index.search(words, mode="keyword")] == ["b"], words
        assert [hit.document for hit in index.search("radiators", must="radiators", mode="keyword")] == []


def test_a_new_title_is_embedded_and_found(tmp_path: Path) -> None:
    with Index.create("retitled", encoder="hashing", home=tmp_path) as index:
        index.add([Document("a", LONG, title="Radiators")])
        report = index.add([Document("a", LONG, title="Boilers")])
        assert (report.changed, report.unchanged) == (1, 0)
        assert not index.search("radiators", mode="keyword")
        assert [hit.document for hit in index.search("boilers", mode="keyword")] == ["a"]
        assert index.analysis.verify() == []


def test_new_metadata_embeds_nothing(tmp_path: Path) -> None:
    with Index.create("metadata", encoder="hashing", home=tmp_path) as index:
        index.add([Document("a", LONG, title="Radiators")])
        report = index.add([Document("a", LONG, {"year": 2020}, title="Radiators")])
        assert (report.changed, report.embedded) == (1, 0)


def test_context_is_short_and_says_nothing_twice() -> None:
    from semsearch.types import Passage

    document = Document("a", "x", title="  A\n title ")
    assert embedded(document, Passage(0, 4, "Text", heading="A title")) == "A title\n\nText"
    assert embedded(document, Passage(0, 9, "A  TITLE x", heading="A title")) == "A  TITLE x"
    assert len(embedded(document, Passage(0, 1, "x", heading="y" * 1000))) < 200
