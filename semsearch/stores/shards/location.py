"""The place of a folder of shards, and of what makes it searchable. Without numpy, as shell completion reads it.

DIR/job.json, DIR/shard-NAME.parquet, DIR/shard-NAME.done     what `index --to-shards` wrote (`scale.stored`)
DIR/search-index/manifest.json                               which of the shards can be searched, and how
DIR/search-index/NUMBER/                                     inverted lists, and documents.db for filters
DIR/search-index/building/                                   parts of the next one, until it is complete
"""

from __future__ import annotations

from pathlib import Path

from semsearch.documents.vector_files import JOB
from semsearch.errors import NotFound

READ_ONLY = True
SEARCH, MANIFEST, BUILDING, DOCUMENTS = "search-index", "manifest.json", "building", "documents.db"


def exists(folder: Path) -> bool:
    """Whether `folder` has shards, also where they cannot be searched yet."""
    return (folder / JOB).is_file() and next(folder.glob("shard-*.done"), None) is not None


def names(home: Path) -> list[str]:
    """The folders of shards directly below `home` that can be searched, sorted."""
    return sorted(file.parent.parent.name for file in home.glob(f"*/{SEARCH}/{MANIFEST}"))


def identity(folder: Path) -> tuple[int, int]:
    """Device and inode of the description of the shards. Raises NotFound."""
    try:
        status = (folder / JOB).stat()
    except OSError:
        raise no_shards(folder) from None
    return status.st_dev, status.st_ino


def no_shards(folder: Path) -> NotFound:
    """The error for a folder without the description of a job."""
    return NotFound(
        f"there are no shards at {folder}.",
        "A job on Ray writes them.",
        "Write them: semsearch index FILES --engine ray --to-shards DIR.",
    )


def build_command(folder: Path) -> str:
    """What makes the shards of `folder` searchable, as a sentence."""
    return f"Build it: semsearch index --store shards:{folder}"
