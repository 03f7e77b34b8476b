"""Hits as files: Markdown, CSV that runs in no spreadsheet, JSON, and references in the form of BibTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import tables
from ..shared.messages import escaped
from . import card
from .results import IndexHit

KINDS = {"Markdown": "md", "CSV": "csv", "JSON": "json", "BibTeX": "bib"}  # label and suffix
TYPES = {"md": "text/markdown", "csv": "text/csv", "json": "application/json", "bib": "application/x-bibtex"}
_SPECIAL = re.compile(r"[\\{}%$&#_~^]")
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def written(kind: str, hits: Sequence[tuple[int, IndexHit]], question: str) -> str:
    """Hits, each with its rank, as the text of a file of this suffix."""
    records = [card.record(rank, each) for rank, each in hits]
    if kind == "json":
        return json.dumps(records, ensure_ascii=False, indent=1)
    if kind == "csv":
        return tables.to_csv(records, card.COLUMNS)
    if kind == "bib":
        return "\n".join(_reference(each) for _, each in hits)
    return "\n".join([f"# {escaped(question)}\n", *(_quoted(rank, each) for rank, each in hits)])


def _quoted(rank: int, each: IndexHit) -> str:
    """A passage as a quotation of Markdown, in which no mark of its own counts."""
    lines = "\n".join(f"> {escaped(line)}" for line in visible(card.text(each.hit)).split("\n"))
    return f"{rank}. {escaped(card.citation(each))}\n\n{lines}\n"


def _reference(each: IndexHit) -> str:
    """A document as an entry of BibTeX, with the place and the text of the passage as its note."""
    hit, data = each.hit, each.hit.metadata
    fields: JsonObject = {
        "title": card.title(each),
        "author": data.get("author") or data.get("authors"),
        "year": data.get("year") or str(data.get("date") or "")[:4],
        "howpublished": hit.path,
        "pages": hit.page,
        "note": f"Line {hit.line}" if hit.line else "",
        "annote": " ".join(card.text(hit).split()),
    }
    rows = [f"  {name} = {{{_tex(value)}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{semsearch{hit.id},", *rows, "}", ""])


def _tex(value: object) -> str:
    text = " and ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _SPECIAL.sub(lambda match: _TEX.get(match[0], f"\\{match[0]}"), visible(" ".join(text.split())))
