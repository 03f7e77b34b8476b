"""Topics over time: how many documents of each there are in each day, month or year."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import get_args

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.stores.protocol import StoreReader
from semsearch.types import JsonObject, Period, Timeline, Topics

AT_ONCE = 500  # documents that are looked up at a time
LETTERS = {"day": 10, "month": 7, "year": 4}  # of an ISO date
DAYS, MONTHS = 45, 36  # a longer time is counted by months, or by years
MOST = 20_000  # periods


def timeline(reader: StoreReader, topics: Topics, by: str, field: str | None) -> Timeline:
    """The documents of each topic by day, month or year of the metadata `field`, or of their own date or file."""
    if by not in get_args(Period):
        raise UnknownName("period", by, get_args(Period))
    days = [list(_days(reader, topic.documents, field)) for topic in topics]
    dates = sorted(day for each in days for day in each if day)
    if not dates:
        what = f"a date under {field!r}" if field else "a date"
        raise NotFound(f"no document has {what}.", "Name the metadata key with the date.", "Pass --date-field KEY.")
    period = _fitting(dates) if by == "auto" else by
    letters = LETTERS[period]
    periods = list(_between(dates[0], dates[-1], period))
    counted = [Counter(day.isoformat()[:letters] for day in each if day) for each in days]
    counts = tuple(tuple(each[one] for one in periods) for each in counted)
    return Timeline(tuple(periods), counts, sum(day is None for each in days for day in each))


def _days(reader: StoreReader, names: Sequence[str], field: str | None) -> Iterator[date | None]:
    for row in reader.document_rows(names):
        yield day_of(row.listed(), field)


def days(reader: StoreReader, names: Sequence[str], field: str | None) -> dict[str, str]:
    """The ISO day of each of these documents that has one."""
    days: dict[str, str] = {}
    for row in reader.document_rows(names):
        if day := day_of(row.listed(), field):
            days[row.uri] = day.isoformat()
    return days


def day_of(document: JsonObject, field: str | None = None) -> date | None:
    """The day of a document as `Index.documents` lists it: of its metadata `field`; without one of `date`, else the day
    on which its file was last changed.
    """
    day = _parsed(document["metadata"].get(field or "date"))
    if day or field:
        return day
    return date.fromtimestamp(document["mtime"] / 1e9) if document["mtime"] else None


def _parsed(value: object) -> date | None:
    """An ISO date, of which month and day may be missing.

    >>> _parsed("2021-07-02T10:00"), _parsed("2021-07"), _parsed(2021), _parsed("soon")
    (datetime.date(2021, 7, 2), datetime.date(2021, 7, 1), datetime.date(2021, 1, 1), None)
    """
    text = str(value)[:10]
    try:
        return date.fromisoformat(text + "2000-01-01"[len(text) :] if len(text) in (4, 7) else text)
    except ValueError:
        return None


def _fitting(days: Sequence[date]) -> str:
    span = (days[-1] - days[0]).days
    return "day" if span <= DAYS else "month" if span <= MONTHS * 31 else "year"


def _between(first: date, last: date, period: str) -> Iterator[str]:
    """Every period from the first to the last day, also those without a document."""
    letters, day, before, made = LETTERS[period], first, "", 0
    step = timedelta(days=1 if period == "day" else 27)
    while day.isoformat()[:letters] <= last.isoformat()[:letters]:
        if (name := day.isoformat()[:letters]) != before:
            before, made = name, made + 1
            if made > MOST:
                raise UsageError(
                    f"from {first} to {last} there are more than {MOST:,} {period}s.",
                    'Count them by="month" or "year".',
                    "Count them with --by month or --by year.",
                )
            yield name
        try:
            day += step
        except OverflowError:
            return
