"""Postings on disk: which passages have a frequent term, and how often, in segments of up to 65,536 passages.

Passages are sealed in the order of their ids; a passage's place in its segment is its number there. The rows in
`postings` of each term that is in `frequent_terms` cover all segments. A row has its passages as a bitmap, or as 16-bit
places where they take less room, and in `counts` the pairs (place, number) of those that have the term more than once.
That is 1 to 2 bytes a posting.

Removed passages stay in their segment until it is written again, and are listed in `postings_gone`.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from semsearch.stores.local.database.sqlite import Damaged
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids

MOST_COUNTED = 2**16 - 1

Row: TypeAlias = tuple[int, bytes, bytes, int]  # segment, places, counts, crc
Places: TypeAlias = "NDArray[np.int64]"  # of passages among all that are sealed, or in one segment


@dataclass(frozen=True, slots=True)
class Sealed:
    """The passages of segments, in order.

    ids (n,) ascending; tokens (n,): as `passages_fts` counts them; characters (n,), 0 without CJK letters; `parts`:
    number of a segment -> the places of its passages.
    """

    ids: Ids
    tokens: Sizes
    characters: Sizes
    parts: dict[int, range]
    stamp: tuple[tuple[int, int], ...]  # changes with any segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A row of the table `segments`: ids, tokens and characters (n,) of its passages."""

    number: int
    ids: Ids
    tokens: Sizes
    characters: Sizes

    def row(self) -> tuple[object, ...]:
        first, last = int(self.ids[0]), int(self.ids[-1])
        ids = b"" if last - first + 1 == len(self.ids) else self.ids.astype("<i8").tobytes()
        packed = ids, _packed(self.tokens), _packed(self.characters)
        return self.number, first, last, len(self.ids), *packed, segment_crc(self.number, first, last, *packed)


def segment_crc(number: int, first: int, last: int, ids: bytes, tokens: bytes, characters: bytes) -> int:
    """CRC-32 of a row of the table `segments`."""
    start = zlib.crc32(f"{number} {first} {last} {len(ids)} {len(tokens)}\0".encode())
    return zlib.crc32(characters, zlib.crc32(tokens, zlib.crc32(ids, start)))


def posting_crc(segment: int, kind: int, term: str, places: bytes, counts: bytes) -> int:
    """CRC-32 of a row of the table `postings`."""
    return zlib.crc32(counts, zlib.crc32(places, zlib.crc32(f"{segment} {kind} {len(places)} {term}\0".encode())))


def stamp(connection: sqlite3.Connection) -> tuple[tuple[int, int], ...]:
    """Number and checksum of every segment."""
    return tuple(connection.execute("SELECT number, crc FROM segments ORDER BY number"))


def load(connection: sqlite3.Connection, numbers: Sequence[int] = ()) -> Sealed:
    """The passages of all segments, or of those with these numbers. Raises Damaged."""
    only = f"WHERE number IN ({', '.join(map(str, numbers))})" if numbers else ""
    sql = f"SELECT number, first, last, ids, tokens, characters, passages, crc FROM segments {only} ORDER BY number"
    ids, tokens, characters, parts, marks = [], [], [], {}, []
    place = 0
    for number, first, last, packed, *sizes, n, crc in connection.execute(sql):
        if segment_crc(number, first, last, packed, *sizes) != crc:
            raise Damaged(f"segment {number} of the postings is damaged.")
        ids.append(np.frombuffer(packed, "<i8") if packed else np.arange(first, last + 1, dtype=np.int64))
        tokens.append(_unpacked(sizes[0], n))
        characters.append(_unpacked(sizes[1], n))
        if {len(ids[-1]), len(tokens[-1]), len(characters[-1])} != {n}:
            raise Damaged(f"segment {number} of the postings is damaged.")
        parts[number] = range(place, place + n)
        marks.append((number, crc))
        place += n
    empty = [np.zeros(0, dtype=np.int64)]
    joined = [np.concatenate(column or empty) for column in (ids, tokens, characters)]
    return Sealed(joined[0], joined[1], joined[2], parts, tuple(marks))


def last_sealed(connection: sqlite3.Connection) -> int:
    """The highest id of a sealed passage, 0 without one."""
    return int(connection.execute("SELECT coalesce(max(last), 0) FROM segments").fetchone()[0])


def encoded(places: Places, counts: Sizes, passages: int) -> tuple[bytes, bytes]:
    """Columns `places` and `counts` of a row, from places (n,) in the segment, ascending, and counts (n,) >= 1."""
    if len(places) < passages // 16:
        packed = places.astype("<u2").tobytes()
    else:
        bits = np.zeros(passages, dtype=np.bool_)
        bits[places] = True
        packed = np.packbits(bits).tobytes()
    several = counts > 1
    pairs = np.stack([places[several], np.minimum(counts[several], MOST_COUNTED)], axis=1)
    return packed, pairs.astype("<u2").tobytes()


def decoded(rows: Iterable[Row], kind: int, term: str, sealed: Sealed) -> tuple[Places, Sizes]:
    """The places (n,), ascending, of the passages of `sealed` that have a term, and how often (n,), from its rows in
    the order of the segments. Raises Damaged.
    """
    none = np.zeros(0, dtype=np.int64)
    having_parts, several, often = [none], [none], [none]
    for segment, places, counts, crc in rows:
        part = sealed.parts.get(segment)
        if part is None or posting_crc(segment, kind, term, places, counts) != crc:
            raise Damaged(f"the postings of {term!r} in segment {segment} are damaged.")
        having_parts.append(_unpacked_places(places, part))
        pairs = np.frombuffer(counts, "<u2")
        several.append(np.add(pairs[::2], part.start, dtype=np.int64))
        often.append(pairs[1::2])
    having = np.concatenate(having_parts)
    numbers = np.ones(len(having), dtype=np.int64)
    numbers[np.searchsorted(having, np.concatenate(several))] = np.concatenate(often)
    return having, numbers


def _unpacked_places(packed: bytes, part: range) -> Places:
    """The places among all that are sealed, from those in the segment `part`."""
    if len(packed) == (len(part) + 7) // 8:
        bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=len(part))
        return np.flatnonzero(bits.view(np.bool_)) + part.start  # four times as fast as of numbers
    places: Places = np.add(np.frombuffer(packed, "<u2"), part.start, dtype=np.int64)
    return places


def _packed(sizes: Sizes) -> bytes:
    """One, two or four bytes each, nothing where all are 0."""
    most = int(sizes.max(initial=0))
    if not most:
        return b""
    return sizes.astype("<u1" if most < 2**8 else "<u2" if most < 2**16 else "<u4").tobytes()


def _unpacked(packed: bytes, n: int) -> Sizes:
    if not packed:
        return np.zeros(n, dtype=np.int64)
    return np.frombuffer(packed, f"<u{len(packed) // n}").astype(np.int64)
