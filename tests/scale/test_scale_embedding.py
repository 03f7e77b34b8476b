"""What an actor answers, what the driver stores of it, and what an index then finds: without a cluster."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import pytest
from helpers.commandline import CommandLine

from semsearch import Index, SyncOptions
from semsearch.chunking.splitter import Splitter, passages
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import Corrupt, EncoderMismatch, EncodingFailed, Locked, SemsearchError, UsageError
from semsearch.scale import cluster, parts, pool
from semsearch.scale.cluster import Engine, most_workers, workers
from semsearch.scale.encoding import Embedding
from semsearch.scale.found_vectors import FoundVectors
from semsearch.scale.jobs import embedded_ahead
from semsearch.scale.parts import Done, Part
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.types import Document, Role, TruncationStats

if TYPE_CHECKING:
    from semsearch.types import Vectors

JOB = {"encoder": "hashing", "fingerprint": HashingEncoder().fingerprint, "dim": 256, "splitter": {}, "context": True}
NOTES = [Document(f"n{n}", f"Note {n} is about kettle number {n}. " * 3, {"n": n}, f"Note {n}") for n in range(12)]


class Counting(Counter[str]):
    """Attempts in this process."""

    def begun(self, what: str) -> int:
        self[what] += 1
        return self[what]

    def ended(self, what: str) -> None:
        del self[what]

    def alive(self) -> None:
        self.beats += 1

    beats = 0


class Failing(HashingEncoder):
    """Fails at texts with the word poison, so often."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
        if any("poison" in text for text in texts) and self.left:
            self.left -= len(texts) == 1
            raise ValueError("poisoned")
        return super().encode(texts, role=role)


def embedding(model: BaseEncoder | None = None, attempts: Counting | None = None, size: int = 20) -> Embedding:
    model = model or HashingEncoder()
    encoder = LazyEncoder("the job", model.name, model.fingerprint, model.dim, recorded=None, wanted=model)
    return Embedding(
        encoder, Splitter(size=size), context=True, attempts=Counting() if attempts is None else attempts, worker="here"
    )


def answers(documents: Sequence[Document], shard: str = "s", how: Embedding | None = None) -> list[Done]:
    how = how or embedding()
    return [
        parts.done_of(how.answer(part).table().to_pylist()[0])
        for part in parts.parts(shard, [(one, None) for one in documents])
    ]


def stored(folder: ShardFolder, name: str = "s") -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(folder.file(name)).to_pylist()
    return rows


def test_the_rows_are_the_passages_and_vectors_of_the_local_path(tmp_path: Path) -> None:
    with Index.create(tmp_path / "local", encoder="hashing", splitter=Splitter(size=20)) as index:
        index.add(NOTES)
        expected = {
            (one["document"], one["start"]): (one["text"], index.vectors([one["id"]])[0])
            for note in NOTES
            for one in index.passages(note.id)
        }
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        for done in answers(NOTES):
            folder.put(done)
        rows = stored(folder)
    assert {(row["document"], row["start"]) for row in rows} == expected.keys() and len(rows) == len(expected) > 12
    for row in rows:
        text, vector = expected[row["document"], row["start"]]
        assert row["text"] == text and float(np.dot(row["vector"], vector)) > 0.9999


def test_a_shard_is_done_once_all_parts_are_there_in_whatever_order(tmp_path: Path) -> None:
    long = [Document(f"d{n}", f"Word{n} " * 8000) for n in range(9)]
    done = answers(long)
    assert len(done) > 2
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        for one in reversed(done[1:]):
            assert not folder.put(one) and not folder.put(one)
        assert not folder.done
        assert folder.put(done[0]) and folder.put(done[0])
        assert folder.done["s"].documents == 9
        in_order = [row["document"] for row in stored(folder)]
        assert list(dict.fromkeys(in_order)) == [one.id for one in long]


def test_parts_of_an_unfinished_shard_are_forgotten_and_finished_shards_stay(tmp_path: Path) -> None:
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        folder.put(answers(NOTES, "whole")[0])
        [part] = answers(NOTES, "half")
        folder.put(Done(**{**{name: getattr(part, name) for name in part.__slots__}, "last": False}))
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        assert list(folder.done) == ["whole"] and not list(folder.path.glob(".shard-*"))
        assert folder.keep_only([]) == 1 and not list(folder.path.glob("shard-*"))


