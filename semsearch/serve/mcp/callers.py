"""Whose call a tool answers: the indexes that it may see, and whether it may write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from semsearch.errors import UnknownName, UsageError
from semsearch.index import Index
from semsearch.serve.access import Caller
from semsearch.serve.mcp.budget import BYTES_OF_A_TOKEN
from semsearch.serve.mcp.options import McpOptions
from semsearch.serve.opened import OpenIndexes
from semsearch.serve.problems import Refused


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a tool."""

    indexes: OpenIndexes
    options: McpOptions
    caller: Caller

    @property
    def most_bytes(self) -> int:
        """The size of the answer."""
        return self.options.token_limit * BYTES_OF_A_TOKEN

    @property
    def may_write(self) -> bool:
        return self.options.allow_write and self.caller.right != "read"

    def names(self) -> list[str]:
        """The indexes that the caller may know of, sorted."""
        only = self.options.only
        return [name for name in self.indexes.names() if self.caller.sees(name) and (not only or name in only)]

    def chosen(self, name: str | None) -> str:
        """The index of that name; without a name the only one. Raises UnknownName, UsageError."""
        names = self.names()
        if not names:
            raise UsageError("there is no index yet.", "Ask the user to make one: semsearch index FOLDER")
        if name is None and len(names) != 1:
            listed = ", ".join(names)
            raise UsageError("no index was named, and there is not just one.", f"Pass index; choose from: {listed}.")
        if name is not None and name not in names:
            raise UnknownName("index", name, names)
        return names[0] if name is None else name

    @contextmanager
    def reading(self, name: str | None) -> Iterator[Index]:
        """An index to search. Raises UnknownName, UsageError."""
        with self.indexes.reading(self.chosen(name)) as index:
            yield index

    @contextmanager
    def writing(self, name: str | None) -> Iterator[Index]:
        """An index to write to. Raises UnknownName, UsageError, Locked; Refused where the caller may not write."""
        if not self.may_write:
            raise Refused(403, "this server answers searches only.", "Start it with --allow-write to let it write.")
        with self.indexes.writing(self.chosen(name)) as index:
            yield index
