"""A hit as the browser gets it: texts with their styles, which it never reads as markup, and what can be copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from semsearch import Hit
from semsearch.documents.loaders import suffix_of
from semsearch.documents.parsing import front_matter
from semsearch.documents.suffixes import page_name
from semsearch.types import JsonObject
from semsearch.utils.quantities import rounded_down
from semsearch.utils.strength import CHANCE
from semsearch.utils.untrusted import visible

from ..shared.messages import one_line
from ..shared.texts import highlight, markup, structure
from .results import IndexHit

if TYPE_CHECKING:
    from semsearch.search.snippets import Snippet

LONGEST_TITLE = 120  # characters
_HEADING_ENDS = re.compile(r"(?<=[^\W_])[ \t]*\n\s*\n")  # a block without a full stop
FIELDS = ("id", "document", "path", "line", "page", "heading", "strength", "score", "rerank", "text")
COLUMNS = ("rank", "index", "id", "title", *FIELDS[1:8], "cosine", "bm25", "rerank", "text")
CHANNELS = {"cosine": "meaning", "bm25": "words", "rerank": "second reading"}
SCORES = {"bm25": "BM25"}  # labels where they differ from the name


def card(rank: int, each: IndexHit, snippet: Snippet, *, lead: str = "", several: bool = False) -> JsonObject:
    """Everything that the browser shows of a hit; `lead` stands for its rank."""
    each = replace(each, hit=snippet.placed(each.hit))
    hit = each.hit
    return {
        "key": each.key,
        "lead": lead or f"{rank}.",
        "title": visible(one_line(title(each), LONGEST_TITLE)),
        "place": place(each, several=several),
        "date": each.date,
        "kind": suffix_of(PurePosixPath(hit.path))[1:].upper()[:8],
        "strength": strength(hit),
        "level": "none" if hit.strength is None and hit.match == "none" else hit.match,
        "text": visible(text(hit)),
        "again": None if hit.rerank is None else f"read again · {rounded_down(hit.rerank):.2f}",
        "pieces": _pieces(hit, snippet),
        "why": why(each),
        "more": hit.more_in_document,
        "copies": len(hit.near_copies),
        "quotation": visible(f"“{' '.join(''.join(_apart(hit, text(hit), text(hit))).split())}” — {citation(each)}"),
        "record": record(rank, each),
    }


def text(hit: Hit) -> str:
    """The text of a hit as one reads it, without front matter."""
    return front_matter.behind(hit.text, hit.start)


def title(each: IndexHit) -> str:
    """The title of the document, or the name of its file."""
    hit = each.hit
    return each.title or str(hit.metadata.get("title") or hit.path.rsplit("/", 1)[-1])


def citation(each: IndexHit) -> str:
    """Where a passage is from, in words that a person can follow: title, path, line or page, date."""
    hit = each.hit
    day = str(hit.metadata.get("date") or "")
    parts = [title(each), hit.path, hit.heading or "", *_at(hit), day]
    return ", ".join(dict.fromkeys(" ".join(part.split()) for part in parts if part))


def strength(hit: Hit) -> str:
    """The word for the strength of a hit; "" where there is none."""
    if hit.match == "none":
        return "" if hit.strength is None else "no match"
    return hit.match


def why(each: IndexHit) -> JsonObject:
    """Scores in words, and the share of each channel in the score that ranks the hit."""
    hit = each.hit
    scores = [f"{SCORES.get(name, name)} {value:.3f}" for name, value in hit.scores.items()]
    if hit.strength is not None:
        scores.insert(0, f"strength {rounded_down(hit.strength):.2f}")  # 0.899 is not likely
    whole = sum(hit.parts.values())
    parts = hit.parts.items() if whole > 0 else ()
    sums = " + ".join(f"{part:.4f} by {CHANNELS[name]}" for name, part in parts)
    return {
        "passage": f"passage {each.chip}",
        "scores": scores,
        "sum": f"score {hit.score:.4f}" + (f" = {sums}" if sums else ""),
        "shares": [[CHANNELS[name], max(0.0, part) / whole] for name, part in parts],
    }


def worse_than_chance(hit: Hit) -> bool:
    """Whether most questions without an answer here would find something as near."""
    return hit.strength is not None and hit.strength < CHANCE


def record(rank: int, each: IndexHit) -> JsonObject:
    """A hit as a record of a download."""
    fields = {name: getattr(each.hit, name) for name in FIELDS}
    scores = {name: each.hit.scores.get(name) for name in ("cosine", "bm25")}
    named = {"rank": rank, "index": each.index, "title": each.title}
    return {**named, **fields, **scores, "metadata": dict(each.hit.metadata)}


def place(each: IndexHit, *, several: bool = False) -> list[str]:
    """The index where there are several, the heading, the file with its record, the line or page."""
    hit = each.hit
    source = hit.document if hit.document.startswith(hit.path) else f"{hit.path} · {hit.document}"  # and its record
    heading = hit.heading if hit.heading not in (None, title(each)) else ""
    return [visible(part) for part in (each.index if several else "", heading or "", source, *_at(hit)) if part]


def _at(hit: Hit) -> list[str]:
    return [f"line {hit.line}"] * bool(hit.line) + [f"{page_name(hit.document)} {hit.page}"] * bool(hit.page)


def _pieces(hit: Hit, snippet: Snippet) -> list[tuple[str, str]]:
    """The best sentence with what follows it; an ellipsis where the text goes on, or begins within a sentence."""
    text = hit.text
    first, last = highlight.shown(text, snippet.begin)
    read = _apart(hit, text, markup.letters(text, hit.document))
    marked = highlight.pieces(read, (first, last), (snippet.start, snippet.end), snippet.words)
    before = [(highlight.AROUND, "… ")] if (first or hit.start > 0) and text[first : first + 1].islower() else []
    return [*before, *marked, *([(highlight.AROUND, " …")] if last < len(text) else [])]


def _apart(hit: Hit, text: str, letters: Sequence[str]) -> list[str]:
    """The letters with a dot between a heading and what follows it, for lines that run on."""
    lines = structure.lines(text, (0, len(text)), frozenset([hit.heading or ""]), hit.document)
    dots = {end for kind, _, end in lines if kind.startswith("h") and text[end + 1 : end + 2].strip()}
    dots |= {found.end() - 1 for found in _HEADING_ENDS.finditer(text)}
    return [" · " if at in dots else letter for at, letter in enumerate(letters)]
