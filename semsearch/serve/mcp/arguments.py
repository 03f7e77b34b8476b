"""The arguments of the tools. Their descriptions are all that an assistant knows of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from semsearch.serve.bodies import WHOLE, Body, Glob, Name, Several
from semsearch.serve.bodies import Where as Condition
from semsearch.stores.entry_checks import LONGEST_TEXT
from semsearch.types import JsonObject, Mode

MOST_HITS = 50
MOST_LISTED = 100
MOST_WRITTEN = 100
Index = Annotated[
    Name | None,
    Field(description="Name of the index, as list_indexes gives it. May be left out where there is only one."),
]
Where = Annotated[
    Condition | None,
    Field(
        description="Only documents that pass this filter, for example: year > 2020 and lang in (en, de). Comparisons: "
        "= != < <= > >= in between like contains exists, joined by and, or, not. Fields: those of the metadata, which "
        "index_status lists, and path, document, title, heading, page, date, size. Or an object such as "
        '{"year": {"$gt": 2020}}.'
    ),
]
Offset = Annotated[
    int, Field(ge=0, le=100_000), WHOLE, Field(description="Results to leave out: next_offset of the answer before.")
]
PassageOrDocument = Annotated[
    Annotated[int, WHOLE] | Annotated[str, Field(min_length=1, max_length=4096)],
    Field(description="A passage: its number, `id` of a hit. A document: its name, `document` of a hit."),
]


class Page(Body):
    """Which results are wanted."""

    index: Index = None
    limit: Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE] = Field(10, description="Results at most.")
    offset: Offset = 0


class Search(Page):
    """A search."""

    query: Annotated[str, Field(min_length=1, max_length=10_000)] = Field(
        description="What is looked for, in plain words: a question, a statement or keywords, in any language that "
        "the documents have."
    )
    mode: Mode = Field(
        "hybrid",
        description="hybrid: by meaning and by words, best for most. semantic: by meaning alone. "
        "keyword: by words alone, for names, codes and exact terms.",
    )
    where: Where = None
    path: Glob | None = Field(
        None, description="Only documents whose path matches this glob, for example notes/**/*.md"
    )
    must: Annotated[list[Name], Several] = Field([], max_length=20, description="Words that a passage has to contain.")
    grep: str | None = Field(
        None, max_length=1000, description="A regular expression (RE2) that a passage has to match."
    )


class Similar(Page):
    """What something is compared with."""

    id: PassageOrDocument
    where: Where = None
    path: Glob | None = Field(None, description="Only documents whose path matches this glob.")


class Get(Body):
    """What is read."""

    index: Index = None
    id: PassageOrDocument
    start: Annotated[int, Field(ge=0), WHOLE] = Field(
        0, description="Character of the text to begin at: next_start of the answer before."
    )


class ListIndexes(Body):
    """Which indexes are wanted."""

    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), WHOLE] = Field(50, description="Indexes at most.")
    offset: Offset = 0


class Status(Body):
    """The index that is asked about."""

    index: Index = None
    offset: Offset = 0


class NewDocument(Body):
    """A document."""

    id: Annotated[str, Field(min_length=1, max_length=4096)] = Field(description="Its name, unique in the index.")
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] = Field(description="Its text, plain or Markdown.")
    metadata: JsonObject = Field({}, description="Fields to filter by: texts, numbers, true, false, lists of texts.")
    title: Name | None = None


class Add(Body):
    """Documents to add."""

    index: Index = None
    documents: Annotated[list[NewDocument], Several] = Field(min_length=1, max_length=MOST_WRITTEN)


class Update(Body):
    """A document, and what changes."""

    index: Index = None
    id: Annotated[str, Field(min_length=1, max_length=4096)] = Field(description="Name of the document.")
    metadata: JsonObject | None = Field(None, description="Fields to set; null removes one. Others stay.")
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = Field(None, description="The new text.")


class Delete(Body):
    """Documents to delete."""

    index: Index = None
    ids: Annotated[list[Name], Several] = Field(
        min_length=1, max_length=MOST_WRITTEN, description="Names of documents."
    )
