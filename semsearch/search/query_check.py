"""Checks of a query before the search, and its texts to encode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, get_args

from semsearch import search
from semsearch.errors import BadFilter, UnknownName, UsageError
from semsearch.types import Group, Mode, Query, QueryFields
from semsearch.utils.arguments import between, whole_number

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Where

LONGEST = 200_000  # characters of all texts of a query; an encoder reads some thousand of them at most
MOST_WORDS = 100  # of `must`: each is compared with all documents
WEIGHTS = 0.001, 1000.0  # beyond them, the other texts of a query or its own would count for nothing
QUOTES = frozenset('"“”„«»「」『』')
FIELDS = tuple(QueryFields.__annotations__)


def make_query(text: str | Query, fields: QueryFields) -> Query:
    """A query with these fields; a single text for a field of several counts as one text, not as letters.

    Raises UsageError for another type than text or Query, and for a field that a query does not have.
    """
    if not isinstance(text, str | Query):
        raise UsageError(f"a query is a text or a Query, not {text!r}.", 'For example: search("how do I …").')
    if isinstance(text, Query) and not fields:
        return text
    for name in set(fields).difference(FIELDS):
        raise UsageError(f"a search has no {name!r}.", f"It has: {', '.join(FIELDS)}.")
    changes: dict[str, object] = {name: value for name, value in fields.items() if name != "values"}
    where = written(fields.get("where"), fields.get("values"))
    if "where" in fields:
        changes["where"] = where
    for name in ("must", "like"):
        if name in changes:
            changes[name] = _several(changes[name])
    for name in ("more", "less"):
        if name in changes:
            changes[name] = tuple((one, 1.0) if isinstance(one, str) else one for one in _several(changes[name]))
    return replace(Query(text) if isinstance(text, str) else text, **changes)  # type: ignore[arg-type]  # checked above


def written(where: Where | None, values: Mapping[str, object] | None = None) -> str | None:
    """A filter as text of the filter language, with the values of its names. Raises BadFilter."""
    if where is None:
        if values:
            raise BadFilter("values are given without a filter.", "Pass them with one, such as `year > :year`.")
        return None
    if isinstance(where, str):
        return search.filter_text.bind(where, values or {})
    if values is not None:
        raise BadFilter("a structure has its values inside.", "Leave out values, or write the filter as text.")
    return search.filter_text.from_mapping(where)


def parse_filter(
    where: Where | None, path: str | None = None, values: Mapping[str, object] | None = None
) -> Filter | None:
    """A filter and a pattern for paths as one tree, None for neither. Raises BadFilter."""
    text = written(where, values)
    if text is None and path is None:
        return None
    return search.filter_parser.both(text, path)


def _several(value: object) -> tuple[object, ...]:
    """One value or several as a tuple; what cannot be either is refused by `check`."""
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else (value,)


def texts_to_encode(query: Query) -> list[tuple[str, float]]:
    """The texts of a query that need a vector, each with its weight."""
    if query.mode == "keyword":
        return []
    weighted = [(query.text, 1.0)] if query.text.strip() else []
    return [*weighted, *query.more, *((text, -weight) for text, weight in query.less)]


def check(query: Query, *, has_vector: bool = False) -> None:
    """Raises UsageError for a query that cannot be answered, with the remedy."""
    whole_number("k", query.k, command="For example: -k 10")
    whole_number("offset", query.offset, least=0)
    for name, value, choices in (("mode", query.mode, get_args(Mode)), ("group", query.group, get_args(Group))):
        if value not in choices:
            raise UnknownName(name, str(value), choices)
    for name, text in (("text", query.text), ("where", query.where or ""), ("path", query.path or "")):
        if not isinstance(text, str):
            raise UsageError(f"{name} must be a string, not {text!r}.", "Put it in quotes.")
    if query.grep is not None:
        if not isinstance(query.grep, str) or not query.grep:
            raise UsageError(f"grep must be a regular expression, not {query.grep!r}.", "Leave it out for none.")
        search.passage_patterns.compiled(query.grep)
    if not isinstance(query.exact, bool):
        raise UsageError(f"exact must be True or False, not {query.exact!r}.")
    if query.alpha is not None:
        between("alpha", query.alpha, 0, 1, "1 uses only the cosine, 0 only the words.")
    between("the minimum strength", query.min_strength, 0, 1, "Try 0.9.")
    check_abstain(query)
    check_parts(query)
    _check_reranking(query)
    letters = len(query.text) + sum(map(len, query.must)) + sum(len(text) for text, _ in (*query.more, *query.less))
    if letters > LONGEST:
        raise UsageError(
            f"the query has {letters:,} characters; {LONGEST:,} is the most.",
            "To find what is like a long text, save it to a file and pass like=FILE.",
            "To find what is like a long text, save it to a file and use --like FILE.",
        )
    blank = not query.text.strip() or (not QUOTES.isdisjoint(query.text) and not any(map(str.isalnum, query.text)))
    if blank and not (query.more or query.like or has_vector):
        raise UsageError("the query is empty.", "Pass a text to search for.")
    if query.mode == "keyword" and blank and not query.more:
        raise UsageError("a keyword search needs words.", "Pass a text, or use the semantic mode.")


def check_abstain(query: Query) -> None:
    """Raises UsageError for an `abstain` that is no share."""
    fix = "It is a share of questions without an answer here: 0.05 for one in 20."
    between("abstain", query.abstain, 0.001, 0.5, fix)


def check_parts(query: Query) -> None:
    """Raise UsageError for what cannot be in `more`, `less`, `must` and `like`."""
    for name, parts in (("more", query.more), ("less", query.less)):
        for part in parts:
            if not _is_weighted(part):
                fix = 'For example: "diesel", or [["diesel", 0.5]].'
                weights = "a weight from {:g} to {:,.0f}".format(*WEIGHTS)
                raise UsageError(
                    f"{name} takes texts, each alone or with {weights}, not {_shown(part)}.",
                    fix,
                    f'For example: --{name} "diesel^0.5".',
                )
    if len(query.must) > MOST_WORDS:
        raise UsageError(
            f"must has {len(query.must):,} words; {MOST_WORDS} is the most.", "Leave the others to the text."
        )
    for word in query.must:
        if not isinstance(word, str):
            raise UsageError(f"must takes words, not {word!r}.", 'Write must=["diesel"].')
    for example in query.like:
        if not isinstance(example, str | int) or isinstance(example, bool):
            raise UsageError(f"like takes ids of passages or documents, or paths of files, not {example!r}.")


def _check_reranking(query: Query) -> None:
    """Raise UsageError for a reranker, a depth or a weight that cannot be, and for a query without a text to read."""
    whole_number("rerank_depth", query.rerank_depth, command="For example: --rerank-depth 30")
    between("the weight of the reranker", query.rerank_weight, 0, 1, "1 orders by the reranker alone.")
    if query.rerank is None:
        return
    if isinstance(query.rerank, str):
        is_reranker = bool(query.rerank.strip())
    else:
        is_reranker = all(hasattr(query.rerank, member) for member in ("name", "fingerprint", "score"))
    if not is_reranker:
        raise UsageError(f"rerank takes a reranker or its name, not {query.rerank!r}.", 'Write rerank="default".')
    if not query.text.strip():
        raise UsageError(
            "a reranker reads the hits together with the text of the query, and this query has none.",
            "Pass a text, or leave out rerank.",
            "Pass TEXT, or leave out --rerank.",
        )


def _shown(part: object) -> str:
    return f"{list(part) if isinstance(part, tuple) else part!r:.60}"


def _is_weighted(part: object) -> bool:
    """Whether `part` is a text with a weight."""
    if not isinstance(part, tuple | list) or len(part) != 2:
        return False
    text, weight = part
    return (
        isinstance(text, str)
        and bool(text.strip())
        and isinstance(weight, Real)
        and WEIGHTS[0] <= float(weight) <= WEIGHTS[1]
    )
