from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.filter_model import random_metadata, trees
from helpers.opened import reader_of
from helpers.smallstore import filled, names
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import BadFilter, UnknownName
from semsearch.search.filter_parser import parse
from semsearch.search.query_check import parse_filter
from semsearch.stores.filters import And, Compare, Contains, Exists, Filter, In, Like, Not, Or, PathGlob
from semsearch.stores.local import LocalWriter, open_reader
from semsearch.types import Document
from semsearch.utils import globs

DAY_NS = 1_706_659_200 * 10**9  # 2024-01-31 00:00 UTC
FIXED = {
    "notes/a.md": {"year": 2019, "lang": "en", "tags": ["red", "Blue", 3], "author": {"name": "Ada", "born": 1815}},
    "notes/deep/b.md": {"year": 2021.5, "lang": "de", "draft": True, "date": "2024-01-31T10:30:00", "at_page": 4},
    "notes/c.txt": {"year": "2021", "lang": "EN", "tags": "redwood", "draft": False, "date": "2024-02-01"},
    "d.md": {"year": None, "lang": "en", "author": "Bob"},
    "odd [x]*?.md": {},
}


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    documents = [Document(name, f"text of {name}", meta, title=name[:1].upper()) for name, meta in FIXED.items()]
    with filled(tmp_path_factory.mktemp("filters") / "fixed", documents, mtime_ns=DAY_NS + 12 * 3600 * 10**9) as made:
        yield made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    documents = [Document(name, "text", meta) for name, meta in random_metadata(60).items()]
    with filled(tmp_path_factory.mktemp("filters") / "drawn", documents) as made:
        yield made


def allowed(store: LocalWriter, where: str | None, path: str | None) -> np.ndarray | None:
    """The passages that pass a filter, parsed and compiled."""
    found = reader_of(store).allowed(parse_filter(where, path))
    return None if found is None else found.ids


def passing(store: LocalWriter, where: str | None = None, path: str | None = None) -> list[str]:
    ids = allowed(store, where, path)
    assert ids is not None and ids.tolist() == sorted(ids.tolist())
    return names(store, ids)


# ---- the language; what its trees mean is a promise of every store, in contracts/test_stores


def written(tree: Filter) -> str:
    """A tree as a person would write it."""
    match tree:
        case And(parts):
            return "(" + " and ".join(map(written, parts)) + ")"
        case Or(parts):
            return "(" + " or ".join(map(written, parts)) + ")"
        case Not(part):
            return f"not ({written(part)})"
        case PathGlob(pattern):
            return f"path ~ {literal(pattern)}"
    name = ".".join('"' + part.replace('"', '""') + '"' for part in tree.field.names)
    match tree:
        case Exists():
            return f"{name} exists"
        case In(_, wanted):
            return f"{name} in ({', '.join(map(literal, wanted))})"
        case Like(_, pattern):
            return f"{name} LIKE {literal(pattern)}"
        case Contains(_, one):
            return f"{name} contains {literal(one)}"
        case Compare(_, op, value):
            return f"{name}{op}{literal(value)}"
    raise AssertionError(tree)


def literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower()


@given(trees)
def test_a_tree_that_is_written_down_is_read_back(tree: Filter) -> None:
    assert parse(written(tree)) == tree


@given(st.text(max_size=40))
def test_any_text_is_a_filter_or_a_bad_filter(store: LocalWriter, where: str) -> None:
    try:
        allowed(store, where, None)
    except (BadFilter, UnknownName):
        return


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_what_stands_in_a_value_is_never_sql(store: LocalWriter, text: str) -> None:
    for where in (f"lang = {literal(text)}", f"lang in ({literal(text)})", f"lang contains {literal('q;' + text)}"):
        assert set(passing(store, where)) <= set(map(str, range(60)))
    assert store.reader.state().documents == 60


# ---- by example

