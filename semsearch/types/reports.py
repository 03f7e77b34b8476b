"""The state of a long job, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from semsearch.types.documents import Skipped


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a long job: `done` of `total` in `unit`, the current item, and the passages so far.

    While files are read, by `bytes`, also the number of files read and of all of them.
    """

    done: int
    total: int
    unit: Literal["bytes", "files", "documents", "passages", "templates", "queries", "texts", "checks", "steps"]
    item: str = ""
    passages: int = 0
    files_done: int = 0
    files_total: int = 0


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What came out of a damaged index, and what is lost.

    `embedded` passages had no sound vector and went through the encoder again.
    """

    index: str
    documents: int
    passages: int
    embedded: int
    lost: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """What one call of `reembed` did: the index was encoded with `before`, and is with `encoder`.

    Of its `passages`, `present` had a vector in the new space already, from an interrupted call, and `encoded` got
    one now. `replaced` is the encoder of an unfinished space that was given up for this one. `removed` and `kept` are
    the encoders of the other spaces. `cut_tokens` exceeded the encoder's maximum length.
    """

    index: str
    encoder: str
    before: str
    passages: int
    encoded: int
    present: int
    replaced: str | None = None
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    cut_tokens: int = 0
    took_s: float = 0.0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The changes by one run of `index`, and the size of the index afterwards.

    `embedded` passages went through the encoder; the others had a vector already. `cut_tokens` exceeded the encoder's
    maximum length, in `cut_passages` passages. `left_out`: the letters that loaders left out of `left_out_files` files
    on purpose, by kind, such as navigation; also of unchanged files.
    """

    index: str
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    moved: int = 0
    deleted: int = 0
    skipped: tuple[Skipped, ...] = ()
    passages: int = 0
    vectors: int = 0
    embedded: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    left_out_files: int = 0
    took_s: float = 0.0
    dry_run: bool = False
    warnings: tuple[str, ...] = ()

    def document_counts(self) -> dict[str, int]:
        """The number of documents that the run added, changed, skipped, …"""
        kinds = ("added", "changed", "unchanged", "moved", "deleted")
        return {kind: getattr(self, kind) for kind in kinds} | {"skipped": len(self.skipped)}
