"""`query TEXT PATH…`: an index of exactly these files and folders answers, and is made or brought up to date before.

While that takes its time, the best hits so far are on stderr: by the words of what can be read at once, then also by
meaning, as passages are embedded.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

import semsearch
from semsearch.cli.lookup import encoder_of, existing_paths, trusted_encoder
from semsearch.cli.options import Options
from semsearch.cli.output import console, hit_formats, index_report
from semsearch.cli.output.progress import sync_progress
from semsearch.cli.searching.query_command import Asked
from semsearch.documents import walk
from semsearch.errors import GuardRail, Locked, NotFound, SemsearchError, UsageError
from semsearch.search import query_check
from semsearch.types import Progress, Query, Results, SyncReport
from semsearch.utils.quantities import count

SHOWN = 3  # hits of an answer that is not complete
SNIPPET = 160  # characters of each
READ_FIRST = 50  # files with words of the query that are read before the others
LOOK_SECONDS = 1.5  # for reading what is answered from at once
WAIT_SECONDS, MOST_WAITED = 1.0, 8.0  # before the first answer that is not complete; then twice as long each time
PAUSE_SECONDS, ATTEMPTS = 0.3, 5  # to find the index that another process makes at the same time
INTERRUPTED = "interrupted: the answer is from what was read so far; the same command goes on from there."
NOTHING = "interrupted before anything was stored: there is no answer yet."
LOCKED = "another process is updating this index: the answer is from what it has so far."


@contextmanager
def opened(
    options: Options, paths: Sequence[str], queries: Sequence[Query], *, update: bool, trust: bool
) -> Iterator[Asked]:
    """The index of these paths, up to date unless another process is at it, or it is not to be updated.

    Raises NotFound, GuardRail, and UsageError or BadFilter for a query that cannot be answered, before anything is
    written.
    """
    for query in queries:
        query_check.check(query)
        query_check.parse_filter(query.where, query.path)
    files = _existing(paths) if update else [Path(path) for path in paths]
    if not update:
        folder = semsearch.admin.following(files, options.folder())
        if not semsearch.admin.exists(folder):
            raise NotFound(f"no index follows exactly {_listed(files)} yet.", "Leave out --no-update to make one.")
        with _open(folder, trust=trust) as index:
            yield Asked(index, given=_Given(paths))
        return
    meanwhile = _Meanwhile(options, queries, _Given(paths))
    folder = semsearch.admin.following(files, options.folder())
    if semsearch.admin.exists(folder):
        index, created = _open(folder, trust=trust), False
    else:
        with _confirmable(files):
            for file in files:
                walk.guard(file, None, yes=False)
            meanwhile.look(files)
            index, created = _index(options, files, trust=trust)
    with index:
        try:
            asked = _updated(options, index, files, meanwhile, created=created)
            yield asked
            if INTERRUPTED in asked.warnings:
                raise KeyboardInterrupt
        finally:
            if created and not len(index):
                index.close()
                semsearch.admin.remove(index.path)


@contextmanager
def _confirmable(files: Sequence[Path]) -> Iterator[None]:
    """A refusal to index so much says how to confirm it; no option of `query` does."""
    try:
        yield
    except GuardRail as error:
        fix = f"Name a smaller folder, or confirm it once: semsearch index {' '.join(map(str, files))} --yes"
        raise GuardRail(error.message, fix) from None


def _existing(paths: Sequence[str]) -> list[Path]:
    try:
        return existing_paths(paths)
    except NotFound as error:
        raise NotFound(error.message, "Check the spelling; TEXT comes first, and in quotes if it has spaces.") from None


def _listed(files: Sequence[Path]) -> str:
    more = f" and {count(len(files) - SHOWN, 'other path')}" if len(files) > SHOWN else ""
    return f"{', '.join(map(str, files[:SHOWN]))}{more}"


def _open(folder: Path, *, trust: bool) -> semsearch.Index:
    encoder = trusted_encoder(encoder_of(folder)) if trust else None
    return semsearch.Index.open(folder, encoder=encoder, query_cache_size=8)


def _index(options: Options, files: Sequence[Path], *, trust: bool) -> tuple[semsearch.Index, bool]:
    """The index of these files, of which there was none a moment ago, and whether it is new.

    Another process may be about to make it: to hold its lock, or to record what it follows.
    """
    named = semsearch.admin.folder(semsearch.admin.name_after(files), options.folder())
    for last in (*[False] * ATTEMPTS, True):
        others = _is_made(named)  # asked first, as it may be made at any moment
        folder = semsearch.admin.following(files, options.folder())
        if semsearch.admin.exists(folder):
            return _open(folder, trust=trust), False
        if last or others or folder == named:
            try:
                return _create(options, folder, files), True
            except (UsageError, Locked) as error:
                if last or not (isinstance(error, Locked) or semsearch.admin.exists(folder)):
                    raise
        time.sleep(PAUSE_SECONDS)
    raise AssertionError


def _is_made(folder: Path) -> bool:
    """Whether an index has or follows something."""
    with suppress(SemsearchError), semsearch.Index.open(folder) as index:
        return bool(len(index) or semsearch.admin.followed(folder))
    return False


def _create(options: Options, folder: Path, files: Sequence[Path]) -> semsearch.Index:
    sample = semsearch.admin.languages_of_files(files)
    encoder, why = semsearch.admin.usual_encoder(sample)
    index = semsearch.Index.create(folder, encoder=encoder)
    if why and not options.quiet:
        console.note(f"{why} (another: semsearch reembed {folder.name} -m NAME)")
    if warning := semsearch.admin.unread_warning(index, sample):
        console.warn([warning])
    return index


def _updated(
    options: Options, index: semsearch.Index, files: Sequence[Path], meanwhile: _Meanwhile, *, created: bool
) -> Asked:
    """The index, brought up to date with its files, as far as Ctrl-C lets it.

    Raises where files named by themselves cannot be read.
    """
    how = semsearch.SyncOptions(first=meanwhile.first, yes=not created)  # who made it has confirmed what it follows
    try:
        with _confirmable(files), sync_progress(options, index.name) as tell:
            report = index.sync(files if created else (), how, meanwhile.beside(index, tell))
    except (Locked, KeyboardInterrupt) as error:
        if not len(index) and isinstance(error, KeyboardInterrupt):
            console.warn([NOTHING])
            raise
        reason = LOCKED if isinstance(error, Locked) else INTERRUPTED
        console.warn([reason])
        return Asked(index, (reason,), given=meanwhile.given)
    if failed := index_report.nothing_read(report, [file for file in files if file.is_file()]):
        raise failed
    if created and not len(index):
        why = "; ".join(f"{one.path}: {one.reason}" for one in report.skipped[:SHOWN])
        raise NotFound(f"no documents were found in {_listed(files)}.", why or "There is no file to read in it.")
    if not report.added + report.changed + report.unchanged + report.moved:
        report = replace(report, warnings=(*report.warnings, "no documents were found."))
    console.warn(report.warnings)
    if not options.quiet:
        if created:
            console.note(f"new index {index.name} in {index.path.parent}")
        if summary := _summary(report):
            console.note(summary)
    update = {"documents": report.document_counts(), "skipped": list(map(asdict, report.skipped))}
    return Asked(index, report.warnings, {"update": {**update, "took_s": report.took_s}}, meanwhile.given)


def _summary(report: SyncReport) -> str:
    """What has changed, and how much is skipped; "" for neither."""
    counts = {kind: number for kind, number in report.document_counts().items() if number and kind != "unchanged"}
    listed = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    more = f"; what was skipped, and why: semsearch info {report.index}" if "skipped" in counts else ""
    return f"{report.index}: {listed}{more}" if listed else ""


def below(pattern: str, paths: Sequence[str]) -> str:
    """A pattern of `--path` that begins with a path that was given, as one for full paths."""
    for path in paths:
        if f"{pattern}/".startswith(above := f"{path.rstrip('/')}/"):
            return re.sub(r"[*?[]", "?", os.path.realpath(path)) + pattern[len(above) - 1 :]
    return pattern


class _Given:
    """Names a file as grep does: by the path that was given, and what lies below it."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._folders = [(walk.printable(os.path.realpath(path)), walk.printable(path)) for path in paths]

    def __call__(self, file: str) -> str:
        for folder, path in self._folders:
            if file == folder:
                return path
            if file.startswith(above := f"{folder.rstrip('/')}/"):
                return f"{path.rstrip('/')}/{file[len(above) :]}"
        return file


