"""Metadata takes the values that programs have, and says which key it cannot take and what to do."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from semsearch import Document, Index
from semsearch.errors import Unreadable

ZONE = datetime.timezone(datetime.timedelta(hours=2))
VALUES: list[tuple[Any, object]] = [
    (datetime.date(2026, 11, 26), "2026-11-26"),
    (datetime.datetime(2026, 11, 26, 9, 30, tzinfo=ZONE), "2026-11-26T09:30:00+02:00"),
    (datetime.time(9, 30), "09:30:00"),
    (np.int64(3), 3),
    (np.float32(0.5), 0.5),
    (np.float64(2.5), 2.5),
    (np.bool_(True), True),
    (np.str_("pump"), "pump"),
    (np.datetime64("2026-11-26"), "2026-11-26"),
    (np.datetime64("2026-11-26T09:30:00.123456789"), "2026-11-26T09:30:00.123456"),
    (np.datetime64("NaT"), None),
    (np.array(["a", "b"]), ["a", "b"]),
    (pd.Timestamp("2026-11-26 09:30", tz="UTC"), "2026-11-26T09:30:00+00:00"),
    (pd.NaT, None),
    (pd.NA, None),
    (pd.Series([1, 2]).iloc[0], 1),
    ([np.int8(1), {"when": datetime.date(2026, 1, 2)}], [1, {"when": "2026-01-02"}]),
    (("a", "b"), ["a", "b"]),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create("notes", encoder="hashing", home=tmp_path) as made:
        yield made


def metadata(index: Index, name: str) -> Any:
    return index.get(name)["metadata"]  # type: ignore[call-overload]


def test_values_of_programs_are_stored_in_their_json_form(index: Index) -> None:
    documents = [Document(str(at), f"text {at}", {"value": value}) for at, (value, _) in enumerate(VALUES)]
    index.add(documents)
    stored = {str(at): metadata(index, str(at))["value"] for at in range(len(VALUES))}
    for at, (value, expected) in enumerate(VALUES):
        assert stored[str(at)] == expected and type(stored[str(at)]) is type(expected), value
    assert index.analysis.verify() == []
    assert index.add(documents).unchanged == len(VALUES)  # the values of before are recognised
    index.update(["0"], metadata={"seen": np.int64(7), "day": datetime.date(2026, 5, 1)})
    assert metadata(index, "0") == {"value": "2026-11-26", "seen": 7, "day": "2026-05-01"}
    assert [hit.document for hit in index.search("text", where="day > 2026-04-30")] == ["0"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), r"metadata 'odd': .*leave the key out"),
        (np.float32("inf"), r"metadata 'odd': .*leave the key out"),
        ({1, 2}, r"metadata 'odd': .*is a set; metadata takes .* with str\(\)"),
        (b"bytes", r"metadata 'odd': .*is a bytes"),
        (Path("a"), r"metadata 'odd': .*is a PosixPath"),
        ({"deep": [1j]}, r"metadata 'odd': .*is a complex"),
    ],
)
def test_any_other_value_is_refused_with_its_key_and_what_to_do(index: Index, value: object, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        index.add([Document("a", "text", {"fine": 1, "odd": value})])
    assert len(index) == 0


def test_adding_a_known_id_says_that_its_metadata_is_replaced(index: Index) -> None:
    index.add([Document("a", "One text.", {"year": 2020, "lang": "en"}), Document("b", "Another.", {"year": 2021})])
    report = index.add([Document("a", "One text.", {"year": 2022}), Document("b", "Another one.", {"year": 2021})])
    assert metadata(index, "a") == {"year": 2022}
    (warning,) = report.warnings
    assert "1 document had other metadata" in warning and "update() changes single keys" in warning
    assert index.add([Document("a", "One text.", {"year": 2022})]).warnings == ()
