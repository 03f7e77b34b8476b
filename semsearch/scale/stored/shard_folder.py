"""The folder into which a job writes: a Parquet file for each shard, and beside it the marker that it is complete.

job.json                  the encoder, how documents were split, and the names of the shards in the order of the input
shard-NAME.parquet        passages with their vectors: the columns of `encoding.schema`
shard-NAME.done           counts, the size and the checksum of that file, and what was set aside or skipped
.shard-NAME/              parts of a shard that is not complete; nobody reads them after a kill

The marker is written once the file is on disk, so a shard is either complete or begun again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semsearch.documents.vector_files import arrow, parquet_writer
from semsearch.errors import Corrupt, UsageError
from semsearch.scale.encoding import schema
from semsearch.scale.parts import Done
from semsearch.scale.stored import job_file
from semsearch.scale.stored.job_file import JOB
from semsearch.scale.stored.markers import Begun, Marker
from semsearch.utils.atomic_write import write_text
from semsearch.utils.file_contents import hashed
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    import pyarrow


class ShardFolder:
    """The shards of a job at `path`, open for writing by one process at a time. Raises Locked, EncoderMismatch.

    With `renew`, shards of another job are removed; `removed` is then their number and `why` the reason, as in
    "by another encoder".
    """

    def __init__(self, path: Path, job: Mapping[str, object], *, renew: bool = False) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file.", "Name a folder for the shards.")
        path.mkdir(parents=True, exist_ok=True)
        job_file.require_own(path)
        self.path = path
        self._dim = int(str(job["dim"]))
        self._begun: dict[str, Begun] = {}
        self.done: dict[str, Marker] = {}
        self.removed, self.why = 0, ""
        self._lock = WriterLock(path)
        try:
            if renew:
                self._renew(job)
            job_file.record(path, job)
        except BaseException:
            self._lock.release()
            raise
        self._forget_parts()
        self.done.update(self._complete())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock; parts of shards that are not complete are removed."""
        self._forget_parts()
        self._lock.release()

    def remove(self) -> None:
        """Remove all of it."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def put(self, done: Done) -> bool:
        """Store the answer to a part, on disk for good once its shard is complete; whether it is. Twice is harmless."""
        if done.shard in self.done:
            return True
        begun = self._begun.setdefault(done.shard, Begun())
        if done.number not in begun.numbers:
            place = self.path / f".shard-{done.shard}"
            place.mkdir(exist_ok=True)
            if done.rows:
                (place / f"{done.number:08}").write_bytes(done.rows)
            begun.add(done)
        if begun.complete:
            self._finish(done.shard, begun)
        return begun.complete

    def _forget_parts(self) -> None:
        """Remove what is not complete. Parts that a kill has left may be those of another cut."""
        for left in self.path.glob(".shard-*"):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)

    def keep_only(self, names: Sequence[str]) -> int:
        """Remove the shards of files that have changed or are gone; their number.

        What a kill has left between a file and its marker goes, too: whoever loads the folder would take it.
        """
        stale = self.done.keys() - set(names)
        for name in stale:
            del self.done[name]
        for kind in ("done", "parquet"):  # the marker first
            for file in self.path.glob(f"shard-*.{kind}"):
                if file.stem.removeprefix("shard-") not in self.done:
                    file.unlink()
        return len(stale)

    def file(self, name: str) -> Path:
        """The Parquet file of a shard."""
        return self.path / f"shard-{name}.parquet"

    def marker(self, name: str) -> Path:
        """The marker of a shard."""
        return self.path / f"shard-{name}.done"

    def checked_file(self, name: str) -> Path:
        """The file of a complete shard. Raises Corrupt where it is not what was written."""
        path = self.file(name)
        if hashed(path) != self.done[name].sha256:
            self.marker(name).unlink(missing_ok=True)
            raise Corrupt(f"{path} is not what was written.", "Run the same command again: its shard is embedded anew.")
        return path

    def _renew(self, job: Mapping[str, object]) -> None:
        """Remove the shards unless they are of this job, and its description last."""
        self.why = job_file.difference(self.path, job)
        if self.why:
            self.removed = sum(1 for _ in self.path.glob("shard-*.done"))
            self.keep_only([])
            (self.path / JOB).unlink(missing_ok=True)

    def _complete(self) -> Iterator[tuple[str, Marker]]:
        """The shards whose file is there in full."""
        for path in sorted(self.path.glob("shard-*.done")):
            name = path.stem.removeprefix("shard-")
            with suppress(OSError, ValueError, KeyError, TypeError):  # a damaged marker is none
                marker = Marker.from_json(json.loads(path.read_text(encoding="utf-8")))
                if not marker.bytes or self.file(name).stat().st_size == marker.bytes:
                    yield name, marker

    def _finish(self, name: str, begun: Begun) -> None:
        """Put the parts of a shard together, in their order, and mark it as complete."""
        place, file = self.path / f".shard-{name}", self.file(name)
        written = sorted(place.iterdir())
        if written:
            with parquet_writer(file, schema(self._dim)) as writer:
                for each in written:
                    writer.write_table(_table(each))
        size, sha256 = (file.stat().st_size, hashed(file)) if written else (0, "")
        found = begun.marker(size, sha256)
        write_text(self.marker(name), json.dumps(asdict(found), ensure_ascii=False) + "\n")
        self.done[name] = found
        del self._begun[name]
        shutil.rmtree(place)


def _table(file: Path) -> pyarrow.Table:
    with arrow("a shard").ipc.open_stream(file.read_bytes()) as reader:
        return reader.read_all()