def _file_of(document: str, name: str) -> str:
    """What the id of a document begins with that is a part of the file so called.

    >>> _file_of("c#/faq.csv#7", "faq.csv"), _file_of("c#.md", "c#.md")
    ('c#/faq.csv', 'c#.md')
    """
    above, mark, _ = document.partition(f"{name}#")
    return f"{above}{name}" if mark else document


class _Meanwhile:
    """Prints the best hits so far of the only query. `first`: the files that have its words, as far as is known."""

    def __init__(self, options: Options, queries: Sequence[Query], given: _Given) -> None:
        self.first: Sequence[str] = ()
        self.given = given
        self._query = replace(queries[0], k=SHOWN, rerank=None) if len(queries) == 1 and not options.quiet else None
        self._wait = WAIT_SECONDS
        self._due = time.monotonic() + self._wait
        self._last: list[tuple[str, int]] = []

    def look(self, files: Sequence[Path]) -> None:
        """Print the best hits by words in what can be read at once."""
        if self._query is None or not self._query.text.strip():
            return
        query = replace(self._query, k=READ_FIRST, mode="keyword", more=(), less=(), like=(), min_strength=0)
        with (
            suppress(SemsearchError),  # the run itself says what is wrong
            semsearch.admin.words_of_files(files, LOOK_SECONDS) as (words, read, total),
        ):
            results = words.search(query)
            self.first = [_file_of(hit.document, read[hit.document].name) for hit in results]
            places = [walk.printable(str(read[hit.document])) for hit in results.hits[:SHOWN]]
            hits = map(lambda hit, name, place: replace(hit, path=name, file=place), results, self.first, places)
            shown = replace(results, hits=tuple(hits))
            self._print(words, shown, f"by words, in {len({*read.values()}):,} of {count(total, 'file')}")

    def beside(self, index: semsearch.Index, tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """`tell`, which from time to time prints the best hits of the index too."""

        def report(step: Progress) -> None:
            tell(step)
            due = step.unit == "bytes" and step.passages and step.done < step.total and time.monotonic() >= self._due
            if self._query is not None and due:
                with suppress(SemsearchError):
                    title = f"in {step.files_done:,} of {count(step.files_total, 'file')}"
                    self._print(index, index.search(self._query), title)
                self._wait = min(2 * self._wait, MOST_WAITED)
                self._due = time.monotonic() + self._wait

        return report

    def _print(self, index: semsearch.Index, results: Results, title: str) -> None:
        if not results.hits or self._last == (best := [(hit.document, hit.start) for hit in results]):
            return
        self._last = best
        console.note(f"so far, {title}:")
        for hit, snippet in zip(results, index.snippets(results), strict=True):
            line = (hit.line or 1) + hit.text.count("\n", 0, snippet.start)
            named = hit_formats.as_given(replace(snippet.placed(hit), line=None if hit.page else line), self.given)
            place = hit_formats.place(named)
            console.note(f"  {place}: {hit.text[snippet.start : snippet.end][:SNIPPET]}")
