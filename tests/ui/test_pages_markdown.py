"""Markdown on the search page: as one reads it, in snippets and beside them, and still nothing of it is markup."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from helpers.pages import hits, opened

from semsearch import Document

BREAD = """# Bread

Weigh the `flour` and the **salt**, see [the table](table.md) of 2 * 3 * 4 loaves.

| loaf | salt |
|:-----|-----:|
| rye `r|1` | 18 g |
| *white* | |

- first_of_all rest
"""
DOCUMENTS = [Document("bread.md", BREAD), Document("bread.txt", "A `flour` of | a text |.")]


def snippets(question: str) -> dict[str, str]:
    """The text that is shown of each hit, by its document."""
    page = opened("search", n="notes", q=question)
    return {
        hit["record"]["document"]: "".join(piece[1] for piece in hit["pieces"]).strip() for hit in hits(page)["hits"]
    }


def test_a_snippet_of_markdown_has_no_signs_and_a_text_keeps_its_own(notes: Path) -> None:
    found = snippets("weigh flour and salt")
    assert " ".join(found["bread.md"].split()) == (
        "Weigh the flour and the salt, see the table of 2 * 3 * 4 loaves. "
        "loaf · salt rye r|1 · 18 g white · first_of_all rest"
    )
    assert found["bread.txt"] == "A `flour` of | a text |."


def test_the_document_has_its_table_as_rows_of_cells_with_the_match_in_them() -> None:
    from semsearch_ui.shared.texts import structure

    match = structure.Match("n/1", BREAD.index("rye"), BREAD.index("18"), structure.OPEN)
    blocks = structure.blocks(BREAD, (0, len(BREAD)), [match], frozenset(), "bread.md")
    assert [each["kind"] for each in blocks] == ["h2", "p", "table", "item"]
    [table] = [each for each in blocks if each["kind"] == "table"]
    assert table["head"] == 1
    assert table["rows"] == [
        [[["around", "loaf"]], [["around", "salt"]]],
        [[["open", "rye ", "n/1"], ["open literal", "r|1", "n/1"]], [["around", "18 g"]]],
        [[["around", "white"]], []],
    ]
    assert blocks[1]["pieces"][:3] == [
        ["around", "Weigh the "],
        ["around literal", "flour"],
        ["around", " and the salt, see the table of 2 * 3 * 4 loaves."],
    ]


def test_front_matter_is_a_block_of_its_own_that_no_neighbour_begins_with() -> None:
    from semsearch_ui.shared.texts import structure

    text = "---\ntitle: Bread\ntags: [dough]\n---\n\n# Bread\n\nKnead it."
    match = structure.Match("n/1", 0, len(text), structure.OPEN)
    matter, heading, rest = structure.blocks(text, (0, len(text)), [match], frozenset(), "bread.md")
    assert (matter["kind"], heading["kind"], rest["kind"]) == ("front", "h2", "p") and not matter["open"]
    assert "dough" in matter["pieces"][0][1] and rest["pieces"] == [["open", "Knead it.", "n/1"]]
    within = structure.Match("n/1", 0, text.index("# "), structure.OPEN)
    assert structure.blocks(text, (0, len(text)), [within], frozenset(), "bread.md")[0]["open"]


@pytest.mark.parametrize("sign", ["`", "*", "**a", "[a", "|", "_a ", "``a`"])
def test_a_text_of_signs_alone_is_read_in_no_time(sign: str) -> None:
    from semsearch_ui.shared.texts import markup

    text, began = sign * (24_000 // len(sign)), time.process_time()
    read = markup.running(text)
    assert len(read.letters) == len(text)
    assert time.process_time() - began < 5