A, B, C, D, ODD = FIXED


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("year > 2020", [B]),
        ("year >= 2019", [A, B]),
        ("year = '2021'", [C]),
        ("year != 2019", [B, C]),
        ("year between 2000 and 2020", [A]),
        ("year not between 2000 and 2020", [B, C]),
        ("not year exists", [D, ODD]),
        ("year not exists", [D, ODD]),
        ("year = null", [D, ODD]),
        ("year is not null", [A, B, C]),
        ("lang = en", [A, D]),
        ("lang in (en, 'EN')", [A, C, D]),
        ("lang not in (en)", [B, C]),
        ("lang in (null, de)", [B, ODD]),
        ("not lang = en", [B, C, ODD]),
        ("lang like 'e%'", [A, C, D]),
        ("lang ~ 'e?'", [A, C, D]),
        ("tags contains red", [A, C]),
        ("tags contains blue", []),
        ("tags contains Blue", [A]),
        ("tags contains 3", [A]),
        ("tags not contains red", []),
        ("draft = true", [B]),
        ("draft != true", [C]),
        ("author.name = Ada", [A]),
        ("author.born < 1900 and lang=en", [A]),
        ("author = Bob", [D]),
        ("date >= 2024-02", [C]),
        ("date = 2024-01-31 and year exists", [A, B]),
        ('"date" = 2024-01-31', [B]),
        ('"date" < 2024-01-31T11:00', [B]),
        ('"date" >= 2024-01-31 and "date" < 2024-02-01', [B]),
        ("page = 4", [B]),
        ("page > 2 or lang = en", [A, B, D]),
        ("title = N", [A, B, C]),
        ("path = d.md", [D]),
        ("document = 'd.md'", [D]),
        ("loader = text and size > 10 and size < 15", [D]),
        ("path ~ notes/", [A, B, C]),
        ("path ~ '*.md' and not path ~ 'notes/**'", [D, ODD]),
        ("path like 'notes/%.md'", [A, B]),
        ("year > 2020 && lang = de || lang = EN", [B, C]),
        ("lang = en or lang = de and year > 3000", [A, D]),
        ("(lang = en or lang = de) and year > 2020", [B]),
        ("YEAR exists", []),
        ("nothing exists", []),
        ("not nothing exists", [A, B, C, D, ODD]),
    ],
)
def test_operators_mean_what_the_docstring_says(fixed: LocalWriter, where: str, expected: list[str]) -> None:
    assert passing(fixed, where) == expected


def test_a_day_is_all_of_it_on_this_computers_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path / "one", [Document("a", "text")], mtime_ns=DAY_NS + 10**9) as store:
        try:
            for zone, day in {"UTC0": "2024-01-31", "EST5": "2024-01-30"}.items():  # POSIX: EST5 is five hours behind
                monkeypatch.setenv("TZ", zone)
                time.tzset()
                for test in (f"mtime = {day}", f"date >= {day}", f"date <= {day}", "mtime = 2024-01", "date = 2024"):
                    assert passing(store, test) == ["a"], (zone, test)
                for test in (f"mtime < {day}", f"date > {day}", f"not mtime = {day}"):
                    assert passing(store, test) == [], (zone, test)
        finally:
            monkeypatch.undo()
            time.tzset()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("", "empty"),
        ("year", "incomplete after 'year'. Expected an operator"),
        ("year => 2020", "Did you mean `>=`?"),
        ("year equals 2020", "character 6: year ⟨equals⟩ 2020. Expected an operator. Did you mean `=`?"),
        ("lang lik 'e%'", "Did you mean `like`?"),
        ("lang = new york", "needs quotes"),
        ("year >", "Expected a value"),
        ("(year = 1", "Expected a closing parenthesis"),
        ("year = 1)", "⟨)⟩. Expected `and`, `or` or the end|⟨)⟩. Expected the end"),
        ("year in 5", "Expected a list in parentheses"),
        ("year in ()", "Expected a value"),
        ("= 5", "Expected a field"),
        ("lang = 'open", "Expected a value"),
        ("mtime > yesterday", "expected a date"),
        ("date = 2024-02-30", "expected a date"),
        ("size = big", "size is a number"),
        ("year < null", "nothing is larger or smaller"),
        ("draft > true", "no order"),
        ("year = 1e999", "too large"),
        ("size like 'x'", "not for size"),
        ("lang ~ ''", "a pattern has"),
        ("year = 1 \0", "NUL"),
        ("lang = \ud800", "surrogate"),
        (" or ".join(["year = 1"] * 200), "more than 100"),
        ("not (year = 1 and " * 300 + "year = 1" + ")" * 300, "more than 100"),
        ("x" * 200_000, "characters"),
        ("path ~ '**/**/**/**/a'", "more than 3"),
    ],
)
def test_a_bad_filter_says_in_one_line_what_was_expected(fixed: LocalWriter, where: str, said: str) -> None:
    with pytest.raises(BadFilter) as caught:
        allowed(fixed, where, None)
    message = str(caught.value)
    assert any(part in message for part in said.split("|")), message
    assert "\n" not in message and len(message) < 400
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("deep", ["(" * 5000 + "year = 2019" + ")" * 5000, "not " * 10_000 + "year = 2019"])
def test_depth_alone_is_no_danger(fixed: LocalWriter, deep: str) -> None:
    assert passing(fixed, deep) == [A]


