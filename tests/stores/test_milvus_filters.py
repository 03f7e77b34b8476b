"""Filters as Milvus expressions: no text of a user is part of one unless it is plain, whatever it is."""

from __future__ import annotations

import re

import pytest
from helpers.filter_model import trees
from hypothesis import given
from hypothesis import strategies as st

from semsearch.stores.filters import Compare, Contains, Date, Exists, Field, Filter, In, Not
from semsearch.stores.milvus.filtering import facts
from semsearch.stores.milvus.filtering.expressions import compiled
from semsearch.stores.milvus.server.tables import among

_LITERAL = re.compile(r'"[^"\\]*"')
_OUTSIDE = re.compile(r"[a-z_ ()\[\].,<>=&0-9-]*")
hostile = st.text(max_size=20) | st.sampled_from(['" or id > 0 or "', "\\", "x' OR 1=1 --", "\0", "é\n", "a.b", "~"])
fields = st.lists(hostile, min_size=1, max_size=2).map(lambda names: Field(tuple(names)))
leaves = st.one_of(
    st.builds(Compare, fields, st.sampled_from(["=", "<", ">="]), hostile),
    st.builds(In, fields, st.lists(hostile, min_size=1, max_size=3).map(tuple)),
    st.builds(Contains, fields, hostile),
    st.builds(Exists, fields),
)


@given(leaves | trees)
def test_an_expression_has_plain_literals_and_nothing_else_of_the_user(tree: Filter) -> None:
    pair = compiled(tree, lambda _: False)
    for expression in pair or ():
        assert all(facts.is_plain(literal[1:-1]) for literal in _LITERAL.findall(expression))
        assert _OUTSIDE.fullmatch(_LITERAL.sub("", expression)), expression


@pytest.mark.parametrize(
    "tree",
    [
        Compare(Field(("k",)), "=", 'a"b'),
        Compare(Field(("k\\",)), "=", "a"),
        Compare(Field(("k",)), "=", "x" * 200),
        Compare(Field(("k",)), "=", 2**60),
        Compare(Field(("k",)), "=", 1e-9),
        Contains(Field(("k",)), "it's"),
    ],
)
def test_what_an_expression_cannot_say_is_left_to_us(tree: Filter) -> None:
    assert compiled(tree, lambda _: False) is None
    assert compiled(Not(tree), lambda _: False) is None


def test_a_part_of_a_text_is_left_to_us_only_where_there_are_texts() -> None:
    tree = Contains(Field(("tags",)), "x")
    assert compiled(tree, lambda token: token == "s.tags") is None
    assert compiled(tree, lambda _: False) == (
        'array_contains(tokens, "l.tags=s=x")',
        'not array_contains(tokens, "l.tags=s=x")',
    )


def test_a_negated_comparison_holds_where_the_value_is_missing() -> None:
    pair = compiled(Compare(Field(("year",)), "<", 2000), lambda _: False)
    assert pair is not None
    assert pair.yes == '(array_contains(tokens, "n.year") and facts["n.year"] < 2000.0)'
    assert pair.no == '(not array_contains(tokens, "n.year") or facts["n.year"] >= 2000.0)'


def test_a_date_is_compared_with_the_whole_of_its_month() -> None:
    pair = compiled(Compare(Field(("seen",)), "=", Date("2024-09")), lambda _: False)
    assert pair is not None
    assert 'facts["d.seen"] >= "2024-09" and facts["d.seen"] < "2024-0:"' in pair.yes


def test_a_document_with_too_many_values_is_marked() -> None:
    tokens, known = facts.of({f"key{at}": "x" * 100 for at in range(facts.MOST_TOKENS)}, {})
    assert (tokens, known) == ([facts.OVERFLOW], {})


def test_lists_of_keys_are_cut_where_they_are_long() -> None:
    conditions = among("key", [f"{at:032x}" for at in range(1_200)])
    assert [condition.count('"') // 2 for condition in conditions] == [500, 500, 200]
    assert among("id", []) == []
