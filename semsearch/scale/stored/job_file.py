"""What a folder of shards is for: `job.json` in it, which names the encoder, the splitter and the inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from semsearch.errors import Corrupt, EncoderMismatch, SemsearchError, UsageError
from semsearch.types import JsonObject
from semsearch.utils.atomic_write import write_text
from semsearch.utils.writer_lock import LOCK, PID

FORMAT = 1
JOB = "job.json"  # "shards" in it are the names of the shards, in the order of the input


def require_own(folder: Path) -> None:
    """Raises UsageError for a folder with files that are not of a job; nothing is written into it."""
    foreign = [found.name for found in folder.iterdir() if not _is_own(found.name)]
    if foreign and not (folder / JOB).exists():
        raise UsageError(f"{folder} has other files: {foreign[0]}.", "Name a new or an empty folder.")


def record(folder: Path, job: Mapping[str, object]) -> None:
    """Record what the folder is for.

    Raises EncoderMismatch where it has vectors of another encoder, SemsearchError where a newer version wrote it,
    Corrupt.
    """
    if (folder / JOB).exists():
        before = _read(folder / JOB)
        if before["fingerprint"] != job["fingerprint"]:
            raise EncoderMismatch(
                str(folder),
                built_with=f"{before['encoder']}@{before['fingerprint'][:8]}",
                got=f"{job['encoder']}@{str(job['fingerprint'])[:8]}",
                fix=f"Use the encoder {before['encoder']}, or another folder",
            )
    write_text(folder / JOB, json.dumps({"format": FORMAT, **job}, indent=1) + "\n")


def difference(folder: Path, job: Mapping[str, object]) -> str:
    """In what a job for an index differs from the one before, as in "by another encoder"; "" for nothing."""
    if not (folder / JOB).exists():
        return "by a job that is not known"
    try:
        before = _read(folder / JOB)
        if before["fingerprint"] != job["fingerprint"]:
            return "by another encoder"
        if before.get("version") != job.get("version"):
            return f"by semsearch {before['version']}" if "version" in before else "by an earlier semsearch"
        if before.get("index") != job.get("index") or before.get("commits", 0) > int(str(job.get("commits", 0))):
            return "for another index of that name"  # or for a later state of it, before a backup was put back
    except (SemsearchError, TypeError, ValueError):
        return "by a job that cannot be read"
    return ""


def _read(file: Path) -> JsonObject:
    """What a folder is for. Raises SemsearchError, Corrupt."""
    try:
        found: JsonObject = json.loads(file.read_text(encoding="utf-8"))
        newer = int(found["format"]) > FORMAT
        _ = str(found["encoder"]), found["fingerprint"][:8]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{file} is damaged.", "Remove its folder, and run the same command again.") from error
    if newer:
        raise SemsearchError(
            f"{file.parent} was written by a newer semsearch.", "Install a newer version of semsearch."
        )
    return found


def _is_own(name: str) -> bool:
    return name in (JOB, f".{JOB}.new", LOCK, PID) or name.removeprefix(".").startswith("shard-")