def test_a_long_list_is_one_parameter(fixed: LocalWriter) -> None:
    assert passing(fixed, f"year in ({', '.join(map(str, range(3000)))})") == [A]


def test_a_key_that_no_document_has_is_a_slip_of_the_pen(fixed: LocalWriter) -> None:
    with pytest.raises(UnknownName, match=r"'yaer'.*Did you mean 'year'"):
        passing(fixed, "lang = en and not yaer > 2000")
    with pytest.raises(UnknownName, match=r"author\.nmae"):
        passing(fixed, "author.nmae = Ada")


def test_an_empty_index_knows_no_unknown_key(tmp_path: Path) -> None:
    with filled(tmp_path / "none", []) as store:
        assert passing(store, "whatever = 5") == []


def test_without_a_filter_all_may_pass(fixed: LocalWriter) -> None:
    assert allowed(fixed, None, None) is None


def test_a_filter_works_inside_a_readers_snapshot(fixed: LocalWriter) -> None:
    with open_reader(fixed.connection.folder) as reader, reader.snapshot():
        running = reader.connection.raw.execute("SELECT id FROM documents")
        running.fetchone()
        assert [passing(reader, "lang = de", "notes/**") for _ in range(2)] == [[B], [B]]


# ---- paths


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.md", ["a.md", "x/y/a.md"], ["a.mdx", "a.md/b"]),
        ("notes", ["notes", "notes/a", "x/notes/y/z"], ["notes2/a", "my-notes/a"]),
        ("notes/", ["notes/a", "x/notes/y"], ["notes", "notes2/a"]),
        ("/notes", ["notes/a", "notes"], ["x/notes/a"]),
        ("./notes/a.md", ["notes/a.md"], ["x/notes/a.md"]),
        ("notes/*", ["notes/a"], ["notes/a/b", "x/notes/a", "notes"]),
        ("notes/*.md", ["notes/a.md", "notes/.md"], ["notes/x/a.md"]),
        ("notes/**", ["notes/a", "notes/a/b"], ["notes"]),
        ("notes/**/*.md", ["notes/a.md", "notes/x/y/a.md"], ["a.md", "notes/a.txt"]),
        ("**/a.md", ["a.md", "x/y/a.md"], ["xa.md"]),
        ("**", ["a", "a/b"], []),
        (".", ["a", "a/b"], []),
        ("a?c", ["abc", "x/aéc"], ["ac", "a/c"]),
        ("[ab]c", ["ac", "bc"], ["cc", "c"]),
        ("[!ab]c", ["cc"], ["ac", "/c"]),
        ("[a-c]1", ["b1"], ["d1"]),
        ("[z-a]", ["[z-a]"], ["z"]),
        ("a[", ["a["], ["a"]),
        ("a+(b).{2}^$|", ["a+(b).{2}^$|"], ["aab"]),
        ("a\\d", ["a\\d"], ["a1"]),
        ("notes/a*b*c", ["notes/aXbYc", "notes/abc"], ["notes/ab/c", "notes/acb"]),
        ("A.md", ["A.md"], ["a.md"]),
    ],
)
def test_path_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not globs.matches(pattern, path)] == []
    assert [path for path in no if globs.matches(pattern, path)] == []


def test_a_full_path_is_matched_with_its_folder(fixed: LocalWriter) -> None:
    assert passing(fixed, path="/notes/notes/deep") == [B]
    assert passing(fixed, path="/notes/d.md") == [D]
    assert passing(fixed, path="/elsewhere/d.md") == []


def test_a_strange_name_can_be_written_as_it_is(fixed: LocalWriter) -> None:
    assert passing(fixed, path="odd*") == [ODD]
    assert passing(fixed, path="odd [[]x]*") == [ODD]