def test_a_changed_file_of_a_shard_is_found_out_and_embedded_anew(tmp_path: Path) -> None:
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        folder.put(answers(NOTES)[0])
        content = bytearray(folder.file("s").read_bytes())
        content[len(content) // 2] ^= 1
        folder.file("s").write_bytes(content)
        with pytest.raises(Corrupt, match="not what was written"):
            FoundVectors(HashingEncoder()).use(folder, ["s"])
    with ShardFolder(tmp_path / "shards", JOB) as folder:
        assert not folder.done


def test_a_folder_is_for_one_encoder_one_process_and_nothing_else(tmp_path: Path) -> None:
    with ShardFolder(tmp_path / "shards", JOB), pytest.raises(Locked):
        ShardFolder(tmp_path / "shards", JOB)
    with pytest.raises(EncoderMismatch):
        ShardFolder(tmp_path / "shards", {**JOB, "fingerprint": "0" * 16, "encoder": "other"})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.odt").write_text("mine")
    with pytest.raises(UsageError, match=r"thesis\.odt"):
        ShardFolder(tmp_path / "full", JOB)
    assert [file.name for file in (tmp_path / "full").iterdir()] == ["thesis.odt"]


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        ("", Corrupt, "is damaged"),
        ("[]", Corrupt, "is damaged"),
        ('{"format": 1}', Corrupt, "is damaged"),
        ('{"format": 9, "encoder": "e", "fingerprint": "f"}', SemsearchError, "by a newer semsearch"),
    ],
)
def test_a_description_that_cannot_be_read_is_one_line(
    tmp_path: Path, content: str, error: type[SemsearchError], said: str
) -> None:
    (tmp_path / "job.json").write_text(content)
    with pytest.raises(error, match=said):
        ShardFolder(tmp_path, JOB)


def test_what_a_kill_has_left_is_removed_and_never_loaded(tmp_path: Path) -> None:
    with ShardFolder(tmp_path, JOB) as folder:
        folder.put(answers(NOTES, "kept")[0])
        folder.put(answers(NOTES, "left")[0])
    (tmp_path / "shard-left.done").unlink()  # killed between the file and its marker, and then the file has changed
    (tmp_path / ".shard-left.parquet.new").write_bytes(b"half")
    (tmp_path / "shard-gone.done").write_text("{}")
    (tmp_path / ".shard-new").mkdir()
    (tmp_path / ".shard-new" / "00000007").write_bytes(b"a part of another cut")
    with ShardFolder(tmp_path, JOB) as folder:
        folder.put(answers(NOTES, "new")[0])
        assert "new" in folder.done
        folder.keep_only(["kept"])
    assert sorted(one.name for one in tmp_path.glob("*shard-*")) == ["shard-kept.done", "shard-kept.parquet"]


def test_a_document_at_which_the_encoder_fails_once_is_embedded_after_all() -> None:
    [done] = answers([*NOTES, Document("p", "This is poison.")], how=embedding(Failing(1)))
    assert not done.failed and done.documents == 13


def test_a_document_at_which_the_encoder_fails_twice_is_set_aside_with_its_reason() -> None:
    [done] = answers([*NOTES[:6], Document("p", "This is poison."), *NOTES[6:]], how=embedding(Failing(10**6)))
    assert [(one.document, "poisoned" in one.reason) for one in done.failed] == [("p", True)]
    assert done.documents == 12


