"""Postings of frequent words: with them, a search finds what FTS5 alone finds, whatever was written and removed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from helpers import lexical
from helpers.oldstore import downgraded
from helpers.smallstore import filled

from semsearch.errors import Corrupt
from semsearch.stores.local import LocalReader, LocalWriter, open_reader, open_writer
from semsearch.stores.local.database import schema
from semsearch.stores.local.full_text import matching, postings, sealing
from semsearch.stores.local.full_text.postings import Postings
from semsearch.stores.local.full_text.segments import posting_crc
from semsearch.stores.protocol import Lexical
from semsearch.stores.records import Entry
from semsearch.types import Document, Passage

LIMITS = sealing.Limits(passages=40, segment=16, merged=3, in_segment=3, in_store=6)
WORDS = [f"word{n}" for n in range(12)] + ["running", "runs", "café", "don't", "3.11", "the", "of", "Python"]
LETTERS = "水龙头漏的是日本語カ한국ไท"


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sealing, "LIMITS", LIMITS)
        yield


def texts(count: int, seed: int) -> list[str]:
    """Words by a power law, and runs of few letters of unspaced scripts in half of the texts."""
    chance = random.Random(seed)
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    return [
        " ".join(chance.choices(WORDS, weights, k=chance.randint(2, 30)))
        + (" " + "".join(chance.choices(LETTERS + "。 ", k=chance.randint(1, 20))) if chance.random() < 0.5 else "")
        for _ in range(count)
    ]


def put(store: LocalWriter, documents: Sequence[Document]) -> None:
    """Store documents of one passage each, and bring the postings up to date as the end of a run does."""
    vectors = np.eye(1, 4, dtype=np.float32)
    entries = [Entry(one, None, [Passage(0, len(one.text), one.text)], vectors) for one in documents]
    store.replace(entries, 1)
    store.update_vector_index(1, "flat")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, small_segments: None) -> Path:
    """A store of 150 passages: segments, one that was merged, and some passages that wait for the next segment."""
    folder = tmp_path_factory.mktemp("made") / "words"
    with filled(folder, [Document(str(n), text) for n, text in enumerate(texts(30, 0))]) as store:
        put(store, [Document(str(n), text, {}, "word3 title") for n, text in enumerate(texts(120, 1), start=30)])
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Iterator[LocalWriter]:
    """A copy of `made`."""
    with open_writer(Path(shutil.copytree(made, tmp_path / "words"))) as opened:
        yield opened


def queries(count: int) -> list[str]:
    """One to five words, phrases, words that no passage has, and CJK runs of one to six letters."""
    chance = random.Random(5)
    made = []
    for _ in range(count):
        words = chance.choices([*WORDS, "unheard", '"word0 word1"', "wrod1x"], k=chance.randint(0, 5))
        runs = ["".join(chance.choices(LETTERS, k=chance.randint(1, 6))) for _ in range(chance.choice([0, 0, 1, 3]))]
        made.append(" ".join(words + runs) or "word1")
    return made


def assert_same(store: LocalReader | LocalWriter) -> None:
    """Every query gives the same with postings, which are there, and without."""
    raw, kept = store.connection.raw, Postings()
    assert kept.matching(raw, None) is not None
    chance = np.random.default_rng(2)
    highest = raw.execute("SELECT max(id) FROM passages").fetchone()[0]
    for n, query in enumerate(queries(30)):
        allowed = None if n % 3 else np.flatnonzero(chance.random(highest + 10) < 0.3)
        k = 200 if n % 2 else 3
        right, found = (lexical.search(raw, query, k, allowed, one) for one in (None, kept))
        assert listed(found) == listed(right), query


def listed(found: Lexical) -> list[object]:
    return [
        found.ids,
        found.scores,
        found.coverage,
        sorted(found.complete),
        found.corrected,
    ]


def problems(store: LocalWriter) -> list[str]:
    with open_reader(store.connection.folder) as reader:
        return reader.verify(lambda _: None)


def rows(store: LocalWriter, sql: str) -> list[tuple[int, ...]]:
    return store.connection.rows(sql)


@pytest.mark.parametrize("rare", [1, 100])
def test_scores_and_order_are_those_of_fts5_to_the_last_bit(
    store: LocalWriter, monkeypatch: pytest.MonkeyPatch, rare: int
) -> None:
    monkeypatch.setattr(postings, "RARE", rare)
    sizes = [n for (n,) in rows(store, "SELECT passages FROM segments ORDER BY number")]
    assert max(sizes) == LIMITS.segment * LIMITS.merged and sum(sizes) < 150  # some wait
    kinds = {kind for (kind,) in rows(store, "SELECT DISTINCT kind FROM frequent_terms")}
    lengths = {n for (n,) in rows(store, "SELECT DISTINCT length(term) FROM frequent_terms WHERE kind = 1")}
    assert kinds == {0, 1} and lengths == {1, 2, 3}
    assert_same(store)
    assert problems(store) == []


def test_what_is_removed_replaced_and_added_changes_both_in_the_same_way(store: LocalWriter) -> None:
    store.delete([str(n) for n in range(0, 150, 9)])
    assert_same(store)  # removed passages in segments and among those that wait
    put(store, [Document(str(n), text) for n, text in enumerate(texts(25, 2), start=60)])
    assert rows(store, "SELECT count(*) FROM postings_gone") != [(0,)]
    assert_same(store)
    assert problems(store) == []
    put(store, [Document(str(n), text) for n, text in enumerate(texts(100, 3))])
    assert_same(store)  # segments without most of their passages are written again
    assert rows(store, "SELECT 1 FROM segments WHERE ids <> x'' LIMIT 1")
    assert problems(store) == []
    store.delete([str(n) for n in range(145)])
    store.update_vector_index(1, "flat")
    assert problems(store) == []


def test_a_reader_sees_each_commit(store: LocalWriter) -> None:
    with open_reader(store.connection.folder) as reader:
        assert len(reader.lexical("zebra", 5).ids) == 0
        put(store, [Document("new", "zebra word1")])
        found = reader.lexical("zebra word1", 500)
        assert reader.passages(found.ids)[0].document == "new"
        store.delete(["new"])
        assert len(reader.lexical("zebra", 5).ids) == 0
        assert_same(reader)


def test_inside_a_transaction_a_search_sees_its_own_changes(store: LocalWriter) -> None:
    with store.transaction():
        put(store, [Document("new", "zebra zebra")])
        assert len(store.reader.lexical("zebra", 5).ids) == 1


def test_a_store_of_the_schema_before_is_read_and_gets_postings_when_it_is_written(store: LocalWriter) -> None:
    folder, raw = store.connection.folder, store.connection.raw
    wanted = [listed(lexical.search(raw, query, 20)) for query in queries(15)]
    store.close()
    downgraded(folder / "store.db", schema.POSTINGS - 1)
    with open_reader(folder) as reader:
        assert [listed(reader.lexical(query, 20)) for query in queries(15)] == wanted
        assert reader.verify(lambda _: None) == []
    with open_writer(folder) as writer:
        writer.update_vector_index(1, "flat")
        assert_same(writer)
        assert problems(writer) == []


def test_many_waiting_passages_are_left_to_fts5(store: LocalWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.stores.local.full_text.postings.MOST_WAITING", 0)
    assert Postings().matching(store.connection.raw, None) is None
    assert len(store.reader.lexical("word1", 500).ids)


@pytest.mark.parametrize("sound_checksum", [True, False])
def test_damaged_postings_are_told(store: LocalWriter, *, sound_checksum: bool) -> None:
    sql = "SELECT segment, kind, term, places, counts FROM postings WHERE term = 'word1' AND length(places) > 1"
    segment, kind, term, places, counts = rows(store, sql)[0]
    wrong = bytes(places[:1]) + bytes([places[1] ^ 4]) + bytes(places[2:])  # type: ignore[call-overload, index]
    crc = posting_crc(segment, kind, str(term), wrong, bytes(counts)) if sound_checksum else 0
    with store.transaction():
        where = "WHERE segment = ? AND kind = ? AND term = ?"
        store.connection.execute(f"UPDATE postings SET places = ?, crc = ? {where}", (wrong, crc, segment, kind, term))
    assert any("'word1'" in problem for problem in problems(store))
    if not sound_checksum:
        with open_reader(store.connection.folder) as reader, pytest.raises(Corrupt, match=r"word1.*damaged"):
            reader.lexical("word1", 5)


def test_an_update_that_meets_damaged_postings_tells_it(store: LocalWriter) -> None:
    with pytest.raises(Corrupt, match=r"words.*damaged"):
        for turn in range(LIMITS.merged + 1):  # segments of as many updates are merged
            put(store, [Document(f"{turn} {n}", text) for n, text in enumerate(texts(LIMITS.segment, turn))])
            with store.transaction():
                store.connection.execute("UPDATE postings SET crc = crc + 1")


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM postings WHERE term = 'word1'",
        "DELETE FROM frequent_terms WHERE term = 'word1'",
        "DELETE FROM segments WHERE number = (SELECT max(number) FROM segments)",
        "DELETE FROM segments WHERE number = 1",
        "UPDATE segments SET crc = crc + 1 WHERE number = 1",
        "INSERT INTO postings_gone VALUES (3)",
        "INSERT INTO postings_gone VALUES (100000)",
    ],
)
def test_verify_names_what_is_missing_or_strange(store: LocalWriter, damage: str) -> None:
    with store.transaction():
        assert store.connection.execute(damage)
    assert any("postings" in problem for problem in problems(store))


def test_a_run_of_one_or_two_letters_is_found_wherever_it_stands(tmp_path: Path) -> None:
    chance = random.Random(7)
    texts = ["".join(chance.choices("漏水頭a ", k=chance.randint(1, 5))).strip() or "-" for _ in range(100)]
    with filled(tmp_path / "few", [Document(str(n), text) for n, text in enumerate(texts)]) as made:
        for run in ("漏", "水", "漏水", "水水", "頭漏"):
            found = matching.containing(made.connection.raw, [run])
            assert found.tolist() == [n for n, text in enumerate(texts, start=1) if run in text]
