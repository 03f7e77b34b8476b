"""Nothing runs here: mypy checks that each store has all that the protocols ask for, in the right shapes."""

from __future__ import annotations

from semsearch.stores import lance, local, postgres
from semsearch.stores.drivers import StoreDriver
from semsearch.stores.protocol import StoreReader, StoreWriter

READERS: tuple[type[StoreReader], ...] = (lance.LanceReader, local.LocalReader, postgres.PostgresReader)
WRITERS: tuple[type[StoreWriter], ...] = (lance.LanceWriter, local.LocalWriter, postgres.PostgresWriter)
DRIVERS: tuple[StoreDriver, ...] = (lance, local, postgres)
