"""Files that were too costly to read, recorded in the reports of runs, so that no later run pays for them again.

A file is known by its content: under another name it is the same file. It is read again when its content, the limits
or the query of an SQLite file have changed, and under `--force`.
"""

from __future__ import annotations

import json
from dataclasses import astuple

from semsearch.documents.loaders import Exceeded, Fields, Limits
from semsearch.errors import Unreadable
from semsearch.stores.protocol import StoreReader
from semsearch.types import JsonObject


class Refusals:
    """Those recorded since the last run over all that the index follows, and in it. `limits` are those of this run."""

    def __init__(self, reader: StoreReader, limits: Limits) -> None:
        self.limits = limits
        self._reasons: dict[str, str] = {}
        for run in reader.runs():
            self._reasons = {**{each["file"]: each["reason"] for each in run.get("refused", ())}, **self._reasons}
            if run.get("whole", True):
                break

    def check(self, sha256: str, loader: str, fields: Fields) -> None:
        """Raises Exceeded, with the reason recorded, for a file that was refused before."""
        if reason := self._reasons.get(self._key(sha256, loader, fields)):
            raise Exceeded(reason)

    def record(self, sha256: str, loader: str, fields: Fields, error: Unreadable) -> JsonObject:
        """The entry for the report of this run."""
        return {"file": self._key(sha256, loader, fields), "reason": error.message}

    def _key(self, sha256: str, loader: str, fields: Fields) -> str:
        return json.dumps([sha256, loader, *astuple(self.limits), fields.sql])
