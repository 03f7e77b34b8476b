"""The PostgreSQL store folds words as the local one does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.postgres import missing

if missing():
    pytest.skip(missing(), allow_module_level=True)

from helpers.stores import DIM, entry

from semsearch.stores import postgres as driver
from semsearch.stores.records import Space

if TYPE_CHECKING:
    from semsearch.stores.postgres import PostgresReader

TEXTS = {
    "ligature": ("The ﬁnal ﬂow of the oﬃce.", "office"),
    "Greek": ("Η ΑΘΉΝΑ είναι πρωτεύουσα", "αθηνα"),
    "Arabic": ("الكِتَابُ الجَديدُ", "الكتاب"),
    "kana": ("これはｶﾞﾗｽです", "ガラス"),
    "emoji": ("Well done 👍🏽", "👍"),
    "plain": ("Plain words of an engine.", "engine"),
}


def found(reader: PostgresReader, query: str) -> list[str]:
    return [passage.document for passage in reader.passages(reader.lexical(query, 9).ids)]


def test_words_are_found_however_they_are_written(address: str, tmp_path: Path) -> None:
    with driver.create(tmp_path / "folded", address=address) as writer:
        space = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"}))
        writer.replace([entry(name, text) for name, (text, _) in TEXTS.items()], space.id)
        reader = writer.reader
        for name, (_, query) in TEXTS.items():
            assert name in found(reader, query)
            allowed = reader.allowed(None, must=[query])
            assert allowed is not None and len(allowed)
        assert reader.verify(lambda _: None) == []
