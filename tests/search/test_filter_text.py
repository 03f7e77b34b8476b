"""Promises of filters from values and structures: the tree of the filter that one would have written by hand."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import BadFilter
from semsearch.search.filter_parser import parse
from semsearch.search.filter_text import bind, from_mapping
from semsearch.stores.filters import BUILTINS, Compare, Field, fields

TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
KEYS = st.text(st.characters(categories=("L", "N"), include_characters="_- '"), min_size=1, max_size=12).filter(
    lambda key: key not in BUILTINS  # these are properties of every document
)


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        ({"lang": "en"}, "lang = 'en'"),
        ({"year": {"$gt": 2020}, "lang": "en"}, "year > 2020 and lang = 'en'"),
        ({"year": {"$gte": 1, "$lt": 3.5}}, "year >= 1 and year < 3.5"),
        ({"$or": [{"a": 1}, {"b": {"$in": ["x", "it's"]}}]}, "(a = 1) or (b in ('x', 'it''s'))"),
        ({"$and": [{"a": True}, {"b": {"$nin": [1, 2]}}]}, "a = true and b not in (1, 2)"),
        ({"$not": {"a": {"$exists": True}}}, "not (a exists)"),
        ({"a": {"$exists": False}}, "a not exists"),
        ({"a": {"$not": {"$gt": 3}}}, "not (a > 3)"),
        ({"a": {"$ne": None}}, "a != null"),
        ({"author.name": "Ada"}, "author.name = 'Ada'"),
        ({"tags": {"$contains": "garden"}}, "tags contains 'garden'"),
        ({"path": {"$like": "notes/%"}, "title": {"$eq": "T"}}, "path like 'notes/%' and title = 'T'"),
        ({"date": {"$gte": date(2024, 1, 31)}}, "date >= 2024-01-31"),
        ({"seen": {"$lt": datetime(2024, 1, 31, 10, 30)}}, "seen < 2024-01-31T10:30:00"),
        ({"zip": "01234"}, "zip = '01234'"),
        (
            {"$metadata": {"page": 3, "$or": [{"title": "T"}, {"a.b": 1}]}},
            """"page" = 3 and ("title" = 'T' or a.b = 1)""",
        ),
        ({"$not": {"$metadata": {"path": "x"}}, "page": 1}, """not "path" = 'x' and page = 1"""),
    ],
)
def test_a_structure_is_the_filter_that_it_spells(structure: dict[str, object], text: str) -> None:
    assert parse(from_mapping(structure)) == parse(text)


def test_names_in_a_filter_stand_for_their_values() -> None:
    bound = bind(
        "year > :year and lang in :langs and note = ':year' and at < 10:30", {"year": 3, "langs": ("en", "de")}
    )
    assert parse(bound) == parse("year > 3 and lang in (en, de) and note = ':year' and at < 10:30")


@given(KEYS, TEXTS)
def test_no_value_and_no_key_is_ever_read_as_part_of_the_filter(key: str, value: str) -> None:
    expected = Compare(Field((key,)), "=", value)
    assert parse(from_mapping({key: value})) == expected
    assert [node for _, node in fields(parse(bind("x = :v", {"v": value})))] == [Compare(Field(("x",)), "=", value)]


@given(st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_its_value(number: float) -> None:
    (compared,) = [node for _, node in fields(parse(from_mapping({"n": number})))]
    assert isinstance(compared, Compare) and compared.value == number


@pytest.mark.parametrize(
    "wrong",
    [{}, {"a": {}}, {"a": {"$foo": 1}}, {"$foo": [1]}, {"$or": []}, {"$or": {"a": 1}}, {"a": {"$in": "text"}},
     {"a": {"$in": []}}, {"a": float("nan")}, {"a": float("inf")}, {"a": b"x"}, {"a": ["x"]}, {"": 1}, {"$not": 3}],
)  # fmt: skip
def test_a_structure_that_is_none_is_refused_with_what_would_do(wrong: dict[str, object]) -> None:
    with pytest.raises(BadFilter) as refused:
        from_mapping(wrong)
    assert refused.value.fix


@pytest.mark.parametrize(("text", "values"), [("a = :b", {}), ("a = 1", {"b": 1}), ("a = :b", {"b": object()})])
def test_names_and_values_have_to_match(text: str, values: dict[str, object]) -> None:
    with pytest.raises(BadFilter):
        bind(text, values)
