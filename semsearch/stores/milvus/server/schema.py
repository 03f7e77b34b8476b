"""The collections of an index, and their columns.

    semsearch_catalogue     one row for each index of the database: its name, its id, how its collections begin
    …_documents             what a document is, and the ids of its passages; one that none of them names is no one's
    …_passages              texts and words
    …_space_N               the vectors of one encoder
    …_meta                  schema version, recipe, spaces, files, runs, the writers, and parts of long values

`…` is semsearch_NAME_ID: the name as far as Milvus allows it, which may change later, and the first digits of the id.
The alias …_vectors stands for the space that searches use. Milvus wants a vector in each collection, so those without
have the same short one in every row.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pymilvus import CollectionSchema

VERSION = 1
CATALOGUE = "semsearch_catalogue"
NO_VECTOR = [1.0, 0.0]
WIDEST = 65_535  # bytes of a VARCHAR
MOST_WORDS = 4_096  # different ones of a passage that are found
LONGEST_WORD = 64  # bytes
LONGEST_TOKEN = 1_024  # bytes
MOST_TOKENS = 1_100


class Column(NamedTuple):
    name: str
    type: str  # of pymilvus.DataType
    size: int = 0
    items: int = 0  # of an array
    primary: bool = False


_FILTERED = (Column("tokens", "VARCHAR", LONGEST_TOKEN, MOST_TOKENS), Column("facts", "JSON"))
_KEY = Column("key", "VARCHAR", 64, primary=True)
_ID = Column("id", "INT64", primary=True)
_NOTHING = Column("nothing", "FLOAT_VECTOR", 2)
_DOCUMENT = Column("document", "VARCHAR", 64)

NAMED = (_KEY, Column("data", "VARCHAR", WIDEST), _NOTHING)
META = (_KEY, Column("kind", "VARCHAR", 16), Column("number", "INT64"), Column("place", "VARCHAR", 64), *NAMED[1:])
DOCUMENTS = (
    _KEY,
    Column("number", "INT64"),
    Column("source", "INT64"),
    Column("size", "INT64"),
    Column("passages", "INT64"),
    Column("sha256", "VARCHAR", 64),
    Column("meta_sha256", "VARCHAR", 64),
    Column("head", "VARCHAR", WIDEST),
    Column("body", "VARCHAR", WIDEST),
    *_FILTERED,
    _NOTHING,
)
PASSAGES = (
    _ID,
    _DOCUMENT,
    Column("position", "INT64"),
    Column("length", "INT64"),
    Column("characters", "INT64"),
    Column("data", "VARCHAR", WIDEST),
    Column("words", "VARCHAR", LONGEST_WORD, MOST_WORDS),
    *_FILTERED,
    _NOTHING,
)


def space(dim: int) -> tuple[Column, ...]:
    """The columns of the vectors of one encoder."""
    return (_ID, _DOCUMENT, *_FILTERED, Column("vector", "FLOAT_VECTOR", dim))


def prefix(name: str, index_id: str) -> str:
    """How the collections of an index begin."""
    return f"semsearch_{re.sub(r'[^A-Za-z0-9]', '_', name)[:40]}_{index_id[:16]}"


def prefix_of(index_id: str) -> re.Pattern[str]:
    """What matches how the collections of an index begin, whatever its name was."""
    return re.compile(rf"semsearch_[A-Za-z0-9_]{{0,40}}_{re.escape(index_id[:16])}(?=_)")


def schema(columns: tuple[Column, ...]) -> CollectionSchema:
    """The schema of a collection, in pymilvus's form."""
    from pymilvus import DataType, MilvusClient

    made = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for column in columns:
        kind = DataType[column.type]
        options: dict[str, Any] = {}
        if column.items:
            options |= {"element_type": kind, "max_capacity": column.items}
            kind = DataType.ARRAY
        if column.type == "VARCHAR":
            options["max_length"] = column.size
        if column.type == "FLOAT_VECTOR":
            options["dim"] = column.size
        made.add_field(column.name, kind, is_primary=column.primary, **options)
    return made
