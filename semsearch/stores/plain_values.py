"""Values of metadata as they are stored: JSON, with forms for what programs have beside its types."""

from __future__ import annotations

import datetime


def plain(value: object) -> object:
    """A value that JSON has no form for, as it is stored: dates and times as ISO 8601, numbers of NumPy and pandas as
    numbers, their arrays as lists, their missing values as null. Raises TypeError for any other, with what to do.

    NumPy and pandas are recognised by name, so that neither is imported.

    >>> plain(datetime.date(2026, 11, 26)), plain(datetime.time(9, 30))
    ('2026-11-26', '09:30:00')
    """
    if isinstance(value, datetime.date | datetime.time):  # a Timestamp of pandas is one too
        text = value.isoformat()
        return None if text == "NaT" else text
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if package == "numpy" and kind.__name__ == "datetime64":
        return None if str(value) == "NaT" else str(value)[:26]  # up to microseconds, as those of Python
    if package == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if package == "pandas" and kind.__name__ == "NAType":
        return None
    raise TypeError(
        f"{value!r:.60} is a {kind.__name__}; metadata takes texts, numbers, true, false, null, dates, and lists and "
        "mappings of these: store it as a text, with str()"
    )


def plain_or_text(value: object) -> object:
    """The same, and a text for any other: for a hash, which differs from that of all that is stored."""
    try:
        return plain(value)
    except TypeError:
        return str(value)
