from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.stores import DIM, contents, entry, made, source, vectors_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semsearch.errors import Corrupt, Locked, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.store import CacheRow, Entry, Store, meta_hash
from semsearch.stores.local.verify import verify
from semsearch.types import Document, Mark, Passage

CHECKOUT = Path(__file__).resolve().parents[2]
ODD_NAMES = ["plain", "with space", "what?x=1&y", "100%25", "a#b", "Müller 日本語", "it's;--"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


# ---- making and opening


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_folder_name_can_hold_a_store(tmp_path: Path, name: str) -> None:
    store, _ = made(tmp_path / name, 2)
    store.close()
    with Store.open(tmp_path / name) as again:
        assert again.counts()["documents"] == 2


def test_create_refuses_an_index_that_exists_and_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    made(tmp_path / "notes", 1)[0].close()
    with pytest.raises(UsageError, match="already holds an index"):
        Store.create(tmp_path / "notes")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"letter\.txt"):
        Store.create(tmp_path / "other")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="a file is in its place"):
        Store.create(tmp_path / "file")
    assert sorted(p.name for p in (tmp_path / "other").iterdir()) == ["letter.txt"]


def test_what_a_killed_create_leaves_is_no_index_and_can_be_created_again(folder: Path) -> None:
    folder.mkdir()
    for left in ("store.new", "store.new-wal", "store.new-shm", "writer.lock", "writer.pid"):
        (folder / left).write_bytes(b"half")
    with pytest.raises(NotFound):
        Store.open(folder)
    made(folder, 1)[0].close()
    assert not list(folder.glob("store.new*"))


def test_opening_what_is_not_there_makes_nothing(folder: Path) -> None:
    for write in (False, True):
        with pytest.raises(NotFound):
            Store.open(folder, write=write)
    assert not folder.exists()


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to be read as one" * 99, b"SQLite format 3\0" * 64]
)
@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_no_store_is_refused(folder: Path, content: bytes, write: bool) -> None:
    folder.mkdir()
    (folder / "store.db").write_bytes(content)
    with pytest.raises(SemsearchError):
        Store.open(folder, write=write)
    assert (folder / "store.db").read_bytes() == content
    with pytest.raises(SemsearchError):  # and not Locked: nothing holds the lock any more
        Store.open(folder, write=True)


