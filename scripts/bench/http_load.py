"""Clients of an HTTP server on this machine, each with a connection of its own and one request after the other."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Request:
    """A POST with a JSON body."""

    path: str
    body: object

    def written(self, port: int) -> bytes:
        body = json.dumps(self.body).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Load:
    """The milliseconds that each answer took, and the seconds of all of them together."""

    seconds: float = 0.0
    ms: list[float] = field(default_factory=list)
    refused: int = 0  # answers with another status than 200
    cpu: float = 0.0  # seconds of processor time of the server

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.ms) / self.seconds

    def at(self, percent: float) -> float:
        """That percentile of the milliseconds."""
        return float(np.percentile(self.ms, percent))


def run(port: int, clients: int, seconds: float, requests: Callable[[int], Iterator[Request]]) -> Load:
    """What so many clients get in that time. `requests` has those of a client by its number, without end."""
    return asyncio.run(_run(port, clients, seconds, requests))


async def _run(port: int, clients: int, seconds: float, requests: Callable[[int], Iterator[Request]]) -> Load:
    load, began = Load(), time.perf_counter()
    await asyncio.gather(*(_client(port, requests(number), began + seconds, load) for number in range(clients)))
    load.seconds = time.perf_counter() - began
    return load


async def _client(port: int, requests: Iterator[Request], end: float, load: Load) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.perf_counter()) < end:
        writer.write(next(requests).written(port))
        status = await _answer(reader)
        load.ms.append(1000 * (time.perf_counter() - began))
        load.refused += status != 200
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> int:
    """Read one answer, which has a Content-Length; its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))
    return int(head.split()[1])
