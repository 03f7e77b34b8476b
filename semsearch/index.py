"""Index: a folder that holds texts, their vectors and everything needed to search them.

>>> import tempfile; folder = tempfile.mkdtemp() + "/notes"
>>> with Index.create(folder, encoder="hashing") as index:
...     diesel = Document("a", "Diesel engines ignite by compression.")
...     report = index.add([diesel, Document("b", "Bread needs salt.")])
...     index.search("a diesel engine", k=1)[0].document
'a'
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar, overload

import numpy as np

from semsearch import caches, chance, describe, settings
from semsearch.errors import EncoderMismatch, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.lock import LOCK, PID, WriterLock
from semsearch.remembered import Remembered
from semsearch.session import Session
from semsearch.store import Space, Store
from semsearch.types import (
    Document,
    DocumentState,
    EncoderProtocol,
    Hit,
    Progress,
    Query,
    Results,
    Skipped,
    SyncReport,
    VectorSample,
)

if TYPE_CHECKING:
    from semsearch.encoder import Encoder
    from semsearch.facets import Facet
    from semsearch.ingest import Ingest
    from semsearch.page_image import PageImage
    from semsearch.snippets import Snippet
    from semsearch.split import Splitter
    from semsearch.sync import SyncOptions

P = ParamSpec("P")
R = TypeVar("R")
Method = Callable[Concatenate["Index", P], R]
DELETED_AT_ONCE = 500  # documents between two words about how far it is
_QUERY_FIELDS = tuple(field.name for field in fields(Query))


def _in_turn(method: Method[P, R]) -> Method[P, R]:
    """Of the threads that share an Index one writes at a time."""

    @wraps(method)
    def waiting(index: Index, /, *arguments: P.args, **options: P.kwargs) -> R:
        with index._turn:
            return method(index, *arguments, **options)

    return waiting


class Index:
    """An index that is open: for reading until the first write, then also for writing until `close()`.

    Readers never wait and never see half a document. A writer in another process or another Index is refused
    with `Locked`. Threads may share one Index: writing calls take turns, and a search beside them waits for a
    single commit at most (compact, verify and audit keep it waiting until they are done).
    """

    def __init__(self, store: Store, encoder: EncoderProtocol | str | None, remember: int = 0) -> None:
        self.path = store.folder
        self.name = store.folder.name
        self._store = store
        self._given = encoder
        self._most_remembered = remember
        self._encoder: EncoderProtocol | None = None
        self._asked: Remembered | None = None
        self._loaded: Encoder | None = None  # by its name, so that it is ours to close
        self._space: Space | None = None
        self._session: Session | None = None
        self._retired: list[Store] = []  # for reading, until the first write; a search may still be using it
        self._turn = threading.RLock()  # of the threads that write
        self._exchange = threading.RLock()  # for the moment in which store, session or encoder are put in place

    @classmethod
    def create(
        cls,
        name: str | Path,
        *,
        encoder: EncoderProtocol | str = "default",
        home: Path | None = None,
        splitter: Splitter | None = None,
        backend: str = "auto",
        exist_ok: bool = False,
    ) -> Index:
        """A new, empty index called `name` (below the home of indexes) or at the path `name`.

        Raises UsageError where one exists, unless `exist_ok`, which opens it.
        """
        from semsearch.split import Splitter

        folder = settings.index_folder(name, home)
        if exist_ok and settings.is_index(folder):
            return cls.open(folder, encoder=encoder)
        running: EncoderProtocol
        if isinstance(encoder, str):
            running = loaded = _load(encoder)
        else:
            running, loaded = encoder, None
        recipe = {
            "encoder": getattr(running, "reference", running.name),
            "splitter": asdict(splitter or Splitter()),
            "backend": backend,
        }

        def fill(store: Store) -> None:
            store.set_recipe(recipe)
            store.add_space(running.fingerprint, running.name, running.dim, _info(running))

        index = cls(Store.create(folder, fill), running)
        index._loaded = loaded
        return index

    @classmethod
    def open(
        cls,
        name: str | Path,
        *,
        encoder: EncoderProtocol | str | None = None,
        home: Path | None = None,
        remember: int = 0,
    ) -> Index:
        """The index called `name`, or at the path `name`. Without `encoder` the one it was built with is used.

        The vectors of the last `remember` texts that were asked stay in memory: to ask the same in another mode or
        with another filter encodes nothing, and `plan["encoded"]` of the results is 0.

        Raises NotFound. The encoder is loaded by the first call that needs it, and refused with
        EncoderMismatch if its fingerprint is another than the index was built with.
        """
        return cls(Store.open(settings.index_folder(name, home)), encoder, remember)

    @staticmethod
    def names(home: Path | None = None) -> list[str]:
        """The indexes of the home of indexes, sorted."""
        return settings.names(home)

    @staticmethod
    def folder(name: str | Path, home: Path | None = None) -> Path:
        """Where the index called `name` lives, or would. Raises UsageError for what cannot be a name."""
        return settings.index_folder(name, home)

    @staticmethod
    def remove(name: str | Path, home: Path | None = None) -> list[str]:
        """Remove an index; the files that were indexed stay. The names of what in its folder is not its own, and stays.

        Raises NotFound, Locked.
        """
        folder = settings.index_folder(name, home)
        if not settings.is_index(folder):
            raise NotFound(f"there is no index {folder.name!r}.", "Nothing was removed.")
        lock = WriterLock(folder)
        try:
            store = folder / settings.STORE_FILE
            store.unlink(missing_ok=True)  # from here on it is no index
            for file in [*folder.glob(f"{settings.STORE_FILE}-*"), *folder.glob(caches.FILES)]:
                file.unlink(missing_ok=True)
        finally:
            lock.release()
        for file in (folder / LOCK, folder / PID):
            file.unlink(missing_ok=True)
        left = sorted(file.name for file in folder.iterdir())
        if not left:
            folder.rmdir()
        return left

    @staticmethod
    def rename(name: str | Path, new: str, home: Path | None = None) -> Path:
        """Give an index another name, in the folder where it lies; its new path. All that it holds stays.

        Raises NotFound, Locked, UsageError for what cannot be a name or is one already.
        """
        from semsearch.renaming import rename

        folder = settings.index_folder(name, home)
        if Path(new).name != new:
            raise UsageError(f"{new!r} cannot be the name of an index.", "Use letters, digits, '-' and '_'.")
        target = settings.index_folder(new, folder.parent)
        rename(folder, target)
        return target

    # ---- reading

    @property
    def version(self) -> int:
        """Another number after every commit, whoever made it: what was drawn from the index before it may be stale."""
        with self._store.snapshot():
            return self._store.version()

    @overload
    def search(self, query: str | Query, **asked: Any) -> Results: ...
    @overload
    def search(self, query: Sequence[str | Query], **asked: Any) -> list[Results]: ...
    def search(self, query: str | Query | Sequence[str | Query], **asked: Any) -> Results | list[Results]:
        """The hits for a query, or for each of many. `asked` are fields of `Query`: k, mode, where, path …

        Raises UsageError for a query that asks for nothing, BadFilter for a `where` that does not parse.
        """
        unknown = set(asked).difference(_QUERY_FIELDS)
        if unknown:
            raise UsageError(f"a search has no {sorted(unknown)[0]!r}.", f"It has: {', '.join(_QUERY_FIELDS)}.")
        if isinstance(query, (str, Query)):
            return self._ready().search(_query(query, asked))
        return self._ready().search_all([_query(one, asked) for one in query])

    def similar(self, target: int | str | Path, **asked: Any) -> Results:
        """What lies closest to a passage (its id), a document (its id) or a file; they themselves left out."""
        like = target if isinstance(target, int) else str(target)
        return self.search(Query(like=(like,), mode="semantic"), **asked)

    def snippets(self, results: Results) -> list[Snippet]:
        """For each hit its sentence closest to the query, and the words that match."""
        from semsearch.snippets import snippets

        return snippets(results, self._asking)

    def snippet(self, hit: Hit, query: Query) -> Snippet:
        """The sentence of `hit` closest to the query, and the words that match."""
        return self.snippets(Results(query, (hit,), {}))[0]

    def get(self, target: int | str) -> dict[str, Any]:
        """A passage by its id, or a document by its id, with its text. Raises NotFound."""
        with self._store.snapshot():
            if isinstance(target, int):
                found = self._store.passages(np.array([target], dtype=np.int64))
                if found:
                    return describe.passage(found[0])
            document = self._store.document(str(target))
        if document is None:
            raise NotFound(f"index {self.name} has no passage or document {str(target)!r}.", "Ids are in every hit.")
        return describe.document(document)

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[dict[str, Any]]:
        """What is indexed, or those of `ids` that are, by id: id, title, passages, size, time, metadata."""
        return self._store.documents(path=path, ids=ids, limit=limit, offset=offset)

    def states(self, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
        """What has become of the file that each document (of `ids`, or of all) came from, as it is on disk now.

        "current": size and time are as when it was read. "changed": they are not. "unfinished": something of it is not
        in the index, and every update reads it again. "gone": it is not there. "unseen": its whole folder is away, or
        may not be looked into. "kept": no file is followed.
        """
        from semsearch.states import states

        return states(self._store, ids)

    def passages(self, document: str) -> list[dict[str, Any]]:
        """The passages that a document was cut into, in their order, each as `get` gives it. Raises NotFound."""
        with self._store.snapshot():
            if not self._store.heads([document]):
                raise NotFound(f"index {self.name} has no document {document!r}.", "It may have been deleted.")
            return [describe.passage(found) for found in self._store.passages(self._store.passage_ids(document))]

    def facets(self) -> list[Facet]:
        """What its documents can be told apart by, for filters: kind of file, date, and the keys of the metadata.

        Three passes over the documents: 2 s for 100,000 of them with five keys each.
        """
        from semsearch import facets

        with self._store.snapshot():
            return facets.facets(self._store.connection)

    def page_image(self, document: str, page: int, *, width: int = 1400) -> PageImage:
        """Page `page` (from 1; past the end, the last) of the PDF that a document was read from, as PNG.

        Only from the very file that was indexed. Raises NotFound where it is gone or another by now, UsageError where
        the document was read from no PDF, Unreadable where PDFium fails or takes longer than half a minute.
        """
        from semsearch.page_image import page_image

        return page_image(self._store, document, page, width)

    def texts(self) -> Iterator[str]:
        """The text of every passage, in the order in which they were stored: what `train --from-index` reads."""
        return self._store.texts()

    def sample_vectors(self, most: int = 20_000, *, letters: int = 400) -> VectorSample:
        """At most `most` passages with their vectors and the first `letters` of their texts, always the same ones.

        Raises UsageError for fewer than one.
        """
        from semsearch import sampling

        if most < 1:
            raise UsageError(f"a sample of {most} passages was asked for.", "Ask for one or more.")
        return sampling.sample(self._store, self._used_space(), most, letters)

    def skipped(self) -> list[Skipped]:
        """What was left out, and why: at the last run that looked through all that is followed, and in the runs since.

        Of two reasons for one file the newer counts.
        """
        found: dict[str, Skipped] = {}
        for run in self._store.runs():
            told = {each["path"]: Skipped(each["path"], each["reason"]) for each in run.get("skipped", ())}
            found = {**told, **found}
            if run.get("whole", True):
                break
        return list(found.values())

    def info(self) -> dict[str, Any]:
        """Counts, recipe, spaces, and which backend serves the index and why."""
        return describe.index(self._store)

    def __len__(self) -> int:
        """How many documents there are."""
        return int(self._store.counts()["documents"])

    # ---- writing

    @_in_turn
    def add(self, documents: Iterable[Document]) -> SyncReport:
        """Add documents, or replace those with the same id; what did not change is left alone.

        On return they are on disk for good. A document that came from a file is the file's: UsageError.
        """
        began = time.perf_counter()
        self._write()
        with self._ingest() as ingest:
            for document in documents:
                head = self._store.heads([document.id]).get(document.id)
                if head is not None and head.source is not None:
                    raise UsageError(f"{document.id!r} is the id of a file's document.", "Use another id.")
                ingest.put(document, head=head)
        return self._report(ingest, began)

    @_in_turn
    def add_stream(self, stream: BinaryIO, options: SyncOptions) -> SyncReport:
        """Add what standard input holds: one text, or records (`options.kind`)."""
        from semsearch.loaders import Fields
        from semsearch.sync import stream_documents

        began = time.perf_counter()
        self._write()
        with self._ingest(dry_run=options.dry_run, force=options.force) as ingest:
            for item in stream_documents(stream, options.kind or "auto", options.fields or Fields()):
                if isinstance(item, Document):
                    ingest.put(item, head=self._store.heads([item.id]).get(item.id))
                else:
                    ingest.tally.skipped.append(item)
        return self._report(ingest, began, dry_run=options.dry_run)

    @_in_turn
    def add_files(
        self,
        files: Iterable[tuple[str, BinaryIO]],
        progress: Callable[[Progress], None] = lambda _: None,
        options: SyncOptions | None = None,
    ) -> SyncReport:
        """Add files that are given as name and content; they are kept as `add` keeps documents, and not followed.

        What they hold gets the ids that `sync` would give it, and replaces what has them. What cannot be read is in
        the report's `skipped`. Of `options`, `kind` and `fields` say how to read them.
        """
        from semsearch.loaders import Fields
        from semsearch.sync import file_documents

        began, given = time.perf_counter(), list(files)
        kind, fields = (options.kind, options.fields) if options else (None, None)
        self._write()
        with self._ingest() as ingest:
            for done, (name, stream) in enumerate(given):
                for item in file_documents(name, stream, kind or "auto", fields or Fields()):
                    progress(Progress(done, len(given), "documents", name, ingest.tally.written))
                    self._put(ingest, item)
            progress(Progress(len(given), len(given), "documents", "", ingest.tally.written))
        return self._report(ingest, began)

    @_in_turn
    def sync(
        self,
        paths: Sequence[str | Path] | str | Path = (),
        options: SyncOptions | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> SyncReport:
        """Bring the index in line with files and folders; without `paths`, with those it follows already.

        Raises NotFound for a path that is not there, GuardRail for `/` and the like, Locked.
        """
        from semsearch import roots as followed
        from semsearch import sync as files

        began = time.perf_counter()
        options = options or followed.SyncOptions()
        wanted = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
        recipe = self._store.recipe()
        known = followed.Roots.of(recipe)
        anew = options.splitter is not None and not (wanted or known.roots)  # documents of `add` can be cut anew too
        roots, scopes = (known, []) if anew else followed.plan(wanted, options, known)
        split = asdict(options.splitter) if options.splitter else recipe["splitter"]
        again = recipe.get("resplit", False) or split != recipe["splitter"]
        if again:  # passages of two sizes in one index would not compete fairly: cut everything anew
            scopes = [Path(root.path) for root in roots.roots]
            options = replace(options, force=True)
        if not options.dry_run:
            self._write()  # "resplit" stays until every document has been cut anew, whatever is killed when
            self._remember({**recipe, **roots.to_json(), "splitter": split, "resplit": again})
        with self._ingest(dry_run=options.dry_run, force=options.force) as ingest:
            files.sync(self._store, roots, scopes, options, ingest, progress)
            if again:
                self._put_again(ingest, progress)
        if again and not options.dry_run:
            self._remember({**self._store.recipe(), "resplit": False})
        return self._report(ingest, began, dry_run=options.dry_run, whole=not wanted or again)

    @_in_turn
    def delete(self, ids: Iterable[str], progress: Callable[[Progress], None] = lambda _: None) -> int:
        """Take documents out of the index; how many there were. All go at once: where `progress` raises, none does.

        Their files, if any, stay where they are, and a `sync` brings them back unless its rules leave them out.
        """
        from semsearch.ingest import UNFINISHED

        self._write()
        doomed = list(dict.fromkeys(ids))
        deleted = 0
        with self._store.transaction():
            owners = {head.source for head in self._store.heads(doomed).values()}
            for source in [known for known in self._store.sources().values() if known.id in owners]:
                self._store.put_source(replace(source, size=UNFINISHED))  # the next run looks into the file again
            for at in range(0, len(doomed), DELETED_AT_ONCE):
                progress(Progress(at, len(doomed), "documents"))
                deleted += self._store.delete(doomed[at : at + DELETED_AT_ONCE])
        self._after_writing()
        return deleted

    def matching(self, *, where: str | None = None, path: str | None = None, words: Sequence[str] = ()) -> list[str]:
        """Ids, sorted, of the documents that a filter and a path glob let through, and whose id or title holds each
        of `words` in any case. Raises BadFilter.
        """
        from semsearch import filters

        with self._store.snapshot():
            titles = self._store.titles()
            if where is not None or path is not None:
                allowed = set(filters.allowed_documents(self._store.connection, where, path))
                titles = [each for each in titles if each[0] in allowed]
        wanted = [word.casefold() for word in words]
        return [each for each, title in titles if not wanted or _holds(f"{each} {title or ''}", wanted)]

    @_in_turn
    def compact(self) -> None:
        """Give back the space of what was deleted, and build the cache anew."""
        self._write()
        self._store.compact()
        caches.rebuild(self._store, self._used_space(), self._store.recipe().get("backend", "auto"))

    @_in_turn
    def rebuild(self, backend: str = "auto") -> None:
        """Build the cache anew with this backend, and keep to it."""
        self._write()
        caches.rebuild(self._store, self._used_space(), backend)
        self._remember({**self._store.recipe(), "backend": backend})

    # ---- keeping

    def verify(self, progress: Callable[[Progress], None] = lambda _: None) -> list[str]:
        """Everything that is off: counts, checksums, orphan rows, caches against the store. Empty is good.

        `progress` is called before each check; where it raises, no other is begun.
        """
        from semsearch import verify

        found = verify.verify(self._store, progress)
        return found + [problem for space in self._store.spaces() for problem in caches.check(self._store, space)]

    def audit(self, *, sample: int = 200, k: int = 10) -> dict[str, Any]:
        """Recall and speed of the backend against exact search, on the index's own vectors."""
        from semsearch import nearest

        return nearest.audit(self._store, self._used_space(), sample=sample, k=k)

    def dump(self, file: Path) -> None:
        """Write the whole index to one file."""
        from semsearch import dump

        dump.dump(self._store, file)

    @classmethod
    def restore(cls, file: Path, name: str | Path, *, home: Path | None = None) -> Index:
        """A new index out of a dump. Raises UsageError where one exists, Corrupt for a damaged file."""
        from semsearch import dump

        folder = settings.index_folder(name, home)
        dump.restore(file, folder)
        return cls.open(folder)

    def close(self) -> None:
        """Let go of the files and of the writer's lock."""
        for store in (*self._retired, self._store):  # the writer last: it folds the log into the file
            store.close()
        if self._loaded is not None:
            self._loaded.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside

    @property
    def encoder(self) -> EncoderProtocol:
        """The encoder that this index was built with. Raises EncoderMismatch, NotFound."""
        with self._exchange:
            if self._encoder is None:
                kept = self._store.recipe().get("encoder", "default")
                running = self._given if self._given is not None else kept
                if isinstance(running, str):
                    running = self._loaded = self._loaded or _load(running)
                space = self._used_space()
                if running.fingerprint != space.fingerprint:
                    changed = self._loaded is not None and self._given in (None, kept)
                    first = f"{kept} has changed since: put it back" if changed else f"Use the encoder {space.name}"
                    raise EncoderMismatch(
                        self.name,
                        built_with=f"{space.name}@{space.fingerprint[:8]}",
                        got=f"{running.name}@{running.fingerprint[:8]}",
                        fix=f"{first}, search with --mode keyword, or build the index anew "
                        f"(semsearch rm {self.name}, then semsearch index).",
                    )
                self._encoder = running
            return self._encoder

    def _used_space(self) -> Space:
        if self._space is None:
            self._space = self._store.spaces()[0]
        return self._space

    def _write(self) -> None:
        """Take the writer's lock, if this is the first write. Raises Locked."""
        _ = self.encoder  # refuse a wrong encoder before anything is written
        if self._store.readonly:
            writer = Store.open(self._store.folder, write=True)
            with self._exchange:
                self._retired.append(self._store)
                self._store, self._session = writer, None

    def _remember(self, recipe: dict[str, Any]) -> None:
        if recipe != self._store.recipe():
            self._store.set_recipe(recipe)

    def _ready(self) -> Session:
        with self._exchange:
            if self._session is None:
                self._session = Session(self._store, self._used_space(), self._asking)
            return self._session

    def _asking(self) -> EncoderProtocol:
        """The encoder for queries: it remembers the last of them, where that was asked for."""
        if not self._most_remembered:
            return self.encoder
        with self._exchange:
            if self._asked is None:
                self._asked = Remembered(self.encoder, self._most_remembered)
            return self._asked

    @contextmanager
    def _ingest(self, *, force: bool = False, dry_run: bool = False) -> Iterator[Ingest]:
        from semsearch.ingest import Ingest
        from semsearch.split import Splitter

        splitter = Splitter(**self._store.recipe()["splitter"])
        ingest = Ingest(self._store, self._used_space(), self.encoder, splitter, force=force, dry_run=dry_run)
        try:
            yield ingest
        except BaseException:
            ingest.drop()  # what was not committed is not half-committed now
            raise
        ingest.flush()
        if not dry_run:
            ingest.tally.warnings += self._after_writing()

    def _put(self, ingest: Ingest, item: Document | Skipped) -> None:
        """Take a document, or note why it is not taken."""
        if isinstance(item, Skipped):
            ingest.tally.skipped.append(item)
            return
        head = self._store.heads([item.id]).get(item.id)
        if head is not None and head.source is not None:
            ingest.tally.skipped.append(Skipped(item.id, "its id belongs to a document of a followed folder already"))
            return
        try:
            ingest.put(item, head=head)
        except Unreadable as error:
            ingest.tally.skipped.append(Skipped(item.id, error.message))

    def _put_again(self, ingest: Ingest, progress: Callable[[Progress], None]) -> None:
        """Cut the documents that came through `add` anew; their text is in the store."""
        kept = [document for document, root, *_ in self._store.origins() if root is None]
        for done, uri in enumerate(kept):
            progress(Progress(done, len(kept), "documents", uri, ingest.tally.written))
            document = self._store.document(uri)
            if document is not None:
                ingest.put(document, head=self._store.heads([uri]).get(uri))

    def _report(self, ingest: Ingest, began: float, *, dry_run: bool = False, whole: bool = False) -> SyncReport:
        report = describe.run(self._store, ingest, time.perf_counter() - began, dry_run=dry_run)
        if not dry_run:
            self._store.add_run(
                {"at": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(report), "whole": whole}
            )
        return report

    def _after_writing(self) -> list[str]:
        """Bring what is derived from the store up to date: the background of chance, then the cache.

        The documents are on disk already, so a cache that cannot be written is a warning and no failure.
        """
        space = self._used_space()
        try:
            chance.refresh(self._store, space)
            if caches.why_rebuild(self._store, space):
                caches.rebuild(self._store, space, self._store.recipe().get("backend", "auto"))
        except (SemsearchError, OSError) as error:
            return [f"the documents are stored, but the vector cache could not be built: {error}"]
        return []


def _holds(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _query(asked: str | Query, fields: dict[str, Any]) -> Query:
    """The query; one text where several may stand is that text, and not its letters."""
    told = dict(fields)
    for name in ("must", "like", "more", "less"):
        given = told.get(name, ())
        told[name] = (given,) if isinstance(given, str | int) else tuple(given)
    for name in ("more", "less"):
        told[name] = tuple((one, 1.0) if isinstance(one, str) else one for one in told[name])
    kept = {name: value for name, value in told.items() if name in fields}
    return replace(Query(asked) if isinstance(asked, str) else asked, **kept)


def _load(name: str) -> Encoder:
    from semsearch.encoder import Encoder

    return Encoder.configured(name)


def _info(encoder: EncoderProtocol) -> dict[str, Any]:
    """What the index remembers of its encoder, for `info` and for the time before it knows its own background."""
    known = dict(getattr(encoder, "info", {}))
    return {**known, "background": list(getattr(encoder, "background", ()))}