def test_a_database_of_another_program_is_refused_untouched(folder: Path) -> None:
    folder.mkdir()
    other = sqlite3.connect(folder / "store.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    content = (folder / "store.db").read_bytes()
    with pytest.raises(SemsearchError, match="not one of semsearch"):
        Store.open(folder, write=True)
    assert (folder / "store.db").read_bytes() == content


def test_a_newer_schema_is_refused_and_says_to_upgrade(folder: Path) -> None:
    store, _ = made(folder)
    store.connection.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    store.close()
    for write in (False, True):
        with pytest.raises(SemsearchError, match="Upgrade"):
            Store.open(folder, write=write)


def test_an_older_schema_is_migrated_by_the_first_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = made(folder, 3)
    before = contents(store)
    store.close()

    def m002(database: Any) -> None:
        database.execute("ALTER TABLE documents ADD COLUMN language TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m002))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(SemsearchError, match="older semsearch"):
        Store.open(folder)
    Store.open(folder, write=True).close()
    with Store.open(folder) as again:
        assert contents(again) == before
        assert again.connection.execute("SELECT language FROM documents").fetchone() == (None,)


def test_a_migration_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(folder, 1)[0].close()

    def m002(database: Any) -> None:
        database.execute("CREATE TABLE half (x)")
        database.execute("CREATE TABLE documents (x)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m002))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(SemsearchError):
        Store.open(folder, write=True)
    monkeypatch.undo()
    with Store.open(folder, write=True) as again:
        assert verify(again) == []


def test_the_connection_is_the_one_of_the_design(folder: Path) -> None:
    store, _ = made(folder)
    reader = Store.open(folder)
    wanted = {"journal_mode": "wal", "synchronous": 2, "trusted_schema": 0, "cell_size_check": 1, "foreign_keys": 1}
    assert {name: store.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted
    assert reader.connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.connection.execute("DELETE FROM documents")


def test_reading_loads_neither_sqlite_utils_nor_filelock(folder: Path) -> None:
    made(folder, 1)[0].close()
    code = f"""
import sys
from pathlib import Path
from semsearch.stores.local.store import Store
store = Store.open(Path({str(folder)!r}))
assert store.passages([1]) and list(store.vectors(1)) and store.document("d0") and store.counts()
print(sorted({{"sqlite_utils", "filelock", "faiss", "torch"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# ---- one writer, many readers


def test_a_second_writer_is_refused_with_the_pid_of_the_first(folder: Path) -> None:
    store, _ = made(folder)
    with pytest.raises(Locked, match=rf"pid {os.getpid()}"):
        Store.open(folder, write=True)
    code = f"""
from pathlib import Path
from semsearch.errors import Locked
from semsearch.stores.local.store import Store
try:
    Store.open(Path({str(folder)!r}), write=True)
except Locked as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert f"pid {os.getpid()}" in ran.stdout
    store.close()
    Store.open(folder, write=True).close()


def test_a_store_that_another_thread_closes_lets_go_of_the_lock(folder: Path) -> None:
    store, _ = made(folder)
    closing = threading.Thread(target=store.close)
    closing.start()
    closing.join()
    Store.open(folder, write=True).close()


def test_a_reader_sees_committed_documents_only_and_never_waits(folder: Path) -> None:
    store, space = made(folder, 1)
    with Store.open(folder) as reader:
        with store.transaction():
            store.replace([entry("new", "Half written")], space.id)
            began = time.perf_counter()
            assert set(reader.heads()) == {"d0"}
            assert time.perf_counter() - began < 1
        assert set(reader.heads()) == {"d0", "new"}


def test_a_snapshot_is_of_one_moment(folder: Path) -> None:
    store, space = made(folder, 1)
    with Store.open(folder) as reader:
        with reader.snapshot(), reader.snapshot():
            store.replace([entry("new", "Written meanwhile")], space.id)
            store.delete(["d0"])
            assert set(reader.heads()) == {"d0"}
            assert reader.counts()["documents"] == 1
            assert [p.text for p in reader.passages([1])] == ["Engine number 0 runs"]
        assert set(reader.heads()) == {"new"}


def test_a_store_appears_with_what_it_is_filled_with_or_not_at_all(folder: Path) -> None:
    def fill(store: Store) -> None:
        store.set_recipe({"encoder": "one"})
        assert not (folder / "store.db").exists()

    def fail(store: Store) -> None:
        fill(store)
        raise OSError(28, "No space left on device")

    with pytest.raises(SemsearchError, match="No space left"):
        Store.create(folder, fail)
    with pytest.raises(NotFound):
        Store.open(folder)
    with Store.create(folder, fill) as store:
        assert store.recipe() == {"encoder": "one"}
        with pytest.raises(Locked):
            Store.open(folder, write=True)
    with Store.open(folder) as reader:
        assert reader.recipe() == {"encoder": "one"}
    assert not list(folder.glob("store.new*"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
@pytest.mark.parametrize("write", [False, True])
def test_a_store_that_is_refused_leaves_no_file_open(folder: Path, write: bool) -> None:
    made(folder, 1)[0].close()
    with sqlite3.connect(folder / "store.db") as raw:
        raw.execute("PRAGMA user_version=99")
    raw.close()
    with pytest.raises(SemsearchError, match="newer") as refused:
        Store.open(folder, write=write)
    opened = [link for fd in Path("/proc/self/fd").iterdir() if (link := _target(fd)) and str(folder) in link]
    assert (opened, refused.value.exit_code) == ([], 1)  # `refused` holds every frame, so no garbage was collected


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def test_another_program_that_holds_the_file_makes_it_locked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MS", 50)
    store, space = made(folder)
    other = sqlite3.connect(folder / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Locked):
        store.replace([entry("a", "Text")], space.id)
    other.execute("ROLLBACK")
    store.replace([entry("a", "Text")], space.id)
    other.close()


def test_threads_share_a_store(folder: Path) -> None:
    store, space = made(folder, 5)
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(30):
                with store.snapshot():
                    counted = store.counts()
                    assert len(store.heads()) == counted["documents"]
                    assert sum(len(ids) for ids, _ in store.vectors(space.id)) == counted["vectors"][space.id]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(30):
        store.replace([entry(f"t{n}", f"Text {n}. And {n}")], space.id)
    for thread in threads:
        thread.join()
    assert failures == []


_AS_NOBODY = """
import os, sys
from pathlib import Path
import numpy
from semsearch.stores.local.store import Store
folder = Path(sys.argv[1])
os.setgid(65534); os.setuid(65534)
try:
    (folder / "mine").write_text("")
    sys.exit("the folder can be written to")
except PermissionError:
    pass
with Store.open(folder) as store:
    print(sorted(store.heads()), len(store.passages([1])), flush=True)
    for line in sys.stdin:
        print(sorted(store.heads()), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to become another user")
@pytest.mark.parametrize("writer", ["is open", "has closed"])
def test_a_reader_without_the_right_to_write_sees_what_a_writer_commits(tmp_path: Path, writer: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        store, space = made(Path(place) / "notes", 2)
        if writer == "has closed":
            store.close()
        command = [sys.executable, "-c", _AS_NOBODY, str(Path(place) / "notes")]
        reader = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert reader.stdin and reader.stdout
        assert reader.stdout.readline().strip() == "['d0', 'd1'] 1"
        if writer == "has closed":
            store = Store.open(Path(place) / "notes", write=True)
        store.replace([entry("new", "A text")], space.id)
        if writer == "has closed":
            store.close()
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline().strip() == "['d0', 'd1', 'new']"
        reader.stdin.close()
        assert reader.wait(10) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to become another user")
def test_a_reader_without_the_right_to_fold_a_log_in_says_so(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        store, _ = made(Path(place) / "notes", 2)
        shutil.copytree(Path(place) / "notes", Path(place) / "copy")  # as a kill leaves it
        store.close()
        (Path(place) / "copy" / "store.db-shm").unlink()
        command = [sys.executable, "-c", _AS_NOBODY, str(Path(place) / "copy")]
        ran = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
        assert ran.returncode == 1
        assert "SemsearchError" in ran.stderr
        assert "folded in" in ran.stderr


# ---- what goes in comes out

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
marks = st.lists(st.builds(Mark, st.integers(0, 99), st.none() | st.integers(1, 9), st.none() | texts), max_size=3).map(
    lambda found: tuple(sorted(found, key=lambda mark: mark.start))
)
documents = st.builds(
    Document,
    id=texts.filter(bool),
    text=texts,
    metadata=st.dictionaries(texts, json_values, max_size=3),
    title=st.none() | texts,
    marks=marks,
    lines=st.booleans(),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store, _ = made(tmp_path_factory.mktemp("shared") / "notes")
    yield store
    assert verify(store) == []


@settings(deadline=None, max_examples=60)
@given(document=documents, page=st.none() | st.integers(1, 9), heading=st.none() | texts)
def test_a_document_comes_back_exactly(
    shared: Store, document: Document, page: int | None, heading: str | None
) -> None:
    middle = len(document.text) // 2
    cut = [Passage(0, middle, document.text[:middle], page, 1, heading)] if middle else []
    cut.append(Passage(middle, len(document.text), document.text[middle:], page, None, heading))
    shared.replace([Entry(document, None, cut, vectors_of([p.text for p in cut]))], 1)
    assert shared.document(document.id) == document
    stored = shared.passages(shared.passage_ids(document.id))
    assert [(p.start, p.end, p.text, p.page, p.line, p.heading) for p in stored] == [
        (p.start, p.end, p.text, p.page, p.line, p.heading) for p in cut
    ]
    assert {(p.document, p.title, str(p.metadata)) for p in stored} == {
        (document.id, document.title, str(document.metadata))
    }
    assert verify(shared) == []


def test_nul_and_what_follows_it_are_found_by_word(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("nul", "before\0after diesel"), entry("cjk", "前\0日本語の文章")], space.id)
    find = "SELECT p.text FROM passages p JOIN passages_fts f ON f.rowid = p.id WHERE passages_fts MATCH ?"
    assert store.connection.execute(find, ("diesel",)).fetchall() == [("before\0after diesel",)]
    store.delete(["nul", "cjk"])
    assert verify(store) == []


def test_metadata_whose_keys_are_numbers_come_back_as_json_has_them(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("a", "x", metadata={10: "b", 2: "a", "1": {3: None}})], space.id)
    document = store.document("a")
    assert document and document.metadata == {"10": "b", "2": "a", "1": {"3": None}}
    assert store.heads()["a"].meta_sha256 == meta_hash(None, {10: "b", 2: "a", "1": {3: None}})
    assert verify(store) == []


HALF = "half \ud800 pair"


@pytest.mark.parametrize(
    "document",
    [
        Document("a", HALF),
        Document(HALF, "text"),
        Document("a", "text", title=HALF),
        Document("a", "text", {"key": [HALF]}),
        Document("a", "text", {HALF: 1}),
        Document("a", "text", marks=(Mark(0, heading=HALF),)),
        Document("a", "text", {"when": float("nan")}),
        Document("a", "text", {"when": object()}),
        Document("", "text"),
    ],
)
def test_a_document_that_cannot_be_kept_exactly_is_refused_with_its_batch(folder: Path, document: Document) -> None:
    store, space = made(folder, 1)
    bad = Entry(document, None, [], vectors_of([]))
    with pytest.raises(Unreadable):
        store.replace([entry("good", "text"), bad], space.id)
    assert set(store.heads()) == {"d0"}
    assert verify(store) == []


def test_names_that_are_not_unicode_are_refused_without_an_error_of_sqlite(folder: Path) -> None:
    store, _ = made(folder)
    for call in (
        lambda: store.heads([HALF]),
        lambda: store.document(HALF),
        lambda: store.put_source(source(HALF)),
        lambda: store.refresh("d0", {}, HALF),
    ):
        with pytest.raises(Unreadable):
            call()


@pytest.mark.parametrize(
    ("passages", "vectors"),
    [
        ([Passage(0, 4, "text")], vectors_of([])),
        ([Passage(0, 4, "text")], vectors_of(["text"], DIM + 1)),
        ([Passage(0, 4, "text")], np.full((1, DIM), np.nan, np.float32)),
        ([Passage(0, 4, "txet")], vectors_of(["text"])),
        ([Passage(-4, 4, "text")], vectors_of(["text"])),
        ([Passage(0, 9, "text")], vectors_of(["text"])),
    ],
)
def test_passages_and_vectors_that_do_not_fit_are_refused(folder: Path, passages: Any, vectors: Any) -> None:
    store, space = made(folder)
    with pytest.raises(SemsearchError):
        store.replace([Entry(Document("a", "text"), None, passages, vectors)], space.id)
    assert store.counts()["documents"] == 0


# ---- vectors


def test_vectors_come_back_as_unit_rows_in_ascending_order_of_their_passages(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry(f"d{n}", ". ".join(f"text {n} {i}" for i in range(7))) for n in range(30)], space.id)
    pieces = list(store.vectors(space.id, chunk=64))
    ids = np.concatenate([ids for ids, _ in pieces])
    rows = np.concatenate([rows for _, rows in pieces])
    assert [len(ids) for ids, _ in pieces] == [64, 64, 64, 18]
    assert ids.dtype == np.int64
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert (np.diff(ids) > 0).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    wanted = vectors_of([p.text for p in store.passages(ids)])
    assert np.abs(rows - wanted).max() < 1e-3  # fp16


def test_vectors_can_be_asked_for_by_id_and_from_an_id_on(folder: Path) -> None:
    store, space = made(folder, 10)
    everything, rows = next(store.vectors(space.id))
    ids, chosen = next(store.vectors(space.id, ids=np.array([9, 4, 4, 999])))
    assert ids.tolist() == [4, 9]
    assert np.array_equal(chosen, rows[np.isin(everything, [4, 9])])
    assert [ids.tolist() for ids, _ in store.vectors(space.id, after=17)] == [[18, 19, 20]]
    assert [ids.tolist() for ids, _ in store.vectors(space.id, after=17, ids=np.array([3, 18]))] == [[18]]
    assert list(store.vectors(space.id, ids=np.array([], dtype=np.int64))) == []
    assert list(store.vectors(space.id, after=20)) == []
    assert (store.highest_id(space.id), store.count_after(space.id, 17), store.count_after(space.id, 0)) == (20, 3, 20)
    with pytest.raises(NotFound):
        next(store.vectors(77))


def test_a_zero_vector_stays_zero(folder: Path) -> None:
    store, space = made(folder)
    store.replace([Entry(Document("a", "x"), None, [Passage(0, 1, "x")], np.zeros((1, DIM), np.float32))], space.id)
    assert not next(store.vectors(space.id))[1].any()


def test_a_second_encoder_gives_the_same_passages_other_vectors(folder: Path) -> None:
    store, space = made(folder, 4)
    other = store.add_space("other", "wider", 8, {})
    assert store.add_space("other", "wider", 8, {}) == other
    assert store.highest_id(other.id) == 0
    missing = store.without_vector(other.id)
    assert missing.tolist() == list(range(1, 9))
    texts_of = [p.text for p in store.passages(missing)]
    store.put_vectors(other.id, missing[:6], vectors_of(texts_of[:6], 8))
    store.put_vectors(other.id, missing, vectors_of(texts_of, 8))
    assert store.without_vector(other.id).tolist() == []
    assert store.counts()["vectors"] == {space.id: 8, other.id: 8}
    with pytest.raises(SemsearchError):
        store.put_vectors(other.id, np.array([999]), vectors_of(["x"], 8))
    store.delete(["d1"])
    assert store.counts()["vectors"] == {space.id: 6, other.id: 6}
    assert verify(store) == []


# ---- documents


def test_replacing_is_idempotent_and_never_uses_an_id_again(folder: Path) -> None:
    store, space = made(folder, 3)
    before = contents(store)
    first = store.passage_ids("d1")
    for _ in range(3):
        store.replace([entry("d1", "Engine number 1 runs. 日本語の文章 1")], space.id)
    assert contents(store) == before
    assert not set(first) & set(store.passage_ids("d1"))
    store.delete(before)
    assert store.counts() == {"documents": 0, "passages": 0, "vectors": {space.id: 0}}
    store.replace([entry("e", "New")], space.id)
    assert store.passage_ids("e").min() > 12
    assert verify(store) == []


def test_of_two_entries_with_one_id_the_last_counts(folder: Path) -> None:
    store, space = made(folder)
    store.replace([entry("a", "First"), entry("b", "Other"), entry("a", "Last")], space.id)
    assert contents(store) == {"a": ["Last"], "b": ["Other"]}
    assert verify(store) == []


def test_passages_come_in_the_order_asked_for_without_those_that_are_gone(folder: Path) -> None:
    store, _ = made(folder, 3)
    store.delete(["d1"])
    assert [p.id for p in store.passages(np.array([6, 3, 1, 999, 1]))] == [6, 1, 1]
    assert store.alive(np.array([6, 3, 1, 999, 1])).tolist() == [True, False, True, False, True]
    assert store.passages([]) == []
    assert store.alive([]).tolist() == []
    assert store.passage_ids("nothing").tolist() == []


def test_renaming_keeps_passages_and_vectors_and_changes_their_identity(folder: Path) -> None:
    store, space = made(folder, 2)
    ids = store.passage_ids("d0")
    vectors = next(store.vectors(space.id))[1]
    names = store.connection.execute("SELECT identity FROM passages").fetchall()
    store.rename("d0", "moved/d0")
    assert store.passage_ids("moved/d0").tolist() == ids.tolist()
    assert np.array_equal(next(store.vectors(space.id))[1], vectors)
    assert store.connection.execute("SELECT identity FROM passages").fetchall() != names
    assert verify(store) == []
    with pytest.raises(NotFound):
        store.rename("d0", "x")
    with pytest.raises(UsageError):
        store.rename("d1", "moved/d0")


def test_refreshing_changes_what_is_said_about_a_text_and_keeps_its_passages(folder: Path) -> None:
    store, _ = made(folder, 1)
    ids = store.passage_ids("d0")
    before = store.heads()["d0"]
    store.refresh("d0", {"year": 2024}, "Engines")
    after = store.heads()["d0"]
    assert after.sha256 == before.sha256
    assert after.meta_sha256 != before.meta_sha256
    passage = store.passages(ids)[0]
    assert (passage.metadata, passage.title) == ({"year": 2024}, "Engines")
    assert verify(store) == []
    with pytest.raises(NotFound):
        store.refresh("nothing", {}, None)


def test_heads_of_many_documents_at_once(folder: Path) -> None:
    store, space = made(folder)
    uris = [f"d{n}\0odd" for n in range(1300)]
    store.replace([entry(uri, "x") for uri in uris], space.id)
    assert sorted(store.heads([*uris, "missing"])) == sorted(uris)
    assert len(store.heads()) == 1300
    assert store.heads([]) == {}


def test_documents_are_listed_by_id_a_page_at_a_time_and_by_path(folder: Path) -> None:
    store, space = made(folder)
    known = store.put_source(source("notes/deep/a.md", mtime_ns=7))
    store.replace(
        [
            entry("notes/deep/a.md#1", "One. Two", source=known, metadata={"year": 3}, title="A"),
            entry("notes/b.md", "x"),
            entry("other/c.md", "x"),
        ],
        space.id,
    )
    first = store.documents(limit=1)[0]
    assert first["id"] == "notes/b.md"
    listed = store.documents(path="notes/**", offset=1)[0]
    assert listed == {
        "id": "notes/deep/a.md#1", "title": "A", "size": 8, "mtime": 7, "loader": "text", "metadata": {"year": 3},
        "root": "/notes", "path": "notes/deep/a.md", "passages": 2,
    }  # fmt: skip
    by_glob = {
        "notes": ["notes/b.md", "notes/deep/a.md#1"],
        "notes/": ["notes/b.md", "notes/deep/a.md#1"],
        "notes/*.md": ["notes/b.md"],
        "**/*.md": ["notes/b.md", "notes/deep/a.md#1", "other/c.md"],
        "nothing": [],
    }
    assert {glob: [d["id"] for d in store.documents(path=glob)] for glob in by_glob} == by_glob


# ---- sources


def test_a_source_keeps_its_id_and_its_documents_follow_it(folder: Path) -> None:
    store, space = made(folder)
    known = store.put_source(source("a.md", mtime_ns=1))
    store.replace([entry("a.md#1", "x", source=known), entry("a.md#2", "y", source=known)], space.id)
    assert store.put_source(source("a.md", mtime_ns=2)) == known
    assert store.sources("/notes")["/notes", "a.md"].mtime_ns == 2
    assert store.sources("/elsewhere") == {}
    assert store.uris(known) == ["a.md#1", "a.md#2"]
    assert store.document_counts() == {known: 2}
    assert {d["mtime"] for d in store.documents()} == {2}
    store.move_source(known, source("b.md", mtime_ns=3))
    passage = store.passages(store.passage_ids("a.md#1"))[0]
    assert (passage.root, passage.path) == ("/notes", "b.md")
    other = store.put_source(source("c.md"))
    with pytest.raises(UsageError):
        store.move_source(other, source("b.md"))
    with pytest.raises(NotFound):
        store.move_source(999, source("z.md"))
    assert store.drop_sources([known, other]) == 2
    assert store.sources() == {}
    assert store.counts()["passages"] == 0
    assert verify(store) == []


def test_a_document_of_an_unknown_source_is_refused(folder: Path) -> None:
    store, space = made(folder)
    with pytest.raises(NotFound):
        store.replace([entry("a", "x", source=9)], space.id)


# ---- transactions


def test_an_exception_takes_everything_of_its_transaction_back(folder: Path) -> None:
    store, space = made(folder, 1)
    version = store.version()
    with pytest.raises(KeyboardInterrupt), store.transaction():
        store.replace([entry("a", "x")], space.id)
        store.delete(["d0"])
        raise KeyboardInterrupt
    assert set(store.heads()) == {"d0"}
    assert store.version() == version
    assert verify(store) == []


def test_an_inner_transaction_that_fails_is_undone_alone(folder: Path) -> None:
    store, space = made(folder)
    with store.transaction():
        store.replace([entry("a", "x")], space.id)
        with pytest.raises(ValueError, match="inner"), store.transaction():
            store.replace([entry("b", "x")], space.id)
            raise ValueError("inner")
        store.replace([entry("c", "x")], space.id)
    assert set(store.heads()) == {"a", "c"}
    assert verify(store) == []


def test_every_commit_that_changes_something_raises_the_version_once(folder: Path) -> None:
    store, space = made(folder)
    version = store.version()
    with store.transaction():
        store.replace([entry("a", "x")], space.id)
        store.delete(["a"])
    assert store.version() == version + 1
    with store.transaction():
        store.delete(["a"])
    assert store.version() == version + 1


def test_a_write_inside_a_snapshot_is_refused(folder: Path) -> None:
    store, space = made(folder)
    with store.snapshot(), pytest.raises(SemsearchError, match="snapshot"):
        store.replace([entry("a", "x")], space.id)
    store.replace([entry("a", "x")], space.id)


def test_a_reader_and_a_closed_store_refuse_to_write(folder: Path) -> None:
    store, space = made(folder, 1)
    store.close()
    for call in (lambda: store.delete(["d0"]), store.version, lambda: store.passages([1])):
        with pytest.raises(SemsearchError):
            call()
    with Store.open(folder) as reader, pytest.raises(SemsearchError, match="reading only"):
        reader.replace([entry("a", "x")], space.id)


@pytest.mark.parametrize("nested", [False, True])
def test_a_full_disk_loses_nothing_and_is_an_error_of_ours(folder: Path, nested: bool) -> None:
    store, space = made(folder, 20)
    before = contents(store)
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count={pages + 2}")
    many = [entry(f"big{n}", f"{n} " + "word " * 200) for n in range(200)]
    with pytest.raises(SemsearchError, match="disk is full"):
        if nested:
            with store.transaction():
                store.delete(["d0"])
                store.replace(many, space.id)
        else:
            store.replace(many, space.id)
    assert contents(store) == before
    store.connection.execute("PRAGMA max_page_count=1000000")
    store.replace(many, space.id)
    assert verify(store) == []


def test_a_transaction_that_a_full_disk_ended_cannot_go_on(folder: Path) -> None:
    store, space = made(folder, 1)
    with pytest.raises(SemsearchError), store.transaction():
        store.delete(["d0"])
        store.connection.execute("ROLLBACK")  # as SQLite does by itself
        store.replace([entry("a", "x")], space.id)
    assert set(store.heads()) == {"d0"}


# ---- recipe, spaces, caches, runs


def test_recipe_background_and_runs_are_kept(folder: Path) -> None:
    store, space = made(folder)
    recipe = {"paths": ["/a"], "splitter": {"size": 100}, "nothing": None}
    store.set_recipe({"old": 1})
    store.set_recipe(recipe)
    quantiles = tuple(np.linspace(-0.1, 0.9, 1001).tolist())
    store.set_background(space.id, quantiles, 77)
    for n in range(130):
        store.add_run({"n": n, "skipped": [["a", "because"]]})
    store.close()
    with Store.open(folder) as again:
        assert again.recipe() == recipe
        assert again.spaces()[0].background == quantiles
        assert again.spaces()[0].background_count == 77
        assert again.last_run() == {"n": 129, "skipped": [["a", "because"]]}
        assert again.connection.execute("SELECT count(*) FROM runs").fetchone() == (100,)


def test_caches_are_listed_newest_first(folder: Path) -> None:
    store, space = made(folder)
    rows = [store.add_cache(CacheRow(0, space.id, f"c{n}", 1, "ab", 0, 2, "Flat", "1.15", "why")) for n in range(3)]
    assert store.caches(space.id) == rows[::-1]
    assert len({row.id for row in rows}) == 3
    store.drop_cache(rows[1].id)
    assert [row.file for row in store.caches(space.id)] == ["c2", "c0"]
    assert store.caches(99) == []


def test_compacting_gives_the_room_back_and_keeps_everything(folder: Path) -> None:
    store, space = made(folder, 5)
    store.replace([entry(f"big{n}", f"{n} " + "word " * 300) for n in range(300)], space.id)
    store.delete([f"big{n}" for n in range(300)])
    store.close()
    store = Store.open(folder, write=True)
    before, kept = (folder / "store.db").stat().st_size, contents(store)
    with Store.open(folder) as reader, reader.snapshot():
        store.compact()
    store.compact()
    assert (folder / "store.db").stat().st_size < before / 2
    assert contents(store) == kept
    assert verify(store) == []


# ---- damage


def test_a_damaged_text_or_vector_is_never_returned(folder: Path) -> None:
    store, space = made(folder, 3)
    store.connection.execute("UPDATE passages SET text = 'Another text' WHERE id = 3")
    store.connection.execute("UPDATE vectors SET vector = zeroblob(32) WHERE passage = 4")
    store.connection.execute("UPDATE documents SET body = x'00' WHERE uri = 'd2'")
    with pytest.raises(Corrupt, match="passage 3"):
        store.passages([1, 3])
    with pytest.raises(Corrupt, match="passage 4"):
        list(store.vectors(space.id))
    with pytest.raises(Corrupt, match="d2"):
        store.document("d2")
    assert len(store.passages([1, 2])) == 2


def test_vectors_that_changed_places_are_noticed(folder: Path) -> None:
    store, space = made(folder, 1)
    (one, two) = store.connection.execute("SELECT crc, vector FROM vectors ORDER BY passage").fetchall()
    for passage, (crc, vector) in ((1, two), (2, one)):
        store.connection.execute("UPDATE vectors SET crc = ?, vector = ? WHERE passage = ?", (crc, vector, passage))
    with pytest.raises(Corrupt):
        list(store.vectors(space.id))


def test_flipped_bytes_give_the_right_answer_or_an_error_of_ours(folder: Path, tmp_path: Path) -> None:
    store, space = made(folder, 60)
    store.compact()
    right = contents(store)
    documents = {uri: store.document(uri) for uri in right}
    rows = np.concatenate([rows for _, rows in store.vectors(space.id)])
    store.close()
    good = (folder / "store.db").read_bytes()
    rng = np.random.default_rng(5)
    used = np.flatnonzero(np.frombuffer(good, np.uint8))
    noticed = 0
    for number in range(60):
        bad = bytearray(good)
        at = int(rng.choice(used))
        bad[at : at + 8] = rng.bytes(8)[: len(bad) - at]
        damaged = tmp_path / f"n{number}"
        damaged.mkdir()
        (damaged / "store.db").write_bytes(bad)
        try:
            with Store.open(damaged) as reader:
                noticed += bool(verify(reader))
                found = {uri: [p.text for p in reader.passages(reader.passage_ids(uri))] for uri in right}
                for uri in right:  # where an index was hit, something may be missing; nothing may be wrong
                    assert set(found[uri]) <= set(right[uri]), (at, uri, found[uri], right[uri])
                assert all(reader.document(uri) in (None, documents[uri]) for uri in right)
                for ids, part in reader.vectors(space.id):
                    assert np.array_equal(part, rows[ids - 1])
        except SemsearchError:
            noticed += 1
    assert noticed > 45  # the rest fell on what was deleted, or on full text that the reader's sample does not see


# ---- the whole of it, against a model


class StoreAgainstModel(RuleBasedStateMachine):
    """Any sequence of changes, rollbacks and reopenings leaves what a dict would hold."""

    uris = st.sampled_from([f"u{n}" for n in range(6)])
    words = st.lists(st.sampled_from(["diesel", "engine", "日本語の文", "x\0y", "ß"]), min_size=0, max_size=3)

    @initialize()
    def make(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name) / "notes"
        self.store, self.space = made(self.folder)
        self.model: dict[str, list[str]] = {}
        self.highest = 0

    @rule(uri=uris, parts=words)
    def put(self, uri: str, parts: list[str]) -> None:
        self.store.replace([entry(uri, ". ".join(parts))], self.space.id)
        self.model[uri] = list(parts)
        fresh = self.store.passage_ids(uri)
        assert all(fresh > self.highest)
        self.highest = max([self.highest, *fresh.tolist()])

    @rule(uri=uris)
    def drop(self, uri: str) -> None:
        assert self.store.delete([uri]) == int(self.model.pop(uri, None) is not None)

    @rule(old=uris, new=uris)
    def move(self, old: str, new: str) -> None:
        if old in self.model and new not in self.model:
            self.store.rename(old, new)
            self.model[new] = self.model.pop(old)

    @rule(uri=uris, parts=words)
    def fail(self, uri: str, parts: list[str]) -> None:
        with pytest.raises(ZeroDivisionError), self.store.transaction():
            self.store.replace([entry(uri, ". ".join(parts))], self.space.id)
            raise ZeroDivisionError

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder, write=True)

    @precondition(lambda self: self.model)
    @rule()
    def compact(self) -> None:
        self.store.compact()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "store"):
            return
        assert contents(self.store) == self.model
        found = self.store.connection.execute("SELECT rowid FROM passages_fts WHERE passages_fts MATCH 'diesel'")
        wanted = sorted(part for parts in self.model.values() for part in parts if part == "diesel")
        assert sorted(p.text for p in self.store.passages([row[0] for row in found.fetchall()])) == wanted

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert verify(self.store) == []
            self.store.close()
            self.place.cleanup()


TestStoreAgainstModel = StoreAgainstModel.TestCase
TestStoreAgainstModel.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
