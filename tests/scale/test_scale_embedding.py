"""What an actor answers, what the driver stores of it, and what an index then finds: without a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from helpers.commandline import CommandLine

from semsearch import Index, SyncOptions
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import EncoderMismatch, EncodingFailed, Locked, UsageError
from semsearch.scale import cluster
from semsearch.scale.arrived_vectors import ArrivedVectors, VectorTable
from semsearch.scale.cluster import Engine, workers
from semsearch.scale.embedding_job import embedded_ahead
from semsearch.scale.keys import text_key
from semsearch.scale.part_encoder import PartEncoder
from semsearch.scale.parts import Answer, Part
from semsearch.scale.precomputed_encoder import PrecomputedEncoder
from semsearch.types import Document, Passage, Role, TruncationStats
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    from semsearch.types import Vectors

JOB = {
    "encoder": "hashing",
    "fingerprint": HashingEncoder().fingerprint,
    "dim": 256,
    "splitter": {},
    "context": True,
    "version": "1",
    "index": [1, 2],
    "commits": 3,
}
NOTES = [Document(f"n{n}", f"Note {n} is about kettle number {n}. " * 3, {"n": n}, f"Note {n}") for n in range(12)]


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


def part_encoder(model: BaseEncoder | None = None, size: int = 20) -> PartEncoder:
    model = model or HashingEncoder()
    lazy = LazyEncoder("the job", model.name, model.fingerprint, model.dim, recorded=None, encoder=model)
    return PartEncoder(lazy, Splitter(size=size), context=True, worker="here")


def answer(documents: Sequence[Document], how: PartEncoder | None = None) -> Answer:
    return (how or part_encoder()).answer(Part(tuple(documents)))


def test_the_vectors_are_those_of_the_local_path(tmp_path: Path) -> None:
    with Index.create(tmp_path / "local", encoder="hashing", splitter=Splitter(size=20)) as index:
        index.add(NOTES)
        rows = [one for note in NOTES for one in index.passages(note.id)]
        vectors = index.vectors([one["id"] for one in rows])
        cut = [(one["document"], Passage(one["start"], one["end"], one["text"])) for one in rows]
    with ArrivedVectors(tmp_path / "vectors", JOB) as arrived:
        for at in range(0, len(NOTES), 5):
            arrived.put(answer(NOTES[at : at + 5]))
        table = VectorTable(arrived)
        found = table.find([*(embedded(NOTES[int(uri[1:])], passage) for uri, passage in cut), "Another text."])
    assert sorted(found) == list(range(len(rows))) and len(rows) > len(NOTES)
    assert all(float(found[at] @ vector) > 0.9999 for at, vector in enumerate(vectors))


def test_what_has_arrived_is_there_again_and_a_torn_part_is_not(tmp_path: Path) -> None:
    with ArrivedVectors(tmp_path, JOB) as arrived:
        for at in (0, 6, 6):
            arrived.put(answer(NOTES[at : at + 6]))
        with pytest.raises(Locked):
            ArrivedVectors(tmp_path, JOB)
    first, second = sorted(tmp_path.glob("*.part"))
    second.write_bytes(second.read_bytes()[:-1])
    (tmp_path / f".{'0' * 64}.part.new").write_bytes(b"half")  # as a kill leaves it
    with ArrivedVectors(tmp_path, JOB) as arrived:
        assert (list(arrived.parts), len(arrived.documents), arrived.removed, arrived.why) == ([first], 6, 1, "")
    for job, why in (({**JOB, "fingerprint": "0" * 16}, "by another encoder"), (JOB, "by another encoder")):
        with ArrivedVectors(tmp_path, job) as arrived:
            assert (len(arrived.documents), arrived.why) == (0, why) and not list(tmp_path.glob("*.part"))


def test_a_document_at_which_the_encoder_fails_once_is_embedded_after_all() -> None:
    done = answer([*NOTES, Document("p", "This is poison.")], how=part_encoder(Failing(1)))
    assert not done.set_aside and done.documents == 13


def test_a_document_at_which_the_encoder_fails_twice_is_set_aside_with_its_reason() -> None:
    done = answer([*NOTES[:6], Document("p", "This is poison."), *NOTES[6:]], how=part_encoder(Failing(10**6)))
    [(key, reason)] = done.set_aside.items()
    assert key == text_key("This is poison.").hex() and "poisoned" in reason and done.documents == 12


def test_an_encoder_that_fails_at_everything_ends_the_job() -> None:
    class Broken(HashingEncoder):
        def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
            raise ValueError("no memory for anything")

    with pytest.raises(EncodingFailed, match="plain sentence"):
        answer(NOTES, how=part_encoder(Broken()))


def test_an_index_takes_the_vectors_that_have_arrived_and_encodes_nothing(tmp_path: Path) -> None:
    for note in NOTES:
        (tmp_path / f"{note.id}.txt").write_text(note.text)
    with Index.create(tmp_path / "first", encoder="hashing", splitter=Splitter(size=20)) as index:
        index.sync(tmp_path, SyncOptions())
        stored = [index.get(note) for note in index.matching()]
    model = HashingEncoder()
    encoder = PrecomputedEncoder(model)
    with ArrivedVectors(tmp_path / ".vectors", JOB) as arrived:
        arrived.put(answer([Document(one["document"], one["text"], one["metadata"], one["title"]) for one in stored]))
        encoder.use(arrived)
        before = model.embedded
        with Index.create(tmp_path / "second", encoder=encoder, splitter=Splitter(size=20)) as index:
            report = index.sync(tmp_path, SyncOptions())
            assert report.added == len(NOTES) and model.embedded - before <= 300  # the null distribution's own texts
            assert encoder.taken == report.passages == report.vectors


def test_texts_that_were_set_aside_are_skipped_by_the_index_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("This is poison.")
    (tmp_path / "q.txt").write_text("This is tea.")
    encoder = PrecomputedEncoder(HashingEncoder())
    with ArrivedVectors(tmp_path / ".vectors", JOB) as arrived:
        read = [Document("p.txt", "This is poison.", title="p"), Document("q.txt", "This is tea.", title="q")]
        arrived.put(answer(read, how=part_encoder(Failing(10**6))))
        encoder.use(arrived)
        with Index.create(tmp_path / "notes", encoder=encoder) as index:
            report = index.sync(tmp_path, SyncOptions())
    assert (report.added, [(one.path, "poisoned" in one.reason) for one in report.skipped]) == (1, [("p.txt", True)])


def test_a_text_that_a_failed_document_shares_with_others_is_stored_with_them(tmp_path: Path) -> None:
    shared = "This sentence is in both of the documents, and it is longer than one window of this splitter may be."
    records = {"p": f"{shared} This is poison.", "q": shared}
    lines = [json.dumps({"id": name, "text": text}) for name, text in records.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n")
    encoder = PrecomputedEncoder(HashingEncoder())
    with Index.create(tmp_path / "notes", encoder=encoder, splitter=Splitter(size=20)) as index:
        with ArrivedVectors(tmp_path / ".vectors", JOB) as arrived:
            found = [Document(name, text) for name, text in records.items()]
            arrived.put(answer(found, how=part_encoder(Failing(10**6))))
            encoder.use(arrived)
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

    encoder = PrecomputedEncoder(HashingEncoder())
    (tmp_path / "q.txt").write_text("This is tea.")
    with ArrivedVectors(tmp_path / ".vectors", JOB) as arrived:
        arrived.put(answer([Document("q.txt", "This is tea.", title="q")], how=part_encoder(Short())))
        encoder.use(arrived)
        with Index.create(tmp_path / "notes", encoder=encoder) as index:
            report = index.sync(tmp_path, SyncOptions())
    assert (report.cut_passages, report.cut_tokens) == (1, 7)


def test_an_index_of_another_encoder_is_refused_before_anything_is_embedded(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("This is tea.")
    Index.create(tmp_path / "notes", encoder=HashingEncoder(dim=64)).close()
    ahead = embedded_ahead(
        tmp_path / "notes", PrecomputedEncoder(HashingEncoder()), [tmp_path], SyncOptions(), Engine("127.0.0.1:6")
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


@pytest.mark.parametrize(("cpus", "nodes", "fit"), [(1, [2, 2], 4), (1, [0, 2], 2), (1.5, [2, 2], 2), (0.5, [2], 4)])
def test_as_many_workers_as_fit_on_the_nodes(cpus: float, nodes: list[float], fit: int) -> None:
    assert workers(Engine(cpus=cpus), [{"CPU": float(cpu)} for cpu in nodes]) == fit


@pytest.mark.parametrize("number", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(("name", "option"), [("cpus", "--cpus-per-worker"), ("gpus", "--gpus-per-worker")])
def test_a_number_that_no_worker_can_have_is_refused_by_its_option(name: str, option: str, number: float) -> None:
    with pytest.raises(UsageError, match=f"{option}: .* no number above 0. Leave it out"):
        Engine(**{name: number})


@pytest.mark.parametrize(
    ("engine", "has"),
    [
        (Engine(workers=3), [{"CPU": 2.0}]),
        (Engine(workers=5), [{"CPU": 2.0}, {"CPU": 2.0}]),
        (Engine(cpus=4), [{"CPU": 2.0}, {"CPU": 2.0}]),
        (Engine(gpus=1), [{"CPU": 8.0}]),
    ],
)
def test_workers_that_do_not_fit_are_refused(engine: Engine, has: list[dict[str, float]]) -> None:
    with pytest.raises(UsageError, match=r"do not fit.*wait for ever.*(--workers|--cpus-per-worker)"):
        workers(engine, has)


@pytest.mark.parametrize("option", ["--workers=2", "--ray-address=auto"])
def test_options_of_ray_are_refused_without_it(cli: CommandLine, tmp_path: Path, option: str) -> None:
    ran = cli("index", tmp_path, option)
    assert ran.code == 2 and "--engine ray" in ran.err


def test_a_device_is_refused_where_workers_embed(cli: CommandLine, tmp_path: Path) -> None:
    ran = cli("index", tmp_path, "--engine", "ray", "--device", "cpu", "-m", "hashing")
    assert ran.code == 2 and "--gpus-per-worker" in ran.err and len(ran.err.splitlines()) == 1
