"""Limits on what a client sends: the size of a body, and the time that it and the head of a request may take."""

from __future__ import annotations

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

from semsearch.serve.problems import Refused

SLOWEST = 1000  # bytes a second that an upload has on average, apart from its first seconds
HEAD_SECONDS = 10.0


def too_large(most: int) -> Refused:
    """The refusal of a body of more than `most` bytes."""
    return Refused(413, f"the body is larger than {most // 2**20} MB.", "Send less at once, or upload JSON lines.")


def limited(receive: Receive, most: int, seconds: float) -> Receive:
    """`receive` for a body of at most `most` bytes, whatever its Content-Length says, within `seconds`."""
    read, end = 0, time.monotonic() + seconds

    async def counted() -> Message:
        nonlocal read
        message = await _within(receive, end - time.monotonic(), f"the body took longer than {seconds:g} seconds")
        read += len(message.get("body", b""))
        if read > most:
            raise HTTPException(413, too_large(most).message)
        return message

    return _until_complete(counted, receive)


def streamed(receive: Receive, seconds: float) -> Receive:
    """`receive` for an upload of any size; the time that it waits for the client counts, not the time of storing."""
    left = float(seconds)

    async def timed() -> Message:
        nonlocal left
        began = time.monotonic()
        slow = f"the upload is slower than {SLOWEST:,} bytes a second"
        message = await _within(receive, left, slow)
        left = min(left - (time.monotonic() - began) + len(message.get("body", b"")) / SLOWEST, seconds)
        return message

    return _until_complete(timed, receive)


def _until_complete(limited: Receive, receive: Receive) -> Receive:
    """`limited` until the body is there; then `receive`, which waits for the client to go away."""
    complete = False

    async def received() -> Message:
        nonlocal complete
        message = await (receive() if complete else limited())
        complete = complete or not message.get("more_body", False)
        return message

    return received


async def _within(receive: Receive, seconds: float, problem: str) -> Message:
    try:
        async with asyncio.timeout(max(0.0, seconds)):  # wait_for would make a task of it
            return await receive()
    except TimeoutError:
        raise HTTPException(408, f"{problem}.", {"connection": "close"}) from None


def protocol(seconds: float) -> type[H11Protocol]:
    """HTTP/1.1 whose connections are closed where the head of a request takes longer than `seconds`."""

    class Http(H11Protocol):
        closing: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
            super().connection_made(transport)
            self._await_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._await_head()
            else:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _await_head(self) -> None:
            if self.closing is None:
                self.closing = self.loop.call_later(min(seconds, HEAD_SECONDS), self.transport.close)

        def _stop_waiting(self) -> None:
            if self.closing is not None:
                self.closing.cancel()
                self.closing = None

    return Http
