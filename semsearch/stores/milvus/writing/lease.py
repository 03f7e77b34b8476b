"""One machine at a time for a purpose, such as re-embedding an index, in Milvus, which has no locks.

Whoever begins writes a row of its own, and then reads those of all: of two that begin at the same time, each row is
there before its writer reads, so at least one sees the other, and whoever sees another gives way. Rows expire on the
server's clock and are renewed meanwhile. A machine that sleeps, or is cut off, for longer than LEASE is taken to be
dead, and the next one removes its row; so it looks once more before it changes what others see (`check`).

Not covered: a process that stands still between that look and the change, for longer than LEASE.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from semsearch.errors import Locked, SemsearchError
from semsearch.stores import machine
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.index_tables import IndexTables
from semsearch.stores.milvus.server.schema import NO_VECTOR
from semsearch.types import JsonObject

LEASE = 180.0  # seconds; longer than a call is tried while the server is away
RENEW = 30.0
KIND = "alone"


class Lease:
    """The right of one writer, called `name`, to be alone at `purpose`."""

    def __init__(self, tables: IndexTables, index: str, name: str, purpose: str) -> None:
        self._tables = IndexTables(tables.server, tables.prefix)  # without the changes of a transaction
        self._index, self._purpose = index, purpose
        self._key = rows.digest(KIND, purpose, name)
        self._id = uuid4().hex
        self._turn = threading.Lock()
        self._ended = threading.Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else holds it inside, as long as this process is renewing it. Raises Locked where one does.

        A row of the same writer is that of a killed process, since each link has one writer.
        """
        self._put()
        renewing = threading.Thread(target=self._renew_meanwhile, daemon=True)
        try:
            self._refuse_others()
            renewing.start()
            yield
        finally:
            self._ended.set()
            if renewing.is_alive():
                renewing.join()
            with suppress(SemsearchError):  # else it expires
                if self._own() is not None:
                    self._tables.meta.drop_rows([self._key])

    def check(self) -> None:
        """Renew it. Raises Locked where it has expired, or another machine has taken it over."""
        if not self._renewed() or self._others():
            raise Locked(
                f"index {self._index}: this machine was not heard of for {LEASE:.0f} s while it was at "
                f"{self._purpose}, and another one has begun.",
                "Run this again once the other one has finished: what is encoded stays.",
            )

    def _refuse_others(self) -> None:
        others, now = self._others(), self._tables.server.clock()
        for other in others.values():
            if (left := other["until"] - now) > 0:
                raise Locked(
                    f"index {self._index}: another machine is at {self._purpose}: {other['machine']}, by process "
                    f"{other['pid']} of host {other['host']}.",
                    f"Wait until it has finished; if it is dead, run this again in {left:.0f} s.",
                )
        self._tables.meta.drop_rows(others)

    def _rows(self) -> dict[str, JsonObject]:
        """What everybody has for this purpose, as it is now, by key."""
        self._tables.server.begin_moment()
        found = {str(row["key"]): record for row, record in self._tables.values(KIND)}
        return {key: one for key, one in found.items() if one["purpose"] == self._purpose}

    def _others(self) -> dict[str, JsonObject]:
        return {key: one for key, one in self._rows().items() if one["id"] != self._id}

    def _own(self) -> JsonObject | None:
        return next((one for one in self._rows().values() if one["id"] == self._id), None)

    def _put(self) -> None:
        record = {
            "id": self._id,
            "purpose": self._purpose,
            "machine": machine.name(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "until": self._tables.server.clock() + LEASE,
        }
        row, _ = rows.meta_row(KIND, self._key, record)
        self._tables.server.upsert(self._tables.meta.collection, [{**row, "key": self._key, "nothing": NO_VECTOR}])

    def _renewed(self) -> bool:
        """Renew it, unless it has expired or is not there any more."""
        with self._turn:
            known = self._own()
            if known is None or known["until"] < self._tables.server.clock():
                return False
            self._put()
            return True

    def _renew_meanwhile(self) -> None:
        while not self._ended.wait(RENEW):
            with suppress(SemsearchError):  # the server is away: the next time
                if not self._renewed():
                    return
