"""A search as a table in SQL: Python's SQLite has no functions that are one, so the statement is rewritten."""

from __future__ import annotations

import re
from collections.abc import Sequence

from semsearch.errors import UsageError

SEARCH = "semsearch_search"
COLUMNS = ("rank", "id", "document", "score", "strength", "match", "path", "line", "page", "heading", "text")
TOKEN = re.compile(  # what is not closed goes on to the end, as in SQLite
    r"""'(?:[^']|'')*+'?|"(?:[^"]|"")*+"?|`[^`]*+`?|\[[^\]]*+\]?|--[^\n]*|/\*(?:(?!\*/).)*+(?:\*/)?|\w+|\S""", re.DOTALL
)


def as_table(statement: str) -> str:
    """The statement with each `FROM semsearch_search(…)` made a table: the elements of a JSON array.

    >>> as_table("SELECT id FROM semsearch_search('tea', 3) s").count("json_each(semsearch_search('tea', 3)) ")
    1
    >>> as_table("SELECT 'FROM semsearch_search(1)' -- FROM semsearch_search(1)")
    "SELECT 'FROM semsearch_search(1)' -- FROM semsearch_search(1)"
    >>> as_table("[" * 500_000) == "[" * 500_000  # read once
    True
    """
    columns = ", ".join(f"value ->> '{name}' AS {name}" for name in COLUMNS)
    pieces, done, before = [], 0, ""
    tokens = [token for token in TOKEN.finditer(statement) if not token[0].startswith(("--", "/*"))]
    for at, token in enumerate(tokens):
        if token[0].casefold() == SEARCH and before in ("from", "join") and token.start() >= done:
            end = _closing(tokens[at + 1 :])
            call = statement[token.start() : end]
            pieces += [statement[done : token.start()], f"(SELECT {columns} FROM json_each({call}) ORDER BY key)"]
            done = end
        before = token[0].casefold()
    return "".join([*pieces, statement[done:]])


def _closing(tokens: Sequence[re.Match[str]]) -> int:
    """The end of the bracket that the first token opens. Raises UsageError where there is none."""
    depth = 0
    for token in tokens:
        depth += (token[0] == "(") - (token[0] == ")")
        if not depth:
            if token[0] == ")":
                return token.end()
            break
    raise UsageError(f"{SEARCH} has no closing bracket.", f"For example: FROM {SEARCH}('diesel', 10)")
