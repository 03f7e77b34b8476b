"""Reading of training data: folders of documents, lines of text, pairs, triplets, labelled pairs.

    notes/                     documents, as `index` reads them: their sentences, or passages
    wiki.txt, wiki.txt.xz      one text per line
    pairs.jsonl .csv .tsv      single texts, pairs, triplets, pairs with a score or a label, by the columns' names
    sts-train.csv              STS-B and SICK in SentEval's formats

A bad record does not stop the reading: it is skipped and counted, with the reason and the first place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from semsearch.chunking.sentences import sentences
from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import loaders, walk
from semsearch.documents.suffixes import BY_LOADER
from semsearch.errors import NotFound, Unreadable, UsageError
from semsearch.stores import drivers
from semsearch.training.datasets import _rows
from semsearch.training.datasets import columns as table_columns
from semsearch.training.datasets._tables import Prefer, Table
from semsearch.training.datasets.dataset import ANCHOR, Dataset, SkipCounts
from semsearch.types import Document, Skipped
from semsearch.utils.languages.writing_systems import EAST_ASIAN

Granularity = Literal["sentences", "passages"]
PASSAGE = Splitter(size=128)  # words: about 192 tokens of English, as in an index
MIN_LETTERS = 8  # of a sentence: shorter ones are list numbers, rules between paragraphs, single words
_WORD = re.compile(rf"[{EAST_ASIAN}]|[^\W_]+")
_LINES = (".txt", ".text", "")  # corpora with one text per line


def read_dataset(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    prefer: Prefer = "score",
    granularity: Granularity = "sentences",
    max_samples: int | None = None,
    yes: bool = False,
) -> Dataset:
    """The dataset at `path`: a folder, or a file of texts, pairs or triplets, plain or compressed.

    `columns`: role (anchor, positive, negative, score, label) -> name of a column, or its number in a file without a
    header; by default columns are recognised by their names. `labels`: the labels in the file, from least to most
    similar. `prefer` decides where a file has both a score and a label. `granularity`: how documents are split.
    `max_samples`: the size of a random sample, always the same. `yes` allows a whole disk. Raises NotFound, Unreadable,
    and UsageError where no example can be used.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise NotFound(f"{path} does not exist.", "Check the spelling, or the folder you are in.")
    kind = _kind(place)
    kind = "table" if kind == "lines" and columns else kind
    skipped = SkipCounts()
    if kind == "documents" and columns:
        raise UsageError(
            f"{path} is read as documents, which have no columns.", "Name no columns.", "Leave out --columns."
        )
    if kind == "documents":
        dataset = _single_texts(_document_texts(place, granularity, skipped, yes=yes), str(path), skipped)
    elif kind == "lines":
        with _rows.open_file(place) as file:
            numbered = ((f"{place.name}:{number}", line) for number, line in _rows.lines(file, place))
            dataset = _single_texts(numbered, str(path), skipped)
    else:
        with _rows.open_file(place) as file:
            rows = _rows.objects(file, place) if kind == "jsonl" else _rows.cells(file, place)
            table = Table(rows, place.name, str(path), columns or {}, prefer, skipped)
            single = table.is_single
            dataset = _single_texts(table.singles(), table.source, skipped) if single else table.grouped(labels)
    if labels and dataset.labels is None:
        raise UsageError(
            f"{dataset.source} has no labels.",
            "Name their column, or none.",
            "Leave out --labels, or name their column: --columns",
        )
    return dataset if max_samples is None else dataset.subsample(max_samples)


def dataset_of_texts(
    texts: Iterable[str], source: str, *, granularity: Granularity = "passages", max_samples: int | None = None
) -> Dataset:
    """A dataset of single texts, such as the passages of an index, or of their sentences."""
    if granularity == "sentences":
        texts = (sentence for text in texts for sentence in _split(Document("", text), granularity))
    dataset = _single_texts((("", text) for text in texts), source, SkipCounts())
    return dataset if max_samples is None else dataset.subsample(max_samples)


def _kind(path: Path) -> Literal["documents", "lines", "jsonl", "table"]:
    """The format of `path`, by its name, or by its first line where the name does not decide."""
    if path.is_dir():
        return "documents"
    suffix = _rows.suffix(path)
    if suffix in _rows.KINDS:
        return _rows.KINDS[suffix]
    if path.suffix.lower() not in _rows.COMPRESSED and _is_document(path):
        return "documents"
    with _rows.open_file(path) as file:
        first = _rows.first_line(file, path)
    if first.startswith('{"') and first.endswith("}"):
        return "jsonl"
    row = first.split("\t")
    return "table" if len(row) > 1 and (table_columns.recognise(row) or table_columns.without_header(row)) else "lines"


def _single_texts(placed: Iterable[tuple[str, str]], source: str, skipped: SkipCounts) -> Dataset:
    """A dataset of the distinct texts among (place, text)."""
    seen: dict[str, None] = {}
    for place, text in placed:
        stripped = text.strip()
        if not stripped:
            skipped.add("no text", place)
        elif stripped in seen:
            skipped.add("a duplicate text", place)
        else:
            seen[stripped] = None
    if not seen:
        raise skipped.nothing_left(source)
    return Dataset({ANCHOR: list(seen)}, source=source, skipped=skipped.as_dict())


def _is_document(path: Path) -> bool:
    """Whether a file is read as `index` does; otherwise it has one text per line. Raises Unreadable."""
    suffix = path.suffix.lower()
    return loaders.loader_for(path) != "text" or (suffix in BY_LOADER["text"] and suffix not in _LINES)


def _document_texts(
    root: Path, granularity: Granularity, skipped: SkipCounts, *, yes: bool = False
) -> Iterator[tuple[str, str]]:
    """(path, text) of all that `index` would read at `root`. Raises GuardRail for a whole disk, unless `yes`."""
    walk.guard(root, None, yes=yes)
    for entry in walk.files(root, walk.Rules(), drivers.exists):
        if isinstance(entry, Skipped):
            skipped.add(entry.reason, entry.path)
            continue
        try:
            for document in loaders.load(entry.path):
                if isinstance(document, Skipped):
                    skipped.add(document.reason, document.path)
                else:
                    yield from ((entry.relative, text) for text in _split(document, granularity))
        except (Unreadable, UsageError) as error:
            skipped.add(error.message, entry.relative)


def _split(document: Document, granularity: Granularity) -> Iterator[str]:
    """The sentences of a document, their lines joined, or its passages. Sentences with few letters are left out."""
    if granularity == "passages":
        yield from (passage.text for passage in passages(document, PASSAGE, _words))
        return
    for start, end in sentences(document.text):
        text = " ".join(document.text[start:end].split())
        if sum(map(str.isalnum, text)) >= MIN_LETTERS:
            yield text


def _words(pieces: Sequence[str]) -> list[int]:
    return [len(_WORD.findall(piece)) for piece in pieces]
