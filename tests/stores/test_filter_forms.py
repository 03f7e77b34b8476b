"""A comparison of metadata with one value has a fast form: it lets through what walking through the JSON does."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import pytest

from semsearch.stores.filters import Compare, Exists, Field
from semsearch.stores.local.filtering import filter_sql
from semsearch.stores.records import to_json
from semsearch.stores.sql import filters

KEYS = ["year", "a b", "é", "a.b", "$", "[0]", "", 'odd "key"', "back\\slash", "new\nline"]
VALUES: list[Any] = [
    *(0, -0.0, 0.0, 1, 1.0, -3, 3, 30, 3.5, 2**53, 10**15, 10**16, 1e16, 1e-7, 0.1 + 0.2, 2**62),
    *(True, False, None, "", "0", "3", "true", "null", "a", "A", "ab", 'a"b', "a\\", "é", "日本", "\n", "100%"),
    *([], [3], ["a"], {}, {"year": 3}, {"é": "a"}, '{"year":3}', "[3]"),
]


def made(count: int) -> list[dict[str, Any]]:
    chance = random.Random(11)

    def value(depth: int) -> Any:
        if depth and chance.random() < 0.4:
            return {key: value(depth - 1) for key in chance.sample(KEYS, 3)}
        return chance.choice(VALUES)

    return [{key: value(2) for key in chance.sample(KEYS, 4)} for _ in range(count)]


DOCUMENTS = made(300)


@pytest.fixture(scope="module")
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, metadata TEXT NOT NULL)")
    connection.executemany("INSERT INTO documents (metadata) VALUES (?)", [(to_json(one),) for one in DOCUMENTS])
    return connection


def compiled(database: sqlite3.Connection, tree: Compare | Exists) -> filters.SQL:
    return filters.compiled(filter_sql.SqliteFilters(database), tree)


def passing(database: sqlite3.Connection, condition: str, values: list[Any]) -> list[tuple[int, int]]:
    """(id, 0 or 1) of every document; NULL, which NOT would not negate, is an error."""
    rows = database.execute(f"SELECT id, {condition} FROM documents d ORDER BY id", values).fetchall()
    assert {found for _, found in rows} <= {0, 1}
    return rows


def test_both_forms_of_a_comparison_let_through_the_same(database: sqlite3.Connection) -> None:
    chance, through = random.Random(5), 0
    wanted = [one for one in VALUES if isinstance(one, str | int | float)]
    for value in wanted:
        for op in ("=", "<", "<=", ">", ">="):
            names = tuple(chance.choices(KEYS, k=chance.choice([1, 1, 2])))
            tree = Compare(Field(names), op, value)
            found = passing(database, *compiled(database, tree))
            assert found == passing(database, *filter_sql._walked(tree.field, tree)), (tree, chance)
            through += sum(one for _, one in found)
    assert through > 200


def test_both_forms_of_a_test_for_a_key_let_through_the_same(database: sqlite3.Connection) -> None:
    for names in [(key,) for key in KEYS] + [(key, other) for key in KEYS for other in KEYS]:
        tree = Exists(Field(names))
        found = passing(database, *compiled(database, tree))
        assert found == passing(database, *filter_sql._walked(tree.field, tree)), names


def test_equal_values_are_found_in_every_document_that_has_them(database: sqlite3.Connection) -> None:
    for value in [one for one in VALUES if isinstance(one, str | int | float)]:
        for key in KEYS:
            tree = Compare(Field((key,)), "=", value)
            right = [any(is_equal(each, value) for each in listed(one.get(key))) for one in DOCUMENTS]
            assert [bool(one) for _, one in passing(database, *compiled(database, tree))] == right, tree


def listed(value: object) -> list[object]:
    """The items of a list, or the value alone."""
    return value if isinstance(value, list) else [value]


def is_equal(one: object, other: object) -> bool:
    """Whether two JSON values are equal: true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
