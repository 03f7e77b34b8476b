"""The index of the vectors that a run has written, built before the run ends.

Milvus builds the index of a segment once the segment is sealed, which it is when it is large, and searches the rows of
one that still grows by a coarse index of its own: of 29,333 vectors so written, 83 % of the ten nearest were found,
and 99 % by HNSW after that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Server
    from semsearch.stores.milvus.server.tables import Table

COARSE = 4_000  # rows that grow from which on they are not compared one by one (4,992 in 2.3)
PATIENCE = 120.0  # seconds; a server goes on building after that
PAUSE = 1.0


def build(server: Server, table: Table, index: str) -> None:
    """Seal what was written through `table`, if that is much, and wait until it is indexed, for PATIENCE at most."""
    if server.address.is_file or index == "FLAT":  # Milvus Lite compares one by one as well
        return
    sealed, _ = server.progress(table.collection)
    rows = table.count()
    if max(table.written, rows - sealed) < COARSE:
        return
    server.flush(table.collection)
    table.written = 0
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(PAUSE)
        sealed, waiting = server.progress(table.collection)
        if sealed >= rows and not waiting:
            return