def test_path_and_where_both_have_to_hold(fixed: LocalWriter) -> None:
    assert passing(fixed, "lang = en", "notes") == [A]


@pytest.mark.parametrize("pattern", ["", "a\0", "\udcff", "/".join(["**"] * 5), "a" * (globs.LONGEST + 1)])
def test_a_path_pattern_that_is_none_is_refused(fixed: LocalWriter, pattern: str) -> None:
    with pytest.raises(BadFilter):
        passing(fixed, path=pattern)


@pytest.mark.parametrize("piece", ["[", "[a", "[!]", "]", "[a]", "*a", "?", "**/a/", "**/", "a/", "\\\\", "{"])
def test_a_pattern_is_compiled_and_compared_in_time_that_grows_with_its_length(
    monkeypatch: pytest.MonkeyPatch, piece: str
) -> None:
    monkeypatch.setattr(globs, "LONGEST", 10**5)
    monkeypatch.setattr(globs, "MOST_STARS", 10**5)
    took = {}
    for letters in (10**4, 10**5):
        began = time.thread_time()
        globs.matches((piece * letters)[:letters], "/".join(["a" * 60] * 60))
        took[letters] = time.thread_time() - began
    assert took[10**5] < 40 * took[10**4] + 0.5, took


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/a/**/a/**/b", "a/" * 2000 + "c"),
        ("**/a*/**/a*/**/b*", "a/" * 2000 + "c"),
        ("*a*a*a*a*b", "a" * 4000),
        ("**/" + "a/" * 200 + "**/b", "a/" * 2000 + "c"),
        ("*a" * 200 + "b", "/".join(["a" * 60] * 60)),
        ("?" * 500 + "*" * 500, "/".join(["a" * 60] * 60)),
    ],
)
def test_a_hostile_pattern_takes_no_time(pattern: str, path: str) -> None:
    began = time.thread_time()
    assert not globs.matches(pattern, path)
    assert time.thread_time() - began < 0.5


def test_folders_between_folders_are_found_wherever_they_fit() -> None:
    assert globs.matches("a/**/b/c/**/d/**/e.md", "a/b/x/b/c/c/d/d/x/e.md")
    assert globs.matches("**/b/**/b/**", "b/b/b")
    assert not globs.matches("a/**/b/c/**/d/**/e.md", "a/b/x/c/d/e.md")
    assert not globs.matches("**/b/**/b/**", "b/b")


@given(st.text(alphabet="ab*?[]!-^\\/.|&~", max_size=12), st.text(alphabet="ab/.[", max_size=10))
def test_no_pattern_breaks_the_matcher(pattern: str, path: str) -> None:
    try:
        globs.matches(pattern, path, "/root")
    except BadFilter:
        assert not pattern or pattern.split("/").count("**") > globs.MOST_STARS


def test_the_language_costs_nothing_where_there_is_no_filter() -> None:
    import subprocess
    import sys

    code = "import sys, semsearch.stores.local.filtering.filter_sql; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def test_a_repeated_filter_follows_every_change(tmp_path: Path) -> None:
    with filled(tmp_path / "notes", [Document("a", "one", {"x": 1}), Document("b", "two", {"x": True})]) as store:
        assert passing(store, "x = 1") == passing(store, "x = 1") == ["a"]
        assert passing(store, "x = true") == ["b"]  # in Python, True == 1
        with store.transaction():
            store.revise("b", metadata={"x": 1}, title=None)
            assert passing(store, "x = 1") == ["a", "b"]
        assert passing(store, "x = 1") == ["a", "b"]
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.delete(["a"])
            assert passing(store, "x = 1") == ["b"]
            raise ZeroDivisionError
        assert passing(store, "x = 1") == ["a", "b"]
        store.delete(["b"])
        assert passing(store, "x = 1") == ["a"]


def test_the_ids_of_a_filter_are_kept_until_a_commit(tmp_path: Path) -> None:
    with filled(tmp_path / "notes", [Document("a", "one", {"x": 1})]) as store:
        once = allowed(store, "x = 1", None)
        assert once is not None and allowed(store, "x = 1", None) is once and not once.flags.writeable
        store.delete(["a"])
        assert allowed(store, "x = 1 or x exists", None) is not once
