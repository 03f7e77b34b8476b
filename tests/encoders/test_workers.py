"""Workers of a back end: every text once, vectors as of the plain graph, errors, interrupts, several callers, forks."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch.encoders.encoder import Encoder
from semsearch.encoders.onnx import OnnxBackend
from semsearch.errors import SemsearchError
from semsearch.models import model_folders
from semsearch.models.batching import each, stopped_by
from semsearch.models.bundle import read

PATIENCE_S = 20.0
TEXTS = [f"Engine {n} {'turns and ' * (n % 7)}turns." for n in range(60)]


@pytest.fixture
def backend(minilm_encoder: Encoder) -> OnnxBackend:
    assert isinstance(minilm_encoder.backend, OnnxBackend)
    return minilm_encoder.backend


@pytest.mark.parametrize("workers", [1, 2, 5, 50])
def test_every_batch_is_worked_at_once_and_begun_in_its_order(workers: int) -> None:
    begun: list[int] = []
    each(begun.append, list(range(40)), workers)
    assert sorted(begun) == list(range(40))
    assert workers > 1 or begun == list(range(40))
    each(begun.append, [], workers)
    assert len(begun) == 40


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), IndexError("no")], ids=repr)
@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_error_ends_all_workers_and_is_raised(error: BaseException, workers: int) -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(batch: int) -> None:
        begun.append(batch)
        if batch == 2:
            failed.set()
            raise error
        assert batch < 2 or failed.wait(PATIENCE_S)

    with pytest.raises(type(error)):
        each(work, list(range(1000)), workers)
    assert len(begun) < 1000


def test_what_is_stopped_ends_with_an_error_and_other_callers_go_on() -> None:
    stop, done = threading.Event(), list[int]()

    def work(batch: int) -> None:
        done.append(batch)
        stop.set()

    with stopped_by(stop), pytest.raises(SemsearchError, match="stopped"):
        each(work, list(range(100)), 2)
    assert len(done) <= 2
    each(done.append, list(range(100)), 2)
    assert len(done) >= 100


def test_vectors_are_bit_for_bit_those_of_the_graph_run_on_one_text_at_a_time(backend: OnnxBackend) -> None:
    rows = backend._tokenizer.ids(TEXTS, backend.prompts["passage"])
    alone = [np.array([row]) for row in rows]
    plain = [backend._session.run(None, {"input_ids": row, "attention_mask": np.ones_like(row)})[0] for row in alone]
    assert np.array_equal(backend.encode(TEXTS), np.concatenate(plain))
    assert np.array_equal(backend.encode(TEXTS[::-1]), np.concatenate(plain[::-1]))


def test_threads_that_encode_at_once_get_the_vectors_of_their_own_texts(backend: OnnxBackend) -> None:
    expected, found = backend.encode(TEXTS), dict[int, Any]()
    parts = [slice(at, at + 15) for at in range(0, 60, 15)]
    threads = [
        threading.Thread(target=lambda at=at, part=part: found.update({at: backend.encode(TEXTS[part])}))  # type: ignore[misc]
        for at, part in enumerate(parts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert all(np.array_equal(found[at], expected[part]) for at, part in enumerate(parts))


def test_an_error_of_the_graph_names_the_encoder_and_leaves_it_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = OnnxBackend(read(model_folders.find("minilm")), device="cpu", threads=2)
    session = backend._session

    class Failing:
        def run(self, names: None, feed: dict[str, Any]) -> Any:
            if feed["input_ids"].shape[1] == 12:
                raise RuntimeError("a kernel failed")
            return session.run(names, feed)

    monkeypatch.setattr(backend, "_session", Failing())
    lengths = {len(row) for row in backend._tokenizer.ids(TEXTS, backend.prompts["passage"])}
    assert 12 in lengths
    with pytest.raises(SemsearchError, match=f"encoder {backend.name} failed on cpu: a kernel failed"):
        backend.encode(TEXTS)
    monkeypatch.setattr(backend, "_session", session)
    assert backend.encode(TEXTS).shape == (60, 384)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_was_forked_after_encoding_encodes_the_same(backend: OnnxBackend, tmp_path: Path) -> None:
    here, file = backend.encode(TEXTS[:8]), tmp_path / "vectors.npy"
    if (child := os.fork()) == 0:
        try:
            np.save(file, backend.encode(TEXTS[:8]), allow_pickle=False)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert np.array_equal(np.load(file, allow_pickle=False), here)
