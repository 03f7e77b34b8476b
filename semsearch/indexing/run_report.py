"""What a run of an index comes to: the outcomes of its documents, the skipped ones with the reasons, what loaders left
out, and warnings.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from typing import Literal, TypeAlias, TypedDict, get_args

from semsearch.documents.loaders import Exceeded, Fields, Limits
from semsearch.documents.textless import Textless
from semsearch.errors import Unreadable
from semsearch.stores.protocol import StoreReader
from semsearch.types import EncoderProtocol, JsonObject, Omission, Skipped
from semsearch.utils.untrusted import shortened

Outcome: TypeAlias = Literal["added", "changed", "unchanged", "moved", "deleted"]  # in the words of SyncReport


class LeftOut(TypedDict):
    """Two fields of SyncReport."""

    left_out: Mapping[str, int]
    left_out_files: int


class RunReport:
    """The outcomes of a run's documents, the skipped ones with the reasons, and warnings.

    `refused`: the files that were too costly to read, as `Refusals` records them.
    """

    def __init__(self, encoder: EncoderProtocol) -> None:
        self.skipped: list[Skipped] = []
        self.warnings: list[str] = []
        self.refused: list[JsonObject] = []
        self._documents: Counter[Outcome] = Counter()
        self._left_out: Counter[str] = Counter()
        self._left_out_files = 0
        self._began = time.perf_counter()
        self._encoder = encoder
        self._embedded, self._truncation = encoder.embedded, replace(encoder.truncation)

    def count(self, outcome: Outcome | Skipped, n: int = 1) -> None:
        """Count `n` documents with one outcome, or one skipped document."""
        if isinstance(outcome, Skipped):
            self.skip(outcome)
        else:
            self._documents[outcome] += n

    def skip(self, skipped: Skipped) -> None:
        """Add a file or document that was skipped, with the reason."""
        plain = Skipped(skipped.path, skipped.reason) if isinstance(skipped, Textless) else skipped
        self.skipped.append(shortened(plain))

    def omit(self, omissions: Sequence[Omission]) -> None:
        """Count what was left out of a file."""
        self._left_out.update(dict(omissions))
        self._left_out_files += bool(omissions)

    def left_out(self) -> LeftOut:
        """The letters that were left out, by kind, and of how many files."""
        return {"left_out": dict(self._left_out), "left_out_files": self._left_out_files}

    def documents(self) -> dict[str, int]:
        """The number of documents with each outcome."""
        return {outcome: self._documents[outcome] for outcome in get_args(Outcome)}

    def seconds(self) -> float:
        """The time since the run began."""
        return round(time.perf_counter() - self._began, 3)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is encoded within it is not counted."""
        embedded, truncation = self._encoder.embedded, replace(self._encoder.truncation)
        try:
            yield
        finally:
            if embedded is not None and self._embedded is not None:
                self._embedded += (self._encoder.embedded or 0) - embedded
            self._truncation.passages += self._encoder.truncation.passages - truncation.passages
            self._truncation.tokens += self._encoder.truncation.tokens - truncation.tokens

    def encoded(self, written: int) -> dict[str, int]:
        """The texts embedded and cut since then; an encoder that counts nothing itself embeds all that is written."""
        embedded, truncation = self._encoder.embedded, self._encoder.truncation
        return {
            "embedded": written if embedded is None or self._embedded is None else embedded - self._embedded,
            "cut_passages": truncation.passages - self._truncation.passages,
            "cut_tokens": truncation.tokens - self._truncation.tokens,
        }


class Refusals:
    """Files that were too costly to read, recorded in the reports of runs, so that no later run pays for them again.

    Those recorded since the last run over all that the index follows count. `limits` are those of this run. A file is
    known by its content: under another name it is the same file. It is read again when its content, the limits or the
    query of an SQLite file have changed, and under `--force`.
    """

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
