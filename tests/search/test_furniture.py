"""Lists of links, of contents and of neighbours are found, after all other passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semsearch import Index, Splitter
from semsearch.types import Hit

if TYPE_CHECKING:
    from semsearch.encoders.hashing import HashingEncoder

QUESTION = "How do I share global variables across modules?"
FAQ = f"""<html><body><main><h1>Programming</h1><ul><li><a href="#a">{QUESTION}</a></li>
<li><a href="#b">What is an import?</a></li></ul>
<section id="sharing"><h2>{QUESTION}</h2><p>Make a module of its own, often called config, and import it.</p></section>
</main></body></html>"""
OTHER = "<html><body><main><h1>Boilers {n}</h1><p>Boiler {n} heats water.</p></main></body></html>"
CONTENTS = "<html><body><main><ul>{items}</ul></main></body></html>"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, hashing: HashingEncoder) -> Iterator[Index]:
    """An answer, twenty other pages, and 400 pages of nothing but links with the very words of the question."""
    (folder := tmp_path_factory.mktemp("furniture") / "pages").mkdir()
    (folder / "faq.html").write_text(FAQ)
    for n in range(20):
        (folder / f"other{n}.html").write_text(OTHER.format(n=n))
    for n in range(400):
        items = f'<li><a href="/{n}">{QUESTION} {n}</a></li><li><a href="/{n}">Part {n}</a></li>'
        (folder / f"toc{n}.html").write_text(CONTENTS.format(items=items))
    with Index.create(folder.parent / "index", encoder=hashing) as made:
        made.sync(folder)
        yield made


def is_furniture(hit: Hit) -> bool:
    return hit.text.startswith("- ")


@pytest.mark.parametrize("group", ["passage", "document"])
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_the_answer_is_above_every_list_of_links(index: Index, mode: str, group: str) -> None:
    hits = index.search(QUESTION, k=30, mode=mode, group=group)
    assert "often called config" in hits[0].text
    kinds = [is_furniture(hit) for hit in hits]
    assert kinds == sorted(kinds) and any(kinds)


def test_furniture_is_found_where_there_is_nothing_else(index: Index) -> None:
    (hit,) = index.search("part 399", mode="keyword", must=["399"], k=3)
    assert hit.document == "toc399.html"


def test_an_index_of_an_older_version_has_no_furniture(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch.stores.local.database.connection import Connection

    monkeypatch.setattr(Connection, "schema", lambda _: 7)
    hits = index.search(QUESTION, k=30, mode="keyword", group="passage")
    assert is_furniture(hits[0]) or is_furniture(hits[1])


def test_a_passage_of_nothing_but_front_matter_stands_behind_all_others(
    tmp_path: Path, hashing: HashingEncoder
) -> None:
    front = "\n".join(f"tag{n}: boiler number {n} of the heating" for n in range(40))
    (tmp_path / "note.md").write_text(
        f"---\ntitle: Boiler\n{front}\n---\n\n# Boiler\n\nThe boiler of the heating hums.\n"
    )
    with Index.create(tmp_path / "index", encoder=hashing, splitter=Splitter(size=40)) as made:
        made.sync(tmp_path / "note.md")
        hits = made.search("boiler of the heating", k=30, group="passage")
    assert hits[0].text.endswith("The boiler of the heating hums.")
    assert sum(hit.text.startswith(("---", "tag")) for hit in hits[1:]) > 3
