from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.opened import all_stamps, last_run, reader_of, sources_by_key, space_vectors, verify
from helpers.reading import counts, full_document
from helpers.stores import entry, made, measured_null, source

from semsearch.errors import Corrupt, NotFound, SemsearchError, UsageError
from semsearch.stores.local import LocalWriter, create, open_reader, open_writer
from semsearch.stores.local.backup import dump, restore
from semsearch.stores.local.database import schema
from semsearch.utils.atomic_write import sweep, workplace
from semsearch.vector_index.cache_files import CacheFile

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> LocalWriter:
    store, space = made(tmp_path / "notes", 5)
    known = store.put_sources([source()])[0]
    store.replace([entry("a.md", "With a source. And 日本語", source=known, metadata={"a": [1]}, title="T")], space.id)
    store.change_recipe(lambda _: {"paths": ["x"]})
    store.record_run({"added": 3})
    store.put_space(replace(space, null_distribution=measured_null(6)))
    store.delete(["d1"])
    return store


def everything(store: LocalWriter) -> dict[str, object]:
    uris = sorted(all_stamps(store))
    return {
        "documents": [full_document(reader_of(store), uri) for uri in uris],
        "heads": all_stamps(store),
        "passages": {uri: reader_of(store).passages(reader_of(store).passage_ids([uri])) for uri in uris},
        "vectors": [(ids.tolist(), rows.tolist()) for ids, rows in reader_of(store).vectors(1)],
        "sources": sources_by_key(store),
        "recipe": reader_of(store).state().recipe,
        "run": last_run(store),
        "spaces": reader_of(store).state().spaces,
        "counts": counts(reader_of(store)),
    }


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_restored_is_what_was_dumped(store: LocalWriter, tmp_path: Path) -> None:
    before = everything(store)
    with open_reader(store.connection.folder) as reader:
        dump(reader, tmp_path / "notes.dump")
    restore(tmp_path / "notes.dump", tmp_path / "new" / "again")
    with open_writer(tmp_path / "new" / "again") as again:
        assert everything(again) == before
        assert verify(again) == []
        again.replace([entry("later", "x")], 1)
        (used,) = store.connection.raw.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'").fetchone()
        assert again.reader.passage_ids(["later"]).min() > used
    assert files(tmp_path) == ["new", "notes", "notes.dump"]
    assert files(tmp_path / "new") == ["again"]
    assert everything(store) == before


