"""The bodies of requests: their fields are those of the Python calls that answer them."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from semsearch.search.filter_text import LONGEST as LONGEST_FILTER
from semsearch.search.query_check import LONGEST
from semsearch.types import Document, Group, JsonObject, Mode, Query, Role
from semsearch.utils import globs

MOST_HITS = 1000
MOST_EXAMPLES = 1000
MOST_FIELDS = 100  # of an object that has fields of its own
MOST_QUERIES = 1000
PLAIN = Query()
ONE, MANY = "one query", "many queries"
Text = Annotated[str, Field(max_length=LONGEST)]
Name = Annotated[str, Field(max_length=4096)]
Several = Field(fail_fast=True)  # of a list: the errors of a hundred thousand items would take seconds
Examples = Field(max_length=MOST_EXAMPLES)
Weighted = Text | Annotated[tuple[Text, float], Field(strict=False, description="A text and its weight.")]
Weights = Annotated[list[Weighted], Several, Examples]


def _filters(value: object) -> object:
    r"""A structure is as long as a filter in words at most: the loop that serves all requests writes it as one.

    Half of a pair of surrogates, as "\ud83d" in JSON, is no character: no answer could repeat it.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)
        written.encode()
    except UnicodeEncodeError:
        raise ValueError("a text has an unpaired surrogate, which is no character") from None
    if len(written) > LONGEST_FILTER:
        raise ValueError(f"it has {len(written):,} characters; {LONGEST_FILTER:,} is the most")
    return value


Structure = Annotated[JsonObject, AfterValidator(_filters)]
Where = Annotated[str, Field(max_length=LONGEST_FILTER)] | Structure
Glob = Annotated[str, Field(max_length=globs.LONGEST)]


def _whole(value: object) -> object:
    """JSON has one kind of number: 10.0 is 10."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)  # after the limits, which would be missing in the OpenAPI otherwise

Passage = Annotated[int, WHOLE]


class Body(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, fields: object) -> object:
        """Each unknown one is an error of its own, and ten thousand errors take seconds."""
        if isinstance(fields, dict) and len(fields) > MOST_FIELDS:
            raise ValueError(f"there are {len(fields):,} fields; {MOST_FIELDS} is the most")
        return fields


class HitFields(Body):
    """The fields of a query that select hits."""

    k: Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE] = Field(10, description="Number of hits.")
    where: Where | None = Field(None, description="A filter: text, or a structure (docs/filters.md).")
    values: Structure | None = Field(None, description="Values of the names in the text of the filter.")
    path: Glob | None = Field(None, description="Only documents whose path matches this glob.")
    min_strength: float = Field(0.0, ge=0, le=1)
    abstain: float = Field(
        PLAIN.abstain,
        ge=0.001,
        le=0.5,
        description="Of questions without an answer, the share that may get a good match.",
    )
    group: Group = "document"
    exact: bool = False
    offset: Annotated[int, Field(ge=0, le=100_000), WHOLE] = Field(
        0, description="Hits to leave out: the second page of ten has offset 10."
    )


class QueryBody(HitFields):
    """A query."""

    text: Text = ""
    mode: Mode = "hybrid"
    alpha: float | None = Field(None, ge=0, le=1, description="Weight of meaning against words in hybrid search.")
    more: Weighted | Weights = Field([], description="Texts that pull the query towards a meaning.")
    less: Weighted | Weights = Field([], description="Texts that push it away.")
    must: Text | Annotated[list[Text], Several, Examples] = Field(
        [], description="Words that a passage has to contain."
    )
    grep: str | None = Field(None, max_length=1000, description="A regular expression (RE2) for passages.")
    like: Passage | Name | Annotated[list[Passage | Name], Several, Examples] = Field(
        [], description="Ids of passages or documents."
    )
    rerank: Name | None = Field(None, description="The reranker of the server, by its name or as default.")
    rerank_depth: Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE] = PLAIN.rerank_depth
    rerank_weight: float = Field(PLAIN.rerank_weight, ge=0, le=1)


def _few(queries: object) -> object:
    """Checked before each of them is, which takes seconds for some ten thousand."""
    if isinstance(queries, list) and len(queries) > MOST_QUERIES:
        raise ValueError(f"there are {len(queries):,}; {MOST_QUERIES:,} is the most")
    return queries


class ManyQueries(Body):
    """Several queries at once."""

    queries: Annotated[list[QueryBody], Several, BeforeValidator(_few)] = Field(min_length=1, max_length=MOST_QUERIES)


def _number_of_queries(body: object) -> str:
    """Which of the two bodies of a search this is, so that an error speaks of that one."""
    return MANY if isinstance(body, ManyQueries) or (isinstance(body, dict) and "queries" in body) else ONE


SearchBody = Annotated[
    Annotated[QueryBody, Tag(ONE)] | Annotated[ManyQueries, Tag(MANY)], Discriminator(_number_of_queries)
]


class SimilarBody(HitFields):
    """What is to be compared: the id of a passage (a number) or of a document (a text)."""

    id: Passage | Name


class DocumentBody(Body):
    """A document."""

    id: str = Field(min_length=1, max_length=4096)
    text: str
    metadata: JsonObject = {}
    title: str | None = None

    def document(self) -> Document:
        return Document(self.id, self.text, self.metadata, self.title)


class AddBody(Body):
    """Documents to add; one with the same id, also in this request, is replaced."""

    documents: Annotated[list[DocumentBody], Several] = Field(min_length=1)


class UpdateBody(Body):
    """What changes: keys of the metadata (null removes one), and the text."""

    metadata: JsonObject | None = None
    text: str | None = None


class DeleteBody(Body):
    """Which documents are deleted: those of `ids`, or those that pass `where`."""

    ids: Annotated[list[Name], Several] | None = None
    where: Where | None = None
    values: Structure | None = None


class EmbedBody(Body):
    """Texts to encode."""

    texts: Annotated[list[Text], Several] = Field(min_length=1)
    role: Role = "passage"
    model: Name | None = None


class StsBody(Body):
    """Pairs of texts to compare."""

    pairs: Annotated[list[Annotated[list[Text], Several, Field(min_length=2, max_length=2)]], Several] = Field(
        min_length=1
    )
    model: Name | None = None


class RerankBody(Body):
    """Passages to read together with a query."""

    query: Text = Field(min_length=1)
    passages: Annotated[list[Text], Several] = Field(min_length=1)
