"""Regular expressions over passages: matched by RE2, in a time that grows with the text alone, whatever the pattern."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import re2

from semsearch.errors import UsageError
from semsearch.utils.batches import batches
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.protocol import StoreReader
    from semsearch.types import Ids

LONGEST = 1000  # characters of a pattern
READ_AT_ONCE = 2000  # passages
MULTI_LINE = b"(?m)"  # RE2 has no option for it beside this


@lru_cache(maxsize=16)
def compiled(pattern: str) -> Any:
    """The pattern, over UTF-8; ^ and $ are the ends of lines. Raises UsageError."""
    if len(pattern) > LONGEST:
        raise UsageError(f"grep has {len(pattern):,} characters; {LONGEST:,} is the most.", "Use a shorter pattern.")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(MULTI_LINE + pattern.encode("utf-8", "surrogateescape"), options)
    except (re2.error, UnicodeError) as error:
        reason = "invalid Unicode"
        if isinstance(error, re2.error):  # which may repeat the pattern
            reason = error.args[0].replace(MULTI_LINE, b"", 1).decode("utf-8", "replace")
        raise UsageError(
            f"grep is no regular expression of RE2: {reason}.",
            "Write a \\ before a sign that stands for itself; RE2 has neither lookaround nor backreferences.",
        ) from None


def matching(reader: StoreReader, pattern: str, condition: Filter | None) -> Ids:
    """Ids, ascending, of the passages that match, of the documents that pass the filter. All of these are read."""
    search = compiled(pattern).search
    ids = reader.passage_ids(None if condition is None else reader.document_ids(condition))
    found = [
        passage.id
        for some in batches(ids.tolist(), READ_AT_ONCE)
        for passage in reader.passages(some)
        if search(_encoded(passage.text))
    ]
    return np.array(sorted(found), dtype=np.int64)


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every match in a text that is not empty."""
    encoded = _encoded(text)
    at, characters = 0, 0  # the end of the match before, in bytes and in characters
    for match in compiled(pattern).finditer(encoded):
        start, end = match.span()
        if start < end:
            first = characters + len(encoded[at:start].decode())
            at, characters = end, first + len(encoded[start:end].decode())
            yield first, characters


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # half of a surrogate pair becomes "?", one byte and one character
