"""The folder beside an index with the vectors that have arrived for it, one file for each part, until they are in it.

job.json      the encoder, how documents were split, and the index and version of semsearch that the job is for
SHA256.part   a line of JSON (the keys of the documents, what was set aside and cut), and the vectors by their texts

The name of a part is the checksum of its content, so that one is either whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from semsearch.scale.keys import KIND, DocumentKeys, text_key
from semsearch.scale.parts import Answer, row_type
from semsearch.types import JsonObject
from semsearch.utils.atomic_write import replacing, write_text
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

JOB = "job.json"
FORMAT = 2
PARTS = "*.part"
FILES = 64  # whose vectors are in memory, of 0.3 MB: a run reads documents in the order of the parts


class ArrivedPart(NamedTuple):
    """What came with the vectors of a part."""

    keys: bytes
    set_aside: Mapping[str, str]
    cut_passages: int
    cut_tokens: int
    begin: int  # of the vectors, in the file


class ArrivedVectors:
    """The vectors of a job at `path`, for one process at a time. Raises Locked.

    Those of another job are removed; `removed` is then the number of their parts, and `why` the reason, as in "by
    another encoder". `parts`: what has arrived, by its file.
    """

    def __init__(self, path: Path, job: Mapping[str, object]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path, self.removed, self.why = path, 0, ""
        self._row_type = row_type(int(str(job["dim"])))
        self.parts: dict[Path, ArrivedPart] = {}
        self._lock = WriterLock(path)
        try:
            self.why = _difference(path / JOB, job)
            for file in sorted(path.glob(PARTS)):
                if self.why or not self._take(file):
                    file.unlink()
                    self.removed += 1
            write_text(path / JOB, json.dumps({"format": FORMAT, **job}, indent=1) + "\n")
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def remove(self) -> None:
        """Remove all of it."""
        self._lock.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, answer: Answer) -> None:
        """Store the answer to a part, on disk for good when this returns."""
        head = {
            "keys": answer.keys.hex(),
            "set_aside": dict(answer.set_aside),
            "cut_passages": answer.cut_passages,
            "cut_tokens": answer.cut_tokens,
        }
        content = json.dumps(head).encode() + b"\n" + answer.vectors
        file = self.path / f"{hashlib.sha256(content).hexdigest()}.part"
        with replacing(file) as new:
            new.write_bytes(content)
        self.parts[file] = _part(content)

    @property
    def documents(self) -> DocumentKeys:
        """The keys of the documents that have arrived, those that were set aside among them."""
        return DocumentKeys.joined(part.keys for part in self.parts.values())

    def rows(self, file: Path) -> NDArray[np.void]:
        """The texts and vectors of a part, an array of `row_type`."""
        return np.fromfile(file, self._row_type, offset=self.parts[file].begin)

    def _take(self, file: Path) -> bool:
        """Whether a part that is there is whole; then it counts."""
        content = file.read_bytes()
        if is_whole := hashlib.sha256(content).hexdigest() == file.stem:
            self.parts[file] = _part(content)
        return is_whole


class VectorTable:
    """The vectors of some parts, by the key of their text: 24 bytes of memory a passage, and FILES files."""

    def __init__(self, arrived: ArrivedVectors) -> None:
        files = list(arrived.parts)
        keys = [arrived.rows(file)["key"] for file in files]
        counts = [len(each) for each in keys]
        every = np.concatenate([np.empty(0, KIND), *keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._file = np.repeat(np.arange(len(keys), dtype=np.int32), counts)[order]
        self._row = np.concatenate([np.empty(0, np.int32), *(np.arange(n, dtype=np.int32) for n in counts)])[order]
        self._rows = lru_cache(FILES)(lambda at: arrived.rows(files[at]))

    def find(self, texts: Sequence[str]) -> dict[int, Vectors]:
        """Position in `texts` -> its vector (d,), for those that are there."""
        if not len(self._keys):
            return {}
        keys = np.array([text_key(text) for text in texts], KIND)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        there = np.flatnonzero(self._keys[places] == keys).tolist()
        return {at: self._rows(int(self._file[places[at]]))["vector"][self._row[places[at]]] for at in there}


def _part(content: bytes) -> ArrivedPart:
    begin = content.index(b"\n") + 1
    head = json.loads(content[:begin])
    return ArrivedPart(begin=begin, **{**head, "keys": bytes.fromhex(head["keys"])})


def _difference(file: Path, job: Mapping[str, object]) -> str:
    """In what a job for an index differs from the one before, as in "by another encoder"; "" for nothing."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        before: JsonObject = json.loads(file.read_text(encoding="utf-8"))
        if before["format"] != FORMAT:
            return "by another version of semsearch"
        if before["fingerprint"] != job["fingerprint"]:
            return "by another encoder"
        if before["version"] != job["version"]:
            return f"by semsearch {before['version']}"
        if before["index"] != job["index"] or before["commits"] > job["commits"]:
            return "for another index of that name"  # or for a later state of it, before a backup was put back
        if (before["splitter"], before["context"]) != (job["splitter"], job["context"]):
            return "with other passages"
        return ""
    return "by a job that cannot be read"
