"""Roles of the columns of a table: related texts, and a score or label of their relation.

A column is recognised by its name (case, spaces, `_` and `-` do not matter), or named by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from semsearch.errors import UnknownName, UsageError
from semsearch.training.datasets.dataset import ANCHOR, NEGATIVE, POSITIVE

SCORE, LABEL = "score", "label"
TEXTS = (ANCHOR, POSITIVE, NEGATIVE)
ROLES = (*TEXTS, SCORE, LABEL)
ALIASES = {"text": ANCHOR, "text1": ANCHOR, "text2": POSITIVE}  # of roles in --columns

SINGLE = ("text", "sentence", "content", "body", "passage", "document", "abstract", "query", "question", "anchor")
_QUERY = ("anchor", "query", "question", "q")
_PAIRS = (  # names of the first and the second text; the first match counts
    ((*_QUERY, "text", "sentence"), ("positive", "pos", "positives")),
    (("sentence1",), ("sentence2",)),  # SNLI, MNLI, STS, GLUE
    (("sentencea",), ("sentenceb",)),  # SICK
    (("text1",), ("text2",)),
    (("sent0",), ("sent1",)),  # SimCSE's nli_for_simcse.csv
    (("question1",), ("question2",)),  # QQP
    (("1string",), ("2string",)),  # MRPC
    (("premise",), ("hypothesis",)),
    (("src", "source"), ("tgt", "trg", "target", "dst")),
    (("a",), ("b",)),
    (_QUERY, ("passage", "document", "context", "answer", "response", "text", "sentence", "content", "body")),
)
_NEGATIVE = ("negative", "neg", "negatives", "hardneg", "hardnegative")
_SCORE = ("score", "similarity", "sim", "relatednessscore", "similarityscore", "gold", "goldscore")
_LABEL = ("goldlabel", "label", "entailmentjudgment", "isduplicate", "quality")
STS = {ANCHOR: "6", POSITIVE: "7", SCORE: "5"}  # of STS-B's files, which have no header


def parse_columns(words: Iterable[str]) -> dict[str, str]:
    """Role -> column of texts like `anchor=question,positive=answer`. Raises UsageError.

    >>> parse_columns(["anchor=question,positive=answer"])
    {'anchor': 'question', 'positive': 'answer'}
    """
    roles: dict[str, str] = {}
    for part in (part for word in words for part in word.split(",")):
        role, equals, column = (each.strip() for each in part.partition("="))
        if not (role and equals and column):
            raise UsageError(
                f"{part!r} names no column.",
                'For example: "anchor=question,positive=answer".',
                "For example: --columns anchor=question,positive=answer",
            )
        role = ALIASES.get(role.lower(), role.lower())
        if role not in ROLES:
            raise UnknownName("kind of column", role, ROLES)
        if role in roles:
            raise UsageError(f"two columns are named for {role}.", "Name one.")
        roles[role] = column
    return roles


def resolve(names: Sequence[str], named: Mapping[str, str], source: str) -> dict[str, str]:
    """Role -> column as `named`, in the spelling of `names`. Raises UsageError for an unknown column."""
    spelled = {name.lower(): name for name in reversed(names)}
    for column in named.values():
        if column.lower() not in spelled:
            raise UsageError(f"{source} has no column {column!r}.", f"Its columns are: {listed(names)}.")
    missing = ANCHOR if ANCHOR not in named else POSITIVE if len(named) > 1 else ""
    if missing and missing not in named:
        raise UsageError(f"{source}: no column is named for {missing}.", f"Add {missing}=NAME.")
    return {role: spelled[named[role].lower()] for role in ROLES if role in named}


def recognise(names: Sequence[str]) -> dict[str, str]:
    """Role -> column, for recognised names; {} where there is none.

    >>> recognise(["id", "Sentence_1", "Sentence_2", "score"])
    {'anchor': 'Sentence_1', 'positive': 'Sentence_2', 'score': 'score'}
    """
    plain = {_plain(name): name for name in reversed(names)}

    def first(among: Sequence[str]) -> str | None:
        return next((plain[each] for each in among if each in plain), None)

    roles: dict[str, str | None] = {}
    for ones, others in _PAIRS:
        if (one := first(ones)) and (other := first(others)):
            roles = {ANCHOR: one, POSITIVE: other, NEGATIVE: first(_NEGATIVE)}
            roles |= {SCORE: first(_SCORE), LABEL: first(_LABEL)}
            break
    roles = roles or {ANCHOR: first(SINGLE)}
    return {role: name for role, name in roles.items() if name}


def without_header(row: Sequence[str]) -> dict[str, str]:
    """Role -> column number, from 1, where the first row is an example; {} where it is a header."""
    numeric = [number(cell) is not None for cell in row]
    if len(row) >= 7 and numeric[4]:
        return STS
    if len(row) > 3 or (not any(numeric) and all(len(cell.split()) <= 2 for cell in row)):
        return {}
    third = NEGATIVE
    if len(row) == 3 and (numeric[2] or len(row[2].split()) == 1):
        third = SCORE if numeric[2] else LABEL
    return dict(zip((ANCHOR, POSITIVE, third), ("1", "2", "3")[: len(row)], strict=False))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)[:300] or "none"
