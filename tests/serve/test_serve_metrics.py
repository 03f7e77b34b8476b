"""What Prometheus reads, and what a server says while it starts."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from helpers.serving import Serving, serving
from prometheus_client.parser import text_string_to_metric_families

from semsearch import Encoder, Index
from semsearch.errors import NotFound
from semsearch.serve.options import ServeOptions
from semsearch.serve.problems import Refused
from semsearch.serve.routes.health import ready
from semsearch.serve.service import Service


def samples(server: Serving) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by its name and labels."""
    page = server.ok("GET", "/metrics")
    found = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}


def test_requests_texts_and_indexes_are_counted(tmp_path: Path) -> None:
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    with serving(tmp_path, "-m", "hashing") as server:
        server.ok("POST", "/embed", {"texts": ["one two", "three"]})
        server.ok("POST", "/indexes/notes/search", {"text": "four"})
        for path in ("/indexes/none/search", "/indexes/nothing/search"):
            assert server.ask("POST", path, {"text": "a"}).status == 404
        for path in ("/a", "/b"):
            assert server.ask("GET", path).status == 404
        found = samples(server)

    def of(name: str, **labels: str) -> float:
        return found[name, frozenset(labels.items())]

    search = {"route": "/indexes/{name}/search", "method": "POST"}
    assert of("semsearch_requests_total", **search, status="200") == 1
    assert of("semsearch_requests_total", **search, status="404") == 2
    assert of("semsearch_requests_total", route="other", method="other", status="404") == 2
    assert of("semsearch_request_seconds_count", **search) == 3
    assert of("semsearch_encoded_texts_total", encoder="hashing") == 3
    assert of("semsearch_encoded_tokens_total", encoder="hashing") == 4
    assert of("semsearch_batch_texts_count", encoder="hashing") == 2
    assert of("semsearch_requests_in_progress") == 1
    assert (of("semsearch_open_indexes"), of("semsearch_loaded_encoders")) == (1, 1)
    assert of("semsearch_index_bytes", index="notes") > 10_000
    assert of("process_resident_memory_bytes") > 10_000_000


def options(home: Path, model: str) -> ServeOptions:
    return ServeOptions(str(home), "127.0.0.1", 1, (), (), seconds=60, rate=0, models=(model,))


def test_a_server_answers_while_it_loads_and_is_ready_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, load = threading.Event(), Encoder.from_settings

    def slow(name: str) -> Encoder:
        assert go.wait(60)
        return load(name)

    monkeypatch.setattr(Encoder, "from_settings", slow)
    service = Service(options(tmp_path, "hashing"))
    begun = service.begin()
    for ask in (lambda: asyncio.run(ready(service)), lambda: service.encoder("hashing")):
        with pytest.raises(Refused, match="starting") as refused:
            ask()
        assert refused.value.status == 503
    go.set()
    begun.result(60)
    assert asyncio.run(ready(service)) == {"status": "ready"}
    service.stop()
    with pytest.raises(Refused, match="stopping"):
        asyncio.run(ready(service))


def test_a_server_whose_encoder_is_not_there_gives_up_with_the_reason(tmp_path: Path) -> None:
    service = Service(options(tmp_path, "no-such-encoder"))
    given_up = threading.Event()
    service.give_up = given_up.set
    service.begin()
    assert given_up.wait(60)
    assert isinstance(service.failure, NotFound)
    service.stop()
