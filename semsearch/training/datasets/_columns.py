"""Which column of a table is what: texts that belong together, and how much or in which way they do.

A column is known by its name (letters' case, blanks, `_` and `-` do not matter), or is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from semsearch.errors import UnknownName, UsageError

ANCHOR, POSITIVE, NEGATIVE, SCORE, LABEL = "anchor", "positive", "negative", "score", "label"
TEXTS = (ANCHOR, POSITIVE, NEGATIVE)
ROLES = (*TEXTS, SCORE, LABEL)
ALSO = {"text": ANCHOR, "text1": ANCHOR, "text2": POSITIVE}  # other words for them in --columns

SINGLE = ("text", "sentence", "content", "body", "passage", "document", "abstract", "query", "question", "anchor")
_ASKED = ("anchor", "query", "question", "q")
_PAIRS = (  # names of the one and of the other text; the first line that fits counts
    ((*_ASKED, "text", "sentence"), ("positive", "pos", "positives")),
    (("sentence1",), ("sentence2",)),  # SNLI, MNLI, STS, GLUE
    (("sentencea",), ("sentenceb",)),  # SICK
    (("text1",), ("text2",)),
    (("sent0",), ("sent1",)),  # SimCSE's nli_for_simcse.csv
    (("question1",), ("question2",)),  # QQP
    (("1string",), ("2string",)),  # MRPC
    (("premise",), ("hypothesis",)),
    (("src", "source"), ("tgt", "trg", "target", "dst")),
    (("a",), ("b",)),
    (_ASKED, ("passage", "document", "context", "answer", "response", "text", "sentence", "content", "body")),
)
_NEGATIVE = ("negative", "neg", "negatives", "hardneg", "hardnegative")
_SCORE = ("score", "similarity", "sim", "relatednessscore", "similarityscore", "gold", "goldscore")
_LABEL = ("goldlabel", "label", "entailmentjudgment", "isduplicate", "quality")
STS = {ANCHOR: "6", POSITIVE: "7", SCORE: "5"}  # columns of STS-B's files, which have no header


def told(words: Iterable[str]) -> dict[str, str]:
    """Role -> column, out of `anchor=question,positive=answer`. Raises UsageError.

    >>> told(["anchor=question,positive=answer"])
    {'anchor': 'question', 'positive': 'answer'}
    """
    found: dict[str, str] = {}
    for part in (part for word in words for part in word.split(",")):
        role, equals, column = (each.strip() for each in part.partition("="))
        if not (role and equals and column):
            raise UsageError(f"--columns {part!r} names no column.", "Write --columns anchor=question,positive=answer")
        role = ALSO.get(role.lower(), role.lower())
        if role not in ROLES:
            raise UnknownName("kind of column", role, ROLES)
        if role in found:
            raise UsageError(f"--columns names two columns for {role}.", "Name one.")
        found[role] = column
    return found


def chosen(names: Sequence[str], wanted: Mapping[str, str], source: str) -> dict[str, str]:
    """Role -> column as `wanted`, in the spelling of `names`. Raises UsageError for a column that is not there."""
    spelled = {name.lower(): name for name in reversed(names)}
    for column in wanted.values():
        if column.lower() not in spelled:
            raise UsageError(f"{source} has no column {column!r}.", f"Its columns are: {_listed(names)}.")
    return _sensible({role: spelled[column.lower()] for role, column in wanted.items()}, source)


def known(names: Sequence[str]) -> dict[str, str]:
    """Role -> column, for names that say it; {} where none does.

    >>> known(["id", "Sentence_1", "Sentence_2", "score"])
    {'anchor': 'Sentence_1', 'positive': 'Sentence_2', 'score': 'score'}
    """
    plain = {_plain(name): name for name in reversed(names)}

    def first(among: Sequence[str]) -> str | None:
        return next((plain[each] for each in among if each in plain), None)

    found: dict[str, str | None] = {}
    for ones, others in _PAIRS:
        if (one := first(ones)) and (other := first(others)):
            found = {ANCHOR: one, POSITIVE: other, NEGATIVE: first(_NEGATIVE)}
            found |= {SCORE: first(_SCORE), LABEL: first(_LABEL)}
            break
    found = found or {ANCHOR: first(SINGLE)}
    return {role: name for role, name in found.items() if name}


def nameless(row: Sequence[str]) -> dict[str, str]:
    """Role -> column, counted from 1, where the first row is an example and no header; {} where it is a header."""
    if len(row) >= 7 and _is_number(row[4]):
        return STS
    if not any(_is_number(cell) or len(cell.split()) > 2 for cell in row) or len(row) > 3:
        return {}
    found = {ANCHOR: "1", POSITIVE: "2", NEGATIVE: "3"}
    if len(row) == 3 and (_is_number(row[2]) or len(row[2].split()) == 1):
        found = {ANCHOR: "1", POSITIVE: "2", (SCORE if _is_number(row[2]) else LABEL): "3"}
    return dict(list(found.items())[: len(row)])


def unknown(names: Sequence[str], source: str) -> UsageError:
    """The error where nobody said which column is what."""
    return UsageError(
        f"{source}: which of its columns are texts? They are: {_listed(names)}.",
        "Name them: --columns anchor=NAME,positive=NAME[,negative=NAME][,score=NAME], or anchor alone.",
    )


def _sensible(roles: dict[str, str], source: str) -> dict[str, str]:
    if ANCHOR not in roles or (POSITIVE not in roles and len(roles) > 1):
        lacking = ANCHOR if ANCHOR not in roles else POSITIVE
        raise UsageError(f"{source}: --columns says nothing of {lacking}.", f"Add {lacking}=NAME.")
    return {role: roles[role] for role in ROLES if role in roles}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)[:300] or "none"