def test_a_long_document_gives_signs_of_life_and_the_same_passages() -> None:
    attempts = Counting()
    words = " ".join(f"word{n}" for n in range(12_000))
    [done] = answers([Document("long", words)], how=embedding(attempts=attempts, size=20))
    assert done.passages == len(passages(Document("long", words), Splitter(size=20), HashingEncoder().count_tokens))
    assert attempts.beats == -(-done.passages // 256) > 1


def test_the_watch_goes_on_while_actors_do_and_ends_with_them() -> None:
    class Dataset:
        released = threading.Event()

        def iter_batches(self, **_: object) -> Iterator[object]:
            self.released.wait()
            return iter(())

    beats = iter([1, 2, 3, 3])
    ray = SimpleNamespace(get=lambda asked, timeout: asked)
    desk = SimpleNamespace(beats=SimpleNamespace(remote=lambda: next(beats)), problems=SimpleNamespace(remote=list))
    with pytest.raises(SemsearchError, match="stands still"):
        list(pool.answers(ray, Dataset(), desk, 0.01, parts.done_of, ""))
    Dataset.released.set()
    assert next(beats, None) is None  # all four were asked for


def test_an_encoder_that_fails_at_everything_ends_the_job() -> None:
    class Broken(HashingEncoder):
        def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
            raise ValueError("no memory for anything")

    with pytest.raises(EncodingFailed, match="plain sentence"):
        answers(NOTES, how=embedding(Broken()))


def test_a_document_that_ended_its_process_twice_is_set_aside_and_its_neighbours_are_not() -> None:
    class Killed(BaseException):
        pass

    class Deadly(HashingEncoder):
        def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
            if any("deadly" in text for text in texts):
                raise Killed
            return super().encode(texts, role=role)

    attempts, runs = Counting(), 0
    some = [*NOTES[:6], Document("d", "This is deadly."), *NOTES[6:]]
    [part] = parts.parts("s", [(one, None) for one in some])
    while True:
        runs += 1
        try:
            done = embedding(Deadly(), attempts).answer(part)  # a new process, with the counts of the desk
            break
        except Killed:
            assert runs < 10
    assert [one.document for one in done.failed] == ["d"] and done.documents == 12 and runs == 5


def test_an_index_takes_the_vectors_of_the_shards_and_encodes_nothing(tmp_path: Path) -> None:
    for note in NOTES:
        (tmp_path / f"{note.id}.txt").write_text(note.text)
    with Index.create(tmp_path / "first", encoder="hashing", splitter=Splitter(size=20)) as index:
        index.sync(tmp_path, SyncOptions())
        known = [index.get(note) for note in index.matching()]
    model = HashingEncoder()
    encoder = FoundVectors(model)
    with ShardFolder(tmp_path / ".shards", JOB) as folder:
        found = [Document(one["document"], one["text"], one["metadata"], one["title"]) for one in known]
        for done in answers(found):
            folder.put(done)
        encoder.use(folder, ["s"])
        before = model.embedded
        with Index.create(tmp_path / "second", encoder=encoder, splitter=Splitter(size=20)) as index:
            report = index.sync(tmp_path, SyncOptions())
            assert report.added == len(NOTES) and model.embedded - before <= 300  # the null distribution's own texts
            assert encoder.found == report.passages == report.vectors


def test_texts_that_were_set_aside_are_skipped_by_the_index_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("This is poison.")
    (tmp_path / "q.txt").write_text("This is tea.")
    encoder = FoundVectors(HashingEncoder())
    with ShardFolder(tmp_path / ".shards", JOB) as folder:
        read = [Document("p.txt", "This is poison.", title="p"), Document("q.txt", "This is tea.", title="q")]
        folder.put(answers(read, how=embedding(Failing(10**6)))[0])
        encoder.use(folder, ["s"])
        with Index.create(tmp_path / "notes", encoder=encoder) as index:
            report = index.sync(tmp_path, SyncOptions())
    assert (report.added, [(one.path, "poisoned" in one.reason) for one in report.skipped]) == (1, [("p.txt", True)])


def test_a_text_that_a_failed_document_shares_with_others_is_stored_with_them(tmp_path: Path) -> None:
    shared = "This sentence is in both of the documents, and it is longer than one window of this splitter may be."
    records = {"p": f"{shared} This is poison.", "q": shared}
    lines = [json.dumps({"id": name, "text": text}) for name, text in records.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n")
    encoder = FoundVectors(HashingEncoder())
    with Index.create(tmp_path / "notes", encoder=encoder, splitter=Splitter(size=20)) as index:
        with ShardFolder(tmp_path / ".shards", JOB) as folder:
            found = [Document(name, text) for name, text in records.items()]
            folder.put(answers(found, how=embedding(Failing(10**6)))[0])
            encoder.use(folder, ["s"])
            report = index.sync(tmp_path / "notes.jsonl", SyncOptions())
        assert (report.added, [one.path for one in report.skipped]) == (1, ["p"])


def test_texts_that_were_cut_are_counted_as_on_the_local_path(tmp_path: Path) -> None:
    class Short(HashingEncoder):
        cut = TruncationStats()

        @property
        def truncation(self) -> TruncationStats:
            return self.cut

        def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
            self.cut.passages += len(texts)
            self.cut.tokens += 7 * len(texts)
            return super().encode(texts, role=role)

    encoder = FoundVectors(HashingEncoder())
    (tmp_path / "q.txt").write_text("This is tea.")
    with ShardFolder(tmp_path / ".shards", JOB) as folder:
        folder.put(answers([Document("q.txt", "This is tea.", title="q")], how=embedding(Short()))[0])
        encoder.use(folder, ["s"])
        with Index.create(tmp_path / "notes", encoder=encoder) as index:
            report = index.sync(tmp_path, SyncOptions())
    assert (report.cut_passages, report.cut_tokens) == (1, 7)


def test_an_index_of_another_encoder_is_refused_before_anything_is_embedded(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("This is tea.")
    Index.create(tmp_path / "notes", encoder=HashingEncoder(dim=64)).close()
    ahead = embedded_ahead(
        tmp_path / "notes", FoundVectors(HashingEncoder()), [tmp_path], SyncOptions(), Engine("127.0.0.1:6")
    )
    with pytest.raises(EncoderMismatch), ahead:
        pass


def test_an_error_on_leaving_ray_never_takes_the_place_of_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def shutdown() -> None:
        raise RuntimeError("the core worker is gone")

    ray = SimpleNamespace(is_initialized=lambda: False, init=lambda *_, **__: None, shutdown=shutdown)
    monkeypatch.setattr(cluster, "imported", lambda: ray)
    with pytest.raises(KeyboardInterrupt), cluster.connected(Engine()):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("least", "cpus", "nodes", "fit"),
    [(2, 1, [2, 2], 4), (1, 1, [0, 2], 2), (2, 1.5, [2, 2], 2), (1, 0.5, [2], 4)],
)
def test_as_many_workers_as_fit_on_the_nodes(least: int, cpus: float, nodes: list[float], fit: int) -> None:
    has = [{"CPU": float(cpu)} for cpu in nodes]
    assert most_workers(Engine(least=least, cpus=cpus), has) == fit


def test_a_cluster_that_grows_may_have_more_workers_than_fit_at_first() -> None:
    assert most_workers(Engine(least=1, most=64), [{"CPU": 2.0}]) == 64


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("name", "option"),
    [("cpus", "--cpus-per-worker"), ("gpus", "--gpus-per-worker"), ("stall_seconds", "--stall-after")],
)
def test_a_number_that_no_worker_can_have_is_refused_by_its_option(name: str, option: str, number: float) -> None:
    with pytest.raises(UsageError, match=f"{option}: .* no number above 0. Leave it out"):
        Engine(**{name: number})


@pytest.mark.parametrize(
    ("engine", "has"),
    [
        (Engine(least=3), [{"CPU": 2.0}]),
        (Engine(least=5), [{"CPU": 2.0}, {"CPU": 2.0}]),
        (Engine(cpus=4), [{"CPU": 2.0}, {"CPU": 2.0}]),
        (Engine(gpus=1), [{"CPU": 8.0}]),
    ],
)
def test_workers_that_do_not_fit_are_refused(engine: Engine, has: list[dict[str, float]]) -> None:
    with pytest.raises(UsageError, match=r"do not fit.*wait for ever.*(--workers|--cpus-per-worker)"):
        most_workers(engine, has)


@pytest.mark.parametrize("text", ["", "0", "8:2", "a", "1:", "2:3:4", "-1"])
def test_numbers_of_workers_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Engine("auto", *workers(text))


@pytest.mark.parametrize("option", ["--workers=2", "--shard-size=9", "--ray-address=auto"])
def test_options_of_ray_are_refused_without_it(cli: CommandLine, tmp_path: Path, option: str) -> None:
    ran = cli("index", tmp_path, option)
    assert ran.code == 2 and "--engine ray" in ran.err


def test_a_part_of_bytes_that_are_no_messages_is_refused() -> None:
    with pytest.raises(ValueError):
        list(Part("s", 0, True, b"\0" * 15 + b"\2" + b"{}"))


def test_a_device_is_refused_where_workers_embed(cli: CommandLine, tmp_path: Path) -> None:
    ran = cli("index", tmp_path, "--engine", "ray", "--device", "cpu", "-m", "hashing")
    assert ran.code == 2 and "--gpus-per-worker" in ran.err and len(ran.err.splitlines()) == 1
