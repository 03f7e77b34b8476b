"""What a job has embedded waits beside its index: for that index alone, and no longer than it is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from helpers.commandline import CommandLine

from semsearch import Encoder, Index, SyncOptions, admin
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import Locked
from semsearch.index.admin import waiting_vectors
from semsearch.scale import embedding_job
from semsearch.scale.arrived_vectors import ArrivedVectors
from semsearch.scale.cluster import Engine
from semsearch.scale.embedding_actor import JobSettings
from semsearch.scale.embedding_job import embedded_ahead
from semsearch.scale.job_report import JobReport
from semsearch.scale.part_encoder import PartEncoder
from semsearch.scale.parts import Part
from semsearch.scale.precomputed_encoder import PrecomputedEncoder
from semsearch.types import SyncReport


def in_this_process(end: Callable[[], None]) -> Any:
    """`embedding_job._run` without a cluster: the parts are embedded here. `end` is called once all are on disk."""

    def run(
        given: Iterable[Part],
        _: Any,
        how: JobSettings,
        __: Any,
        ___: Any,
        arrived: ArrivedVectors,
        report: JobReport,
        *____: Any,
    ) -> None:
        model = Encoder.load(how.reference)
        encoder = LazyEncoder("the job", how.name, how.fingerprint, how.dim, recorded=None, encoder=model)
        actor = PartEncoder(encoder, Splitter(**how.splitter), context=how.context, worker="this process")
        for part in given:
            answer = actor.answer(part)
            arrived.put(answer)
            report.add(answer)
        end()

    return run


def interrupted() -> None:
    raise KeyboardInterrupt


def write(home: Path, count: int) -> Path:
    lines = [json.dumps({"id": f"n{n}", "text": f"Note {n} is about kettle number {n}."}) for n in range(count)]
    (home / "notes.jsonl").write_text("\n".join(lines) + "\n")
    return home / "notes.jsonl"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four notes in an index, and a fifth one that a job has embedded for it when it was interrupted."""
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    monkeypatch.setattr(embedding_job, "_run", in_this_process(interrupted))
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.sync(write(tmp_path, 4), SyncOptions())
    write(tmp_path, 5)
    with pytest.raises(KeyboardInterrupt):
        update(tmp_path / "notes")
    assert embedding_job.is_waiting(tmp_path / "notes")
    monkeypatch.setattr(embedding_job, "_run", in_this_process(lambda: None))
    return tmp_path


def update(index: Path) -> tuple[JobReport, SyncReport, int]:
    """The report of a job, that of the update, and how many passages were embedded here in spite of it."""
    encoder = PrecomputedEncoder(Encoder.load("hashing"))
    paths = [index.parent / "notes.jsonl"]
    ahead = embedded_ahead(index, encoder, paths, SyncOptions(), Engine("127.0.0.1:6"))
    with ahead as done, Index.open(index, encoder=encoder) as opened:
        synced = opened.sync(paths, SyncOptions())
    return done, synced, synced.added + synced.changed - encoder.taken


def test_the_next_run_takes_what_waits(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    done, synced, here = update(home / "notes")
    assert (done.before, done.embedded, synced.added, here) == (1, 0, 1, 0)
    assert not caplog.messages and not waiting_vectors.folder(home / "notes").exists()


def test_what_waits_goes_with_a_renamed_index(home: Path, cli: CommandLine) -> None:
    waiting_vectors.folder(home / "letters").mkdir()  # of an index of that name, removed by hand
    cli.ok("rename", "notes", "letters", "--home", home)
    assert not waiting_vectors.folder(home / "notes").exists()
    done, synced, here = update(home / "letters")
    assert (done.before, done.embedded, synced.added, here) == (1, 0, 1, 0)


def test_what_waits_goes_with_a_removed_index(home: Path, cli: CommandLine) -> None:
    cli.ok("rm", "notes", "-y", "--home", home)
    assert not admin.exists(home / "notes") and not waiting_vectors.folder(home / "notes").exists()


def test_an_index_for_which_a_job_is_at_work_is_neither_removed_nor_renamed(home: Path) -> None:
    place = waiting_vectors.folder(home / "notes")
    with ArrivedVectors(place, json.loads((place / "job.json").read_text())):
        with pytest.raises(Locked):
            admin.remove(home / "notes")
        with pytest.raises(Locked):
            admin.rename(home / "notes", "letters")
        assert embedding_job.is_waiting(home / "notes")
    with Index.open(home / "notes") as index:
        assert len(index) == 4


def test_an_index_made_anew_by_the_same_name_has_everything_embedded_by_the_job(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(home / "notes")
    Index.create(home / "notes", encoder="hashing").close()
    done, synced, here = update(home / "notes")
    assert (done.before, done.embedded, synced.added, here) == (0, 5, 5, 0)
    told = "1 part waited for notes, embedded for another index of that name. These documents are embedded again."
    assert caplog.messages == [told]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": "0.0.1"}, "by semsearch 0.0.1"),
        ({"version": None}, "by a job that cannot be read"),
        ({"fingerprint": "0" * 16}, "by another encoder"),
        ({"index": [1, 2]}, "for another index of that name"),
        ({"commits": 10**9}, "for another index of that name"),
        ({"commits": "many"}, "by a job that cannot be read"),
        ({"format": 99}, "by another version of semsearch"),
        ({"splitter": {}}, "with other passages"),
    ],
)
def test_what_another_job_has_embedded_is_embedded_again_and_said_in_a_line(
    home: Path, caplog: pytest.LogCaptureFixture, changed: dict[str, object], said: str
) -> None:
    described = waiting_vectors.folder(home / "notes") / "job.json"
    recorded = {**json.loads(described.read_text()), **changed}
    described.write_text(json.dumps({key: value for key, value in recorded.items() if value is not None}))
    done, synced, here = update(home / "notes")
    assert (done.before, done.embedded, synced.added, here) == (0, 1, 1, 0)
    assert len(caplog.messages) == 1 and f"embedded {said}. " in caplog.messages[0]


def test_a_job_that_ends_early_leaves_its_new_index_to_the_next_run(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_job, "_run", in_this_process(interrupted))
    given = ("index", write(tmp_path, 5), "-n", "new", "--home", tmp_path, "-m", "hashing", "--engine", "ray")
    assert cli(*given).code == 130 and embedding_job.is_waiting(tmp_path / "new")
    monkeypatch.setattr(embedding_job, "_run", in_this_process(lambda: None))
    ran = cli.ok(*given, "--json")
    assert ran.json["documents"]["added"] == 5 and "5 documents had been embedded before; nothing to embed." in ran.err
    assert not embedding_job.is_waiting(tmp_path / "new")


def test_a_job_that_is_refused_leaves_neither_an_index_nor_a_folder(
    tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> JobReport:
        raise KeyboardInterrupt

    monkeypatch.setattr(embedding_job, "_run", refused)
    file = write(tmp_path, 5)
    assert cli("index", file, "-n", "new", "--home", tmp_path, "-m", "hashing", "--engine", "ray").code == 130
    assert not admin.exists(tmp_path / "new") and not waiting_vectors.folder(tmp_path / "new").exists()
