"""Rows of documents and passages: texts with their words, as the full-text indexes and the filters see them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import machine_recipes
from semsearch.stores.entry_checks import furniture, keywords
from semsearch.stores.lance.client import Arrow
from semsearch.stores.lance.facts import facts, typed_fields
from semsearch.stores.lance.table import Row, vector_column
from semsearch.stores.records import Entry, Source, meta_hash, packed_marks, stable_id, text_hash, to_json
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import has_cjk
from semsearch.stores.sql.rows import notes_value
from semsearch.stores.sql.tokenizer import GRAMS, WORDS, Tokens, cut

if TYPE_CHECKING:
    from semsearch.types import Metadata, Vectors

KEYWORDS = "\x01"  # between the words of the text and those of its place
OF_FILES = ("root", "path", "mtime", "loader", "machine")


def document_key(uri: str) -> str:
    return f"d:{uri}"


def of_file(source: Source) -> Row:
    """What documents and passages have of their file."""
    name = machine_recipes.name()
    return {
        "root": source.root,
        "path": source.path,
        "mtime": source.mtime_ns,
        "loader": source.loader,
        "machine": name,
    }


def source_row(source: Source, number: int) -> Row:
    values = {"size": source.size, "sha256": source.sha256, "value": notes_value(source)}
    return {"key": f"s:{number}", "kind": "source", "source": number, **values, **of_file(source)}


def of_metadata(title: str | None, metadata: Metadata) -> Row:
    """What documents and passages have of title and metadata."""
    packed = to_json(dict(metadata))
    plain = json.loads(packed)
    return {"title": title, "metadata": packed, "fields": json.dumps(typed_fields(plain)), "facts": facts(plain)}


def of_entries(
    entries: Sequence[Entry], files: Mapping[int, Row], numbers: Sequence[int], ids: Sequence[int], space: int
) -> Iterator[Row]:
    """The rows of documents that get these numbers, and of their passages, which get these ids."""
    of_ids, texts, passages = iter(ids), [], []
    for entry, number in zip(entries, numbers, strict=True):
        document, last = entry.document, set(furniture(entry.document, entry.passages))
        size = len(document.text.encode())
        shared = {"document": document.id, "number": number, "source": entry.source, "size": size}
        shared |= {**of_metadata(document.title, document.metadata), **files.get(entry.source or 0, {})}
        yield {
            "key": document_key(document.id), "kind": "document", "text": document.text, "lines": document.lines,
            "sha256": text_hash(document.text), "meta_sha256": meta_hash(document.title, document.metadata),
            "marks": packed_marks(document.marks), "count": len(entry.passages), **shared,
        }  # fmt: skip
        for position, (part, vector) in enumerate(zip(entry.passages, entry.vectors, strict=True)):
            own = next(of_ids)
            texts.append((own, part.text, keywords(document, part)))
            passages.append({
                "key": f"p:{own}", "kind": "passage", "id": own, "position": position, "starts": part.start,
                "ends": part.end, "page": part.page, "line": part.line, "heading": part.heading, "text": part.text,
                "stable_id": stable_id(document.id, position, part.text), "furniture": position in last or None,
                "spaces": [space], vector_column(space): half(vector), **shared,
            })  # fmt: skip
    for row, found in zip(passages, words_of(texts), strict=True):
        yield row | found


def half(vector: Vectors) -> Arrow:
    """A vector as it is stored."""
    return np.asarray(vector, dtype=np.float16)


# ---- words


def words_of(passages: Sequence[tuple[int, str, str]]) -> Iterator[Row]:
    """The columns `words` and `grams` of passages: (id, text, keywords), with ascending ids.

    Each is a row of terms between spaces, the trigrams before the pairs and the single letters of CJK runs.
    """
    rows = [(number, fold(text), fold(more)) for number, text, more in passages]
    cjk = {number: text.partition("\0")[0].lower() for number, text, _ in rows if has_cjk(text)}
    with Tokens((number, text, more, int(number in cjk)) for number, text, more in rows) as tokens:
        words, grams = (_terms(tokens, kind) for kind in (WORDS, GRAMS))
    for number, *_ in rows:
        own, more = (words[number, column] for column in ("text", "keywords"))
        letters = [*grams[number, "text"], *_short(cjk[number])] if number in cjk else None
        yield {"words": spaced([*own, KEYWORDS, *more]), "grams": None if letters is None else spaced(letters)}


def spaced(terms: Iterable[str]) -> str:
    """Terms as they stand in a column, and as a part of one."""
    return f" {' '.join(map(_one, terms))} "


def _one(term: str) -> str:
    """A term without the white space that trigrams may have."""
    return "".join("\u2423" if letter.isspace() else letter for letter in term)


def _terms(tokens: Tokens, kind: int) -> defaultdict[tuple[int, str], list[str]]:
    """(passage, column) -> its terms in order."""
    terms: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for number, column, term, _ in sorted(tokens.places(kind), key=lambda place: (place[0], place[1], place[3])):
        terms[number, column].append(term)
    return terms


def _short(text: str) -> Iterator[str]:
    """The pairs and single letters with CJK letters."""
    for size in (2, 1):
        for at in range(len(text) - size + 1):
            if has_cjk(gram := text[at : at + size]):
                yield gram


def terms_of(kind: int, phrase: str) -> list[str]:
    """The terms of a word, a phrase or a run of letters, as they stand in a column."""
    return [_one(term) for term in ([phrase.lower()] if kind == GRAMS and len(phrase) < 3 else cut(kind, phrase))]
