"""Parts: none loses a document, what cannot be stored is left to the update, and each is answered whatever is lost."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.errors import EncoderMismatch, SemsearchError
from semsearch.indexing.file_reader import named
from semsearch.scale.keys import KEY, DocumentKeys, document_key
from semsearch.scale.parts import ENDED, Answer, File, Part, parts
from semsearch.scale.worker_pool import Worker, WorkerPool
from semsearch.stores.records import text_hash
from semsearch.types import Document


def file(path: Path, **more: object) -> File:
    return File(path.name, str(path), path.stat().st_size, "auto", Fields(**more))  # type: ignore[arg-type]


def read(files: Iterable[File]) -> list[Document]:
    return [one for part in parts(files, ()) for one in part.documents]


def lines(path: Path, count: int) -> Path:
    records = [json.dumps({"text": f"Record {n} is about kettle number {n * 7}.", "n": n}) for n in range(count)]
    path.write_text("\n".join(records) + "\n", encoding="utf-8")
    return path


def local(path: Path) -> list[Document]:
    items = (named(path.name, path, item) for item in loaders.load(path))
    return [item for item in items if isinstance(item, Document)]


def test_what_cannot_be_read_is_left_to_the_update_and_the_rest_is_embedded(tmp_path: Path) -> None:
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "a.csv").write_text("id,body\n1,One text.\n")
    (tmp_path / "b.csv").write_text("id,text\n1,Another.\n")
    (tmp_path / "twice.jsonl").write_text('{"id": "a", "body": "one"}\nno json\n{"id": "a", "body": "two"}\n')
    damaged = file(tmp_path / "damaged.parquet")
    gone = replace(damaged, uri="gone.txt", location=str(tmp_path / "gone.txt"))
    files = [gone, damaged, *(file(tmp_path / name, text="body") for name in ("b.csv", "a.csv", "twice.jsonl"))]
    assert [one.text for one in read(files)] == ["One text.", "one"]


def test_parts_are_small_and_have_the_documents_of_all_files_in_order(tmp_path: Path) -> None:
    paths = [lines(tmp_path / f"notes-{n}.jsonl", 5) for n in range(40)]
    long = "".join(json.dumps({"text": letter * 300_000}) + "\n" for letter in "abc")
    paths[1].write_text(long + paths[1].read_text())
    made = list(parts(map(file, paths), ()))
    assert [one for part in made for one in part.documents] == [one for path in paths for one in local(path)]
    assert [len(part.documents) for part in made[:3]] == [6, 1, 1]
    assert sum(part.size for part in made) == sum(path.stat().st_size for path in paths)


def test_documents_that_are_stored_are_left_out_of_the_parts(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 5)
    keys = [document_key(one.id, text_hash(one.text), one.title) for one in local(path)]
    [part] = parts([file(path)], DocumentKeys.joined(keys[1:]))
    assert list(part.documents) == local(path)[:1]
    assert not list(parts([file(path)], DocumentKeys.joined(keys)))


def test_a_stored_document_takes_sixteen_bytes_of_memory_and_is_found_whatever_its_key() -> None:
    keys = [n.to_bytes(KEY, "big") for n in range(1, 500)] + [n.to_bytes(KEY, "little") for n in range(500)]
    found = DocumentKeys.joined([b"".join(keys)])
    assert found.keys.nbytes == 16 * len(keys) and all(key in found for key in keys)
    assert not any(n.to_bytes(KEY, "big") in found for n in range(500, 900))


class Lost(Exception):
    """As RayActorError."""


class FakeRay:
    """A cluster whose actors answer when they are asked, one after the other, and end at documents called deadly.

    broken: actors end before they have begun. silent: nobody answers.
    """

    exceptions = SimpleNamespace(RayActorError=Lost, ObjectLostError=KeyError, RayError=ValueError)

    def __init__(self, *, broken: int = 0, silent: bool = False, refused: str = "") -> None:
        self.broken, self.silent, self.refused = broken, silent, refused
        self.asked: list[tuple[int, Part | None]] = []
        self.ended: set[int] = set()
        self.actors = 0

    def start(self) -> Worker:
        self.actors += 1
        number = self.actors
        embed = SimpleNamespace(remote=lambda part: self._ask(number, part))
        if self.broken >= number:
            self.ended.add(number)
        return Worker(SimpleNamespace(number=number, embed=embed), self._ask(number, None))

    def _ask(self, actor: int, part: Part | None) -> int:
        self.asked.append((actor, part))
        return len(self.asked) - 1

    def wait(self, asked: Sequence[int], timeout: float) -> tuple[list[int], list[int]]:
        self.patience = timeout
        return ([], list(asked)) if self.silent else (list(asked[-1:]), list(asked[:-1]))

    def get(self, asked: int) -> Any:
        actor, part = self.asked[asked]
        if part is not None and not part.failed and any("deadly" in one.id for one in part.documents):
            self.ended.add(actor)
        if actor in self.ended:
            raise Lost
        if part is None:
            return self.refused
        ids = [one.id for one in part.documents]
        return Answer(part.size, ",".join(ids).encode(), b"", 0 if part.failed else len(ids), 0, 0, 0.0, part.failed)

    def kill(self, actor: Any) -> None:
        self.ended.add(actor.number)


def some(names: Iterable[str]) -> Iterator[Part]:
    pairs = deque(Document(name, "text") for name in names)
    while pairs:
        yield Part(tuple(pairs.popleft() for _ in range(min(2, len(pairs)))), 1)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_document_is_answered_once_and_only_one_that_ends_its_process_twice_is_set_aside(workers: int) -> None:
    names = [f"d{n}" for n in range(20)]
    names[2], names[3], names[12] = "deadly2", "deadly3", "deadly12"
    ray = FakeRay(broken=2)
    answers = list(WorkerPool(ray, ray.start, workers).answers(some(names)))
    assert sorted(",".join(one.keys.decode() for one in answers).split(",")) == sorted(names)
    assert sorted(one.keys.decode() for one in answers if one.worker == ENDED) == ["deadly12", "deadly2", "deadly3"]
    assert sum(one.size for one in answers) == 10


@pytest.mark.parametrize(
    ("ray", "said"),
    [
        (FakeRay(silent=True), "stands still: no result for 300 s"),
        (FakeRay(broken=10**6), "failed on Ray"),
        (FakeRay(refused="a worker has semsearch 1"), "a worker cannot begin: a worker has semsearch 1"),
    ],
)
def test_a_job_that_cannot_go_on_ends_with_one_line(ray: FakeRay, said: str) -> None:
    with pytest.raises(SemsearchError, match=said):
        list(WorkerPool(ray, ray.start, 2).answers(some("ab")))


def test_a_long_document_has_more_time(tmp_path: Path) -> None:
    ray = FakeRay()
    long = Part((Document("long", "x" * 2**20),))
    assert len(list(WorkerPool(ray, ray.start, 1).answers(iter([long])))) == 1
    assert ray.patience == 8 * 300


def test_an_error_of_a_worker_is_that_of_the_job() -> None:
    class Mismatch(FakeRay):
        def get(self, asked: int) -> Any:
            error = ValueError("as Ray wraps it")
            error.cause = EncoderMismatch("notes", built_with="a", got="b", fix="Open it again.")  # type: ignore[attr-defined]
            raise error

    ray = Mismatch()
    with pytest.raises(EncoderMismatch, match="Open it again"):
        list(WorkerPool(ray, ray.start, 1).answers(some("ab")))