def test_the_same_store_gives_the_same_dump_over_an_older_one(store: LocalWriter, tmp_path: Path) -> None:
    dump(store.reader, tmp_path / "one")
    (tmp_path / "two").write_text("older")
    dump(store.reader, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_deleted_texts_and_caches_are_not_in_a_dump(store: LocalWriter, tmp_path: Path) -> None:
    store.replace([entry("secret", "zyzzyva " * 200)], 1)
    store.add_cache(CacheFile(0, 1, "cache-1", 1, "ab", 6, 6, "Flat", "1", "because"))
    store.delete(["secret"])
    dump(store.reader, tmp_path / "dump")
    with zipfile.ZipFile(tmp_path / "dump") as archive:
        assert b"zyzzyva" not in archive.read("store.db")
    restore(tmp_path / "dump", tmp_path / "again")
    with open_reader(tmp_path / "again") as again:
        assert space_vectors(again, 1).caches() == []


def test_a_dump_holds_what_was_committed_while_a_writer_is_at_work(store: LocalWriter, tmp_path: Path) -> None:
    with open_reader(store.connection.folder) as reader, store.transaction():
        store.delete(["d0"])
        dump(reader, tmp_path / "dump")
    restore(tmp_path / "dump", tmp_path / "again")
    with open_reader(tmp_path / "again") as again:
        assert "d0" in all_stamps(again)


def test_a_damaged_store_is_not_dumped_as_if_it_were_sound(store: LocalWriter, tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("the last good one")
    store.connection.raw.execute("UPDATE passages SET text = 'Another' WHERE id = 1")
    with pytest.raises(Corrupt, match="passage 1"):
        dump(store.reader, tmp_path / "dump")
    assert (tmp_path / "dump").read_text() == "the last good one"
    assert files(tmp_path) == ["dump", "notes"]


def test_restoring_needs_a_file_and_a_new_folder(store: LocalWriter, tmp_path: Path) -> None:
    dump(store.reader, tmp_path / "dump")
    with pytest.raises(NotFound):
        restore(tmp_path / "missing", tmp_path / "again")
    (tmp_path / "taken").mkdir()
    for taken in (store.connection.folder, tmp_path / "taken", tmp_path / "dump"):
        with pytest.raises(UsageError):
            restore(tmp_path / "dump", taken)
    with pytest.raises(SemsearchError):
        dump(store.reader, tmp_path / "no such folder" / "dump")
    assert files(tmp_path) == ["dump", "notes", "taken"]


def test_a_dump_cut_short_anywhere_is_refused_and_leaves_nothing(store: LocalWriter, tmp_path: Path) -> None:
    dump(store.reader, tmp_path / "dump")
    whole = (tmp_path / "dump").read_bytes()
    for length in [0, 1, 10, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1]:
        (tmp_path / "dump").write_bytes(whole[:length])
        with pytest.raises(Corrupt):
            restore(tmp_path / "dump", tmp_path / "again")
        assert files(tmp_path) == ["dump", "notes"]


def test_a_garbled_dump_is_refused_or_gives_exactly_what_was_dumped(store: LocalWriter, tmp_path: Path) -> None:
    dump(store.reader, tmp_path / "dump")
    whole = (tmp_path / "dump").read_bytes()
    right = everything(store)
    rng = np.random.default_rng(3)
    refused = 0
    for number in range(40):
        bad = bytearray(whole)
        at = int(rng.integers(len(bad)))
        bad[at] ^= int(rng.integers(1, 256))
        (tmp_path / "dump").write_bytes(bad)
        try:
            restore(tmp_path / "dump", tmp_path / f"again{number}")
        except SemsearchError:
            refused += 1
            assert not (tmp_path / f"again{number}").exists()
        else:  # a time stamp, for instance
            with open_reader(tmp_path / f"again{number}") as again:
                assert everything(again) == right
    assert refused > 30
    assert not list(tmp_path.glob(".*"))


def _packed(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


def _members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_dump_cannot_name_a_place_to_write_to(store: LocalWriter, tmp_path: Path) -> None:
    dump(store.reader, tmp_path / "dump")
    good = _members(tmp_path / "dump")
    for name in ("../evil", "/tmp/evil", "again/../../evil", "evil"):
        with pytest.raises(Corrupt):
            restore(_packed(tmp_path / "bad", {**good, name: b"x"}), tmp_path / "again")
    assert files(tmp_path) == ["bad", "dump", "notes"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("bytes", 10), ("bytes", 10**9), ("sha256", "00"), ("bytes", "x"), ("bytes", None), ("semsearch", "other")],
)
def test_a_header_that_does_not_fit_is_refused(store: LocalWriter, tmp_path: Path, key: str, value: object) -> None:
    dump(store.reader, tmp_path / "dump")
    members = _members(tmp_path / "dump")
    header = {**json.loads(members["dump.json"]), key: value}
    with pytest.raises(Corrupt):
        restore(_packed(tmp_path / "bad", {**members, "dump.json": json.dumps(header).encode()}), tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("key", ["format", "schema"])
def test_a_dump_of_a_newer_program_says_to_upgrade(store: LocalWriter, tmp_path: Path, key: str) -> None:
    dump(store.reader, tmp_path / "dump")
    members = _members(tmp_path / "dump")
    header = json.dumps({**json.loads(members["dump.json"]), key: 99}).encode()
    with pytest.raises(SemsearchError, match="newer version"):
        restore(_packed(tmp_path / "bad", {**members, "dump.json": header}), tmp_path / "again")


def test_a_database_with_something_of_its_own_in_it_is_refused(store: LocalWriter, tmp_path: Path) -> None:
    """A trigger that came with somebody's dump would run at the next write."""
    import hashlib
    import sqlite3

    dump(store.reader, tmp_path / "dump")
    members = _members(tmp_path / "dump")
    (tmp_path / "evil.db").write_bytes(members["store.db"])
    evil = sqlite3.connect(tmp_path / "evil.db")
    evil.execute("CREATE TRIGGER evil AFTER DELETE ON caches BEGIN DELETE FROM vectors; END")
    evil.close()
    database = (tmp_path / "evil.db").read_bytes()
    header = json.loads(members["dump.json"])
    header.update(bytes=len(database), sha256=hashlib.sha256(database).hexdigest())
    bad = _packed(tmp_path / "bad", {"dump.json": json.dumps(header).encode(), "store.db": database})
    with pytest.raises(Corrupt, match="evil does not belong"):
        restore(bad, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_what_a_killed_dump_or_restore_left_is_cleared_by_the_next(store: LocalWriter, tmp_path: Path) -> None:
    for left in (".dump.dumping/dump", ".again.restoring/again"):
        (tmp_path / left).mkdir(parents=True)
        (tmp_path / left / "store.db").write_text("half")
    dump(store.reader, tmp_path / "dump")
    restore(tmp_path / "dump", tmp_path / "again")
    assert files(tmp_path) == ["again", "dump", "notes"]


@pytest.mark.slow
def test_dumping_needs_little_memory(tmp_path: Path) -> None:
    store, _ = made(tmp_path / "notes")
    with store.transaction():
        for n in range(70):
            store.record_run({"long": f"{n} " * 2**19})
    store.close()
    assert (tmp_path / "notes" / "store.db").stat().st_size > 70 * 2**20
    code = f"""
import resource
from pathlib import Path
from semsearch.stores.local.backup import dump, restore
from semsearch.stores.local import create, open_reader, open_writer
place = Path({str(tmp_path)!r})
store = open_reader(place / "notes")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
dump(store, place / "dump")
restore(place / "dump", place / "again")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 100  # MiB: the page caches of two connections, 32 each, and what is imported
    shutil.rmtree(tmp_path / "again")


@pytest.mark.parametrize(
    "header", ['"bytes": 1e999', '"bytes": -1e999', '"bytes": NaN', '"format": 1e999', '"bytes": []']
)
def test_a_header_with_an_absurd_number_is_a_damaged_dump(store: LocalWriter, tmp_path: Path, header: str) -> None:
    dump(store.reader, tmp_path / "dump")
    members = _members(tmp_path / "dump")
    key = header.split(":")[0]
    lines = [header + "," if key in line else line for line in members["dump.json"].decode().splitlines()]
    bad = _packed(tmp_path / "bad", {**members, "dump.json": "\n".join(lines).encode()})
    with pytest.raises(SemsearchError, match=r"damaged|newer semsearch"):
        restore(bad, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_dump_packed_in_another_way_is_refused(store: LocalWriter, tmp_path: Path, method: int) -> None:
    dump(store.reader, tmp_path / "dump")
    with zipfile.ZipFile(tmp_path / "bad", "w", method) as archive:
        for name, content in _members(tmp_path / "dump").items():
            archive.writestr(name, content)
    with pytest.raises(Corrupt, match="not a dump"):
        restore(tmp_path / "bad", tmp_path / "again")


@pytest.mark.parametrize("limit", [4_096, 30_000, 100_000])
def test_a_disk_without_room_is_reported_for_the_file_that_is_written(
    store: LocalWriter, tmp_path: Path, limit: int
) -> None:
    dump(store.reader, tmp_path / "good")
    before = everything(store)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for write, target in (
        (lambda target: dump(store.reader, target), tmp_path / "dump"),
        (lambda target: restore(tmp_path / "good", target), tmp_path / "again"),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(SemsearchError) as caught:
                write(target)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert caught.value.message.startswith(f"{target} cannot be written: ") and "batch" not in str(caught.value)
    assert files(tmp_path) == ["good", "notes"] and everything(store) == before
    dump(store.reader, tmp_path / "dump")


def test_a_full_disk_is_reported_for_the_file_that_is_written(
    store: LocalWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(schema, "migrate", full)  # the copy is opened for writing
    with pytest.raises(SemsearchError, match=r"dump cannot be written: the disk is full\. Free some space"):
        dump(store.reader, tmp_path / "dump")


KILLED = """
import os, sys
from pathlib import Path
from semsearch.stores.local import backup
backup.verify = lambda *_: os._exit(9)
backup.restore(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_what_a_killed_restore_left_is_removed_by_the_next_command_that_writes(
    store: LocalWriter, tmp_path: Path
) -> None:
    dump(store.reader, tmp_path / "dump")
    store.close()
    run = [sys.executable, "-c", KILLED, str(tmp_path / "dump"), str(tmp_path / "again")]
    next_commands = (
        lambda: open_writer(tmp_path / "notes").close(),
        lambda: restore(tmp_path / "dump", tmp_path / "other"),
        lambda: create(tmp_path / "third").close(),
    )
    for command in next_commands:
        assert subprocess.run(run, cwd=CHECKOUT, check=False).returncode == 9
        assert (tmp_path / ".again.restoring" / "again" / "store.db").is_file()
        command()
        assert not (tmp_path / ".again.restoring").exists()


@pytest.mark.parametrize("left", [(), ("writer.pid",), ("again/store.db",)])
def test_what_a_power_cut_left_without_its_lock_is_removed_too(
    store: LocalWriter, tmp_path: Path, left: tuple[str, ...]
) -> None:
    """The folder may be on disk and the lock in it not."""
    (tmp_path / ".again.restoring" / "again").mkdir(parents=True)
    for name in left:
        (tmp_path / ".again.restoring" / name).write_text("half")
    store.close()
    open_writer(tmp_path / "notes").close()
    assert not (tmp_path / ".again.restoring").exists()


def test_a_workplace_that_is_made_just_now_keeps_its_lock_and_its_folder(tmp_path: Path) -> None:
    """Between the making of its lock and the taking, another process may look for what a kill has left."""
    around = tmp_path / ".again.reading"
    around.mkdir()
    (around / "writer.lock").touch()
    sweep(tmp_path)
    assert around.exists()
    long_ago = time.time() - 3_600
    os.utime(around, (long_ago, long_ago))
    sweep(tmp_path)
    assert not around.exists()


def test_a_restore_at_work_and_the_folders_of_others_are_left_alone(store: LocalWriter, tmp_path: Path) -> None:
    (tmp_path / ".mine.restoring").mkdir()
    (tmp_path / ".mine.restoring" / "thesis.txt").write_text("mine")
    (tmp_path / ".mine.restoring" / "writer.lock").touch()
    (tmp_path / ".yours.dumping" / "drafts").mkdir(parents=True)
    with workplace(tmp_path / "again", "restoring") as place:
        (place / "store.db").write_text("half")
        store.close()
        open_writer(tmp_path / "notes").close()
        assert (place / "store.db").is_file()
    assert (tmp_path / ".mine.restoring" / "thesis.txt").is_file() and (tmp_path / ".yours.dumping" / "drafts").is_dir()
