"""What `/metrics` tells Prometheus: requests, encoded texts, open indexes, and the memory of the process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from starlette.types import Scope

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHER = "other"  # addresses that there are not: a client cannot add rows


class Metrics:
    """The counters of one server. Threads may share it."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        labels = ["route", "method"]
        self._requests = Counter("semsearch_requests", "Requests.", [*labels, "status"], registry=own)
        self._seconds = Histogram(
            "semsearch_request_seconds", "Time until the answer was sent.", labels, buckets=SECONDS, registry=own
        )
        self._running = Gauge("semsearch_requests_in_progress", "Requests that are being answered.", registry=own)
        self._texts = Counter("semsearch_encoded_texts", "Encoded texts of requests.", ["encoder"], registry=own)
        self._tokens = Counter("semsearch_encoded_tokens", "Tokens of these texts.", ["encoder"], registry=own)
        self._batches = Histogram(
            "semsearch_batch_texts",
            "Texts that were encoded together.",
            ["encoder"],
            buckets=TEXTS,
            registry=own,
        )

    def begun(self) -> None:
        """A request has come."""
        self._running.inc()

    def answered(self, scope: Scope, status: int, seconds: float) -> None:
        """A request has been answered; `scope` is the one that the router has seen."""
        self._running.dec()
        path = getattr(scope.get("route"), "path", OTHER)
        method = OTHER if path == OTHER else scope["method"]
        self._requests.labels(path, method, str(status)).inc()
        self._seconds.labels(path, method).observe(seconds)

    def encoded(self, encoder: str, texts: int, tokens: int) -> None:
        """A batch has been encoded."""
        self._texts.labels(encoder).inc(texts)
        self._tokens.labels(encoder).inc(tokens)
        self._batches.labels(encoder).observe(texts)

    def page(self, open_indexes: int, encoders: int, indexes: Sequence[tuple[str, Path]]) -> bytes:
        """All of it in the text format of Prometheus, with the size of these `indexes`."""

        class Now:
            def collect(_) -> Iterable[Metric]:
                yield from self._registry.collect()
                yield from _state(open_indexes, encoders, indexes)

        return bytes(generate_latest(Now()))


def _state(open_indexes: int, encoders: int, indexes: Sequence[tuple[str, Path]]) -> Iterator[Metric]:
    yield GaugeMetricFamily("semsearch_open_indexes", "Open indexes.", value=open_indexes)
    yield GaugeMetricFamily("semsearch_loaded_encoders", "Encoders in memory.", value=encoders)
    sizes = GaugeMetricFamily("semsearch_index_bytes", "Size of an index on disk.", labels=["index"])
    for name, folder in indexes:
        sizes.add_metric([name], _size(folder))
    yield sizes


def _size(folder: Path) -> int:
    """Bytes of the files in a folder; 0 for one that has been removed meanwhile."""
    try:
        return sum(_size(Path(entry)) if entry.is_dir() else entry.stat().st_size for entry in os.scandir(folder))
    except FileNotFoundError:
        return 0
