"""The PostgreSQL store folds words as the local one does, also in a collection of an earlier version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.postgres import missing

if missing():
    pytest.skip(missing(), allow_module_level=True)

from helpers.stores import DIM, entry

from semsearch.stores import postgres as driver
from semsearch.stores.postgres.full_text import words
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


def test_words_are_folded_and_those_of_a_collection_of_before_with_the_next_write(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folded"
    with driver.create(folder, address=address) as writer:
        space = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"}))
        of_passages = words.of_passages
        with monkeypatch.context() as before:
            before.setattr(words, "of_passages", lambda rows: of_passages(rows, folds=False))
            writer.replace([entry(name, text) for name, (text, _) in TEXTS.items()], space.id)
        with writer.transaction():
            writer.connection.execute("DELETE FROM meta WHERE key = 'folded'")
            writer.connection.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    with driver.open_reader(folder) as reader:
        assert found(reader, "oﬃce") == ["ligature"] and found(reader, "office") == []
        assert reader.verify(lambda _: None) == []
        with driver.open_writer(folder) as writer:
            writer.replace([entry("new", "A new oﬃce.")], space.id)
            assert writer.reader.verify(lambda _: None) == []
        assert sorted(found(reader, "office")) == ["ligature", "new"]
        for name, (_, query) in TEXTS.items():
            assert name in found(reader, query)
            allowed = reader.allowed(None, must=[query])
            assert allowed is not None and len(allowed)
