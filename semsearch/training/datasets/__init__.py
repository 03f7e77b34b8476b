"""Training data of any form to Examples: folders of documents, lines of text, pairs, triplets, labelled pairs.

    notes/                     documents, as `index` reads them: their sentences, or passages
    wiki.txt, wiki.txt.xz      a text a line
    pairs.jsonl .csv .tsv      single texts, pairs, triplets, pairs with a score or a label, by the columns' names
    sts-train.csv              STS-B and SICK as SentEval has them

One bad record never ends it: it is left out and counted, with its reason and the first place. What a method needs out
of what there is, `fitted` makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from semsearch.errors import NotFound, UsageError
from semsearch.training.datasets import _columns, _documents, _rows
from semsearch.training.datasets._columns import ANCHOR
from semsearch.training.datasets._columns import told as roles
from semsearch.training.datasets._documents import Unit
from semsearch.training.datasets._tables import Table
from semsearch.training.datasets._tally import Tally
from semsearch.training.datasets.dataset import Examples
from semsearch.training.datasets.shapes import fitted, nli

__all__ = ["fitted", "nli", "of_texts", "read", "roles", "some"]


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    prefer: Literal["score", "label"] = "score",
    unit: Unit = "sentences",
    limit: int | None = None,
    yes: bool = False,
) -> Examples:
    """The examples at `path`: a folder, or a file of texts, pairs or triplets, plain or compressed.

    `columns`: role (anchor, positive, negative, score, label) -> name of a column, or its number where the file has no
    header; without it they are known by their names. `labels`: those of the file, the least alike first. `prefer`
    decides where a file has both a score and a label. `unit`: into what documents are cut. `limit`: at most so many
    examples, drawn by chance, the same ones every time. Raises NotFound, Unreadable, and UsageError where nothing in
    it can be used.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise NotFound(f"{path} does not exist.", "Check the spelling, or the folder you are in.")
    kind = _kind(place)
    kind = "table" if kind == "lines" and columns else kind
    tally = Tally()
    if kind == "documents" and columns:
        raise UsageError(f"{path} is read as documents, which have no columns.", "Leave out --columns.")
    if kind == "documents":
        found = _singles(_documents.texts(place, unit, tally, yes=yes), str(path), tally)
    elif kind == "lines":
        with _rows.opened(place) as file:
            numbered = ((f"{place.name}:{number}", line) for number, line in _rows.lines(file, place))
            found = _singles(numbered, str(path), tally)
    else:
        with _rows.opened(place) as file:
            rows = _rows.objects(file, place) if kind == "jsonl" else _rows.cells(file, place)
            table = Table(rows, place.name, str(path), columns or {}, prefer, tally)
            found = _singles(table.singles(), table.source, tally) if table.is_single else table.grouped(labels)
    if labels and found.labels is None:
        raise UsageError(f"{found.source} has no labels.", "Leave out --labels, or name their column: --columns")
    return found if limit is None else some(found, limit)


def of_texts(texts: Iterable[str], source: str, *, unit: Unit = "passages", limit: int | None = None) -> Examples:
    """Examples of single texts, such as the passages of an index; or of their sentences."""
    found = _singles((("", text) for text in _documents.parted(texts, unit)), source, Tally())
    return found if limit is None else some(found, limit)


def some(examples: Examples, limit: int) -> Examples:
    """At most `limit` of the examples in their order, drawn by chance, the same ones every time."""
    if limit >= len(examples):
        return examples
    drawn = np.random.default_rng(0).permutation(len(examples))[:limit]
    kept = examples.rows(np.sort(drawn).tolist())
    return Examples(kept.columns, kept.labels, examples.source, examples.skipped)


def _kind(path: Path) -> Literal["documents", "lines", "jsonl", "table"]:
    """What is at `path`, by its name, and by its first line where the name does not say it."""
    if path.is_dir():
        return "documents"
    suffix = _rows.suffix(path)
    if suffix in _rows.KINDS:
        return _rows.KINDS[suffix]
    if path.suffix.lower() not in _rows.PACKED and _documents.is_document(path):
        return "documents"
    with _rows.opened(path) as file:
        first = _rows.first_line(file, path)
    if first.startswith('{"') and first.endswith("}"):
        return "jsonl"
    row = first.split("\t")
    return "table" if len(row) > 1 and (_columns.known(row) or _columns.nameless(row)) else "lines"


def _singles(placed: Iterable[tuple[str, str]], source: str, tally: Tally) -> Examples:
    """Examples of one text each, every text once, out of (place, text)."""
    seen: dict[str, None] = {}
    for place, text in placed:
        stripped = text.strip()
        if not stripped:
            tally.skip("no text", place)
        elif stripped in seen:
            tally.skip("a text that was there already", place)
        else:
            seen[stripped] = None
    if not seen:
        raise tally.nothing(source)
    return Examples({ANCHOR: list(seen)}, source=source, skipped=tally.told)
