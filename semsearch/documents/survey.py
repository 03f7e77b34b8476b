"""A survey of what an index of a folder would take: its files by type, and passages and seconds from a sample of them.

Each file of the sample is read and split, and some of their passages are encoded, on this machine. The figures of a
type are scaled by its bytes, so that a folder of PDFs is not taken for one of plain text.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import loaders, walk
from semsearch.documents.walk import FileEntry, Rules
from semsearch.errors import Unreadable
from semsearch.types import Document, EncoderProtocol, FileType, Skipped, Survey

PER_TYPE = 3  # files that are read
MOST_DOCUMENTS = 50  # of a file of records
ENCODED = 16  # passages
STEP = 500  # files between two looks at the clock


def survey(
    root: Path, encoder: EncoderProtocol, splitter: Splitter, seconds: float, is_index: Callable[[Path], bool]
) -> Survey:
    """What is at or below `root`. About half of `seconds` goes to counting files, the rest to the sample.

    A folder for which `is_index` is true is left out, as in `walk.files`. Raises NotFound without a `root`, and
    GuardRail for a whole disk.
    """
    walk.guard(root, None, yes=False)
    end = time.monotonic() + seconds
    every, skipped, complete = _counted(walk.files(root, Rules(), is_index), end - seconds / 2)
    by_type: defaultdict[str, list[FileEntry]] = defaultdict(list)
    for file in every:
        by_type[loaders.suffix_of(Path(file.relative))].append(file)
    types = sorted(by_type.items(), key=lambda each: -sum(file.size for file in each[1]))
    texts: list[str] = []
    counted, took, sampled = 0.0, 0.0, 0
    for _, files in types:
        share, reading = _sampled(files, encoder, splitter, texts, end)
        counted, took, sampled = counted + share, took + reading, sampled + sum(file.size for file in files)
        if time.monotonic() > end:
            break
    rest = sum(file.size for file in every) / max(sampled, 1)  # types that there was no time for: as the others
    counted, took = counted * rest, took * rest
    rate = _seconds_per_passage(encoder, texts[:: -(-len(texts) // ENCODED) or 1])
    kinds = tuple(FileType(suffix, len(files), sum(file.size for file in files)) for suffix, files in types)
    estimate = took + counted * rate if texts else None
    return Survey(kinds, skipped, round(counted), estimate, complete)


def _counted(items: Iterable[FileEntry | Skipped], end: float) -> tuple[list[FileEntry], int, bool]:
    """The files, the number of skipped ones, and whether that is all of them; it is not where the time is up."""
    files: list[FileEntry] = []
    skipped, walked = 0, iter(items)
    while step := list(islice(walked, STEP)):
        files += [item for item in step if not isinstance(item, Skipped)]
        skipped += sum(isinstance(item, Skipped) for item in step)
        if time.monotonic() > end or len(files) > walk.MAX_FILES:
            return files, skipped, next(walked, None) is None
    return files, skipped, True


def _sampled(
    files: Sequence[FileEntry], encoder: EncoderProtocol, splitter: Splitter, texts: list[str], end: float
) -> tuple[float, float]:
    """The passages of all files of a type, and the seconds to read and split them, from some; `texts` grows."""
    began, size, count = time.monotonic(), 0, 0
    for file in files[:: -(-len(files) // PER_TYPE)]:
        with suppress(Unreadable):
            documents = [each for each in islice(loaders.load(file.path), MOST_DOCUMENTS) if isinstance(each, Document)]
            parts = [part.text for each in documents for part in passages(each, splitter, encoder.count_tokens)]
            whole = len(documents) < MOST_DOCUMENTS
            size += file.size if whole else min(file.size, sum(len(each.text.encode()) for each in documents))
            count += len(parts)
            texts += parts
        if time.monotonic() > end:
            break
    scale = sum(file.size for file in files) / max(size, 1)
    return count * scale, (time.monotonic() - began) * scale


def _seconds_per_passage(encoder: EncoderProtocol, texts: Sequence[str]) -> float:
    if not texts:
        return 0.0
    encoder.encode(texts[:1], role="passage")  # what a first text costs more
    began = time.monotonic()
    encoder.encode(texts, role="passage")
    return (time.monotonic() - began) / len(texts)
