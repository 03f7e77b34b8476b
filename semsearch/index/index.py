"""Index: a folder with texts, their vectors and everything needed to search them.

>>> import tempfile; folder = tempfile.mkdtemp() + "/notes"
>>> from semsearch import Document, Index
>>> with Index.create(folder, encoder="hashing") as index:
...     diesel = Document("a", "Diesel engines ignite by compression.")
...     report = index.add([diesel, Document("b", "Bread needs salt.")])
...     index.search("a diesel engine", k=1)[0].document
'a'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, Unpack, cast, overload

from semsearch import analysis, chunking, indexing, search, settings
from semsearch import documents as document_files
from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.index import marked_hits, reading
from semsearch.index.open_store import OpenStore, encoder_of
from semsearch.index.threads import in_a_thread
from semsearch.search.current_space import CurrentSpace
from semsearch.search.query_check import make_query, parse_filter
from semsearch.stores import drivers
from semsearch.stores.recorded_spaces import other_spaces
from semsearch.stores.records import Space
from semsearch.types import Query
from semsearch.utils import plugins
from semsearch.utils.arguments import several, whole_number
from semsearch.utils.vectors import own_rows, row_ids
from semsearch.vector_index import backends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from semsearch.analysis.analysis import Analysis
    from semsearch.chunking.splitter import Splitter
    from semsearch.documents.loaders import Fields
    from semsearch.documents.page_image import PageImage
    from semsearch.encoders.encoder_pool import EncoderPool
    from semsearch.indexing.sources import SyncOptions
    from semsearch.search.snippets import Snippet
    from semsearch.stores.protocol import StoreWriter
    from semsearch.types import (
        Document,
        EncoderLike,
        EncoderProtocol,
        JsonObject,
        Progress,
        QueryFields,
        ReembedReport,
        Results,
        SqlRows,
        SyncReport,
        Vectors,
        Where,
    )


def _silent(_: Progress) -> None:
    """The default progress callback: nothing."""


class Index:
    """An index that is open: for reading until the first write, then also for writing until `close()`.

    Readers never wait and never see half a document. A writer in another process or another Index is refused
    with `Locked`. Threads may share one Index: writing calls take turns, and searches run beside them.
    """

    def __init__(self, store: OpenStore) -> None:
        """Use `Index.open` or `Index.create`. `store`: what `semsearch.admin` and `analysis` work with, too."""
        self.store = store
        self.name, self.path = store.reader.name, store.reader.location
        self._marks = settings.judgements_file(self.path)
        self._reader = store.reader

    # ---- creating and opening

    @classmethod
    def create(
        cls,
        name: str | Path,
        *,
        encoder: EncoderLike | str | None = "default",
        dimensions: int | None = None,
        home: Path | None = None,
        splitter: Splitter | None = None,
        backend: str = "auto",
        store: str = "local",
        exist_ok: bool = False,
    ) -> Index:
        """A new, empty index called `name` (below the home of indexes) or at the path `name`.

        With `encoder=None` and `dimensions`, the width of its vectors, it has no encoder: every document is added with
        a vector of your own, searches pass a vector or are by keyword, and hits have no strength.

        `store` names the package of `semsearch.stores` that stores it; "lance:s3://bucket/prefix" or
        "postgres:postgresql://host/database" makes a collection of that name there, and here a link to it
        (`admin.link`). Raises UsageError where an index or collection exists, unless `exist_ok`, which opens it, and
        UnknownName for an unknown `store` or `backend`.
        """
        if splitter is not None and not isinstance(splitter, chunking.Splitter):
            raise UsageError(f"splitter is of type {type(splitter).__name__}.", "Pass Splitter(size=…, overlap=…).")
        if backend != "auto" and backend not in plugins.names(backends):  # 60 ms for those of other distributions
            raise UnknownName("backend", backend, ("auto", *plugins.names(backends)))
        folder = settings.index_folder(name, home)
        driver, address = drivers.parse(store)
        if drivers.exists(folder) or (exist_ok and driver.link(folder, address)):
            if exist_ok:
                return cls.open(folder, encoder=encoder)._checked(encoder, dimensions)
            raise UsageError(f"{folder} already has an index.", "Open it, or choose another name.")
        model = encoder_of(encoder, dimensions, folder.name)
        recorded, how = None if encoder is None else model.reference, asdict(splitter or chunking.Splitter())
        recipe = {"encoder": recorded, "splitter": how, "context": True, "backend": backend}
        info = dict(model.info)

        def fill(writer: StoreWriter) -> None:
            writer.change_recipe(lambda _: recipe)
            writer.put_space(Space(0, model.fingerprint, model.name, model.dim, info))

        writer = driver.create(folder, fill, address=address)
        reader = driver.open_reader(folder)
        opened = OpenStore(reader, CurrentSpace(reader, model, owned=isinstance(encoder, str)))
        opened.begin(writer)
        return cls(opened)

    def _checked(self, encoder: EncoderLike | str | None, dimensions: int | None) -> Self:
        """Itself. Raises UsageError where vectors of your own were wanted, and it has an encoder or another width."""
        space = self.store.space
        if encoder is None and (space.has_encoder or dimensions != space.dim):
            self.close()
            contents = f"encoder {space.name} and " if space.has_encoder else ""
            raise UsageError(f"index {self.name} has {contents}vectors of width {space.dim}.", "Use another name.")
        return self

    @classmethod
    def open(
        cls,
        name: str | Path,
        *,
        encoder: EncoderLike | str | None = None,
        home: Path | None = None,
        query_cache_size: int = 0,
        like_files: bool = True,
        encoders: EncoderPool | None = None,
        space: int | None = None,
        most_characters: int | None = None,
    ) -> Index:
        """The index called `name`, or at the path `name`. Without `encoder` the one it was built with is used.

        The vectors of the last `query_cache_size` query texts stay in memory: to search for the same text in another
        mode or with another filter encodes nothing, and `plan["encoded"]` of the results is 0.
        With `like_files=False`, `like` is never the path of a file, but always a passage or a document: for queries of
        others, who could otherwise have files read. Indexes that are opened with the same pool of `encoders` have one
        encoder in memory, if they were built with the same. `space`: the id of one of the spaces of `info()`, which is
        then searched with its own encoder, and cannot be written to: to compare encoders. A search whose hits have more
        than `most_characters`, of text and of metadata as JSON, raises TooLarge before it has read them all.

        Raises NotFound. The encoder is loaded by the first call that needs it, and refused with
        EncoderMismatch if its fingerprint is another than the index was built with.
        """
        folder = settings.index_folder(name, home)
        reader = drivers.find(folder).open_reader(folder)
        current = CurrentSpace(
            reader,
            encoder,
            chosen=space,
            query_cache_size=query_cache_size,
            like_files=like_files,
            encoders=encoders,
            most_characters=most_characters,
        )
        return cls(OpenStore(reader, current))

    def close(self) -> None:
        """Close the files and release the writer's lock."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def analysis(self) -> Analysis:
        """What the index is like as a whole: copies, topics, labels, layouts, and whether it is as it should be."""
        return analysis.Analysis(self._reader, self.store.current)

    # ---- searching

    @property
    def encoder(self) -> EncoderProtocol:
        """The encoder that this index was built with. Raises EncoderMismatch, NotFound.

        That of an index without an encoder is called "none", and its `encode` raises UsageError.
        """
        return self.store.encoder.model

    @overload
    def search(  # type: ignore[overload-overlap]  # a text is a sequence of texts, too
        self, query: str | Query = "", *, vector: ArrayLike | None = None, **fields: Unpack[QueryFields]
    ) -> Results: ...
    @overload
    def search(self, query: Sequence[str | Query], **fields: Unpack[QueryFields]) -> list[Results]: ...
    def search(
        self,
        query: str | Query | Sequence[str | Query] = "",
        *,
        vector: ArrayLike | None = None,
        **fields: Unpack[QueryFields],
    ) -> Results | list[Results]:
        """The hits for a query, or for each of many. Keywords are the fields of `Query`: k, mode, where, path …

        `vector` (d,) is one of your own to search near, of any length above 0, beside the text or without one. An index
        without an encoder searches for the text beside it by words.
        `where` is text of the filter language, with `values` for the names in it, or a structure:
        `where="year > :year", values={"year": 2020}` is `where={"year": {"$gt": 2020}}`.
        Raises UsageError for an empty query or a vector of another width, BadFilter for a `where` that does not parse.
        """
        if isinstance(query, (str, Query)):
            own = None if vector is None else own_rows(vector, 1, self.store.space.dim)
            one = self._asked(query, fields)
            return self.store.current.searched(lambda searcher: searcher.search(one, own))
        if vector is not None:
            raise UsageError("a vector belongs to one query.", "Search for each query by itself.")
        if isinstance(query, bytes) or not isinstance(query, Iterable):
            raise UsageError(f"a query is a text or a Query, not {query!r}.", 'For example: search("how do I …").')
        several_queries = [self._asked(one, fields) for one in query]
        return self.store.current.searched(lambda searcher: searcher.search_all(several_queries))

    def _asked(self, query: str | Query, fields: QueryFields) -> Query:
        one = make_query(query, fields)
        return marked_hits.with_level(one, self.path, self._marks) if self._marks.is_file() else one

    async def asearch(
        self, query: str | Query = "", *, vector: ArrayLike | None = None, **fields: Unpack[QueryFields]
    ) -> Results:
        """`search` for one query in a thread, so that an event loop goes on meanwhile; more of these: `AsyncIndex`."""
        return await in_a_thread(partial(self.search, query, vector=vector, **fields))

    def similar(self, target: int | str | Path, **fields: Unpack[QueryFields]) -> Results:
        """The passages closest to a passage (its id), a document (its id) or a file, without those of the target."""
        like = str(target) if isinstance(target, Path) else target
        return self.search(Query(like=(like,), mode="semantic"), **fields)

    def snippets(self, results: Results) -> list[Snippet]:
        """For each hit its sentence closest to the query, and the words that match."""
        return search.snippets.snippets(results, self._reader, self.store.current.now().searcher.queries)

    # ---- inspecting

    @property
    def version(self) -> int:
        """A number that changes with every commit of any process; results read before that may be outdated."""
        with self._reader.snapshot() as version:
            return version

    def __len__(self) -> int:
        """How many documents there are."""
        return self._reader.state().documents

    def info(self) -> JsonObject:
        """Counts, recipe, spaces, and which backend serves the index and why.

        Of the `spaces` the first is the current one; the `state` of the others is "unfinished", after an interrupted
        `reembed`, or "kept". `reference` loads the encoder of a space; "" where it is not known.
        """
        with self._reader.snapshot():
            info = self._reader.info()
            more = {
                one.space.id: {"state": "kept" if one.complete else "unfinished", "reference": one.encoder}
                for one in other_spaces(self._reader)
            }
        current = {"state": "current", "reference": info["recipe"].get("encoder", "default") or ""}
        return {**info, "spaces": [{**space, **more.get(space["id"], current)} for space in info["spaces"]]}

    @overload
    def get(self, target: int | str) -> JsonObject: ...
    @overload
    def get(
        self,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[JsonObject]: ...
    def get(
        self,
        target: int | str | None = None,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> JsonObject | list[JsonObject]:
        """A passage by its id, or a document by its id, with its text. Raises NotFound.

        Without `target` the documents by id that are among `ids` and pass `where`: at most `limit`, without the first
        `offset`. Unknown ids are left out. Raises BadFilter.
        """
        if target is None:
            last = reading.last_of_page(limit, offset)
            names = None if ids is None else several(ids, "get", "ids", str)
            condition = parse_filter(where, values=values)
            with self._reader.snapshot():
                names = self._reader.document_ids(condition, ids=names, limit=last)
                return list(map(reading.document, self._reader.full_documents(names[offset:])))
        with self._reader.snapshot():
            if isinstance(target, int) and (passages := self._reader.passages(row_ids([target]))):
                return reading.passage(passages[0])
            document = next(iter(self._reader.full_documents([str(target)])), None)
        if document is None:
            raise NotFound(f"index {self.name} has no passage or document {str(target)!r}.", "Use the id of a hit.")
        return reading.document(document)

    def pages(
        self, *, where: Where | None = None, values: Mapping[str, object] | None = None, size: int = 1000
    ) -> Iterator[list[JsonObject]]:
        """All documents by id, or those that pass `where`, each as `get` gives it, in lists of at most `size`.

        Each page is read when its turn comes, by one pass over an index of the ids, and it is of one moment. While a
        writer works, a document that is there from beginning to end is in exactly one page, and none is in two: those
        added meanwhile are included where their id is still ahead. Raises UsageError, BadFilter.
        """
        whole_number("size", size)
        return reading.pages(self._reader, parse_filter(where, values=values), size)

    def documents(
        self,
        *,
        path: str | None = None,
        ids: Sequence[str] | None = None,
        after: str = "",
        limit: int = -1,
        offset: int = 0,
    ) -> list[JsonObject]:
        """The documents (all, or those of `ids`) by id: id, title, passages, size, time, metadata.

        To read page by page, name the last id of the page before as `after`: `offset` looks through all before it.
        """
        last = reading.last_of_page(None if limit == -1 else limit, offset)
        chosen = None if ids is None else several(ids, "documents", "ids", str)
        with self._reader.snapshot():
            names = self._reader.document_ids(parse_filter(None, path), ids=chosen, after=after, limit=last)[offset:]
            return [row.listed() for row in self._reader.document_rows(names)]

    def count(self, where: Where | None = None, *, values: Mapping[str, object] | None = None) -> int:
        """How many documents there are, or how many of them pass a filter. Raises BadFilter."""
        condition = parse_filter(where, values=values)
        return self._reader.count_documents(condition)

    def vectors(self, ids: Sequence[int]) -> Vectors:
        """The unit vectors (n, d) of n passages, in the order of their ids. Raises NotFound."""
        return reading.vectors(self._reader, self.store.space, several(ids, "vectors", "ids", Integral))

    def matching(
        self,
        *,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        path: str | None = None,
        words: Sequence[str] = (),
    ) -> list[str]:
        """Ids, sorted, of the documents that pass a filter and a path glob, and whose id or title contains each of
        `words` in any case. Raises BadFilter.
        """
        some = several(words, "matching", "words", str)
        return reading.matching(self._reader, parse_filter(where, path, values), some)

    def passages(self, document: str) -> list[JsonObject]:
        """The passages that a document was split into, in their order, each as `get` gives it. Raises NotFound."""
        with self._reader.snapshot():
            if not self._reader.document_ids(None, ids=[document]):
                raise NotFound(f"index {self.name} has no document {document!r}.", "It may have been deleted.")
            return [reading.passage(passage) for passage in self._reader.passages(self._reader.passage_ids([document]))]

    def page_image(self, document: str, page: int, *, width: int = 1400, text: str = "") -> PageImage:
        """Page `page` (from 1; past the end, the last) of the PDF that a document was read from, as PNG; and where the
        lines of `text` are on it, a passage for example.

        Only from the very file that was indexed. Raises NotFound where it is gone or another by now, UsageError where
        the document was read from no PDF, Unreadable where PDFium fails or takes longer than half a minute.
        """
        with self._reader.snapshot():
            source = indexing.file_states.source_of(self._reader, document)
        if source is None or source.loader != "pdf":
            raise UsageError(f"{document!r} was not read from a PDF, so it has no page.", "Read its text instead.")
        return document_files.page_image.page_image(source.root, source.path, source.sha256, page, width, text)

    def sql(
        self, statement: str, values: Sequence[object] | Mapping[str, object] = (), *, seconds: float = 60.0
    ) -> SqlRows:
        """The rows of a SELECT over `documents_view`, `passages_view`, `metadata_view` and the tables of the store.

        `values` are those of `?` or `:name`. A key of the metadata is a column of the first two views. Functions:
        `semsearch_search(text, k, filter)` is a table of hits after FROM or JOIN, and JSON elsewhere; `cosine(a, b)`
        compares texts or ids of passages. Raises UsageError for a statement that SQLite refuses, that writes, or that
        has more than a million rows or 512 MB; SemsearchError after so many `seconds`.
        """
        if not isinstance(statement, str) or not statement.strip():
            raise UsageError(f"a statement of SQL is a text, not {statement!r}.", 'For example: sql("SELECT 1").')
        functions = search.sql_functions.functions(self, lambda text, k, where: self.search(text, k=k, where=where))
        return drivers.find(self.path).sql(self.path, statement, values, functions, seconds)

    # ---- changing

    def add(
        self,
        documents: Iterable[Document],
        *,
        vectors: ArrayLike | None = None,
        errors: Literal["raise", "skip"] = "raise",
    ) -> SyncReport:
        """Add documents, or replace those with the same id, also of this call; unchanged ones are left alone.

        `vectors` (n, d) are your own, one for each document, which is then one passage; they are scaled to length 1. An
        index without an encoder needs them. On return they are on disk. A document with a text at which the encoder
        fails is in the report's `skipped`, and what was stored of it before stays. Raises UsageError for the id of a
        document that came from a file, and Unreadable for a document that cannot be stored; with errors="skip" both are
        in `skipped`, too, and the others are added. Raises EncodingFailed if the encoder fails at a plain sentence too,
        and Locked, as every call below.
        """
        with self.store.writing() as writer:
            if vectors is None:
                return writer.add(documents, errors=errors)
            listed = several(documents, "add", "documents")
            return writer.add(listed, own_rows(vectors, len(listed), self.store.space.dim), errors=errors)

    def add_vectors(
        self,
        file: str | Path,
        texts: str | Path | None = None,
        *,
        fields: Fields | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> SyncReport:
        """Add texts with their vectors from a file; each is one document and one passage.

        `file` is .parquet, or a folder of such files, with a column of vectors called vector, embedding, vectors or
        embeddings, and others for text, id and metadata. Or it is .npy (n, d), and `texts` JSON lines, of which line n
        is the text of row n.
        `fields` names those of text, id and metadata; the keys of a field `metadata` become metadata. The id is the
        field `document`, where no two rows share it, else `_id` or `id`.

        Everything is read and checked before anything is written. If the index has an encoder, 32 of the texts are
        encoded again. Raises ForeignVectors where one has a cosine below 0.99 with its vector, UsageError for a row
        that does not fit, NotFound, Locked, MissingExtra for .parquet without the extra `arrow`.
        """
        own = None if texts is None else Path(texts)
        with self.store.writing() as writer:
            return writer.add_vectors(Path(file), own, fields, progress)

    def add_from(
        self,
        kind: str,
        path: str | Path,
        *,
        fields: Fields | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> SyncReport:
        """Add the texts in the store of another program, with their ids and metadata; they are encoded anew.

        `kind` is "chroma" (the folder of a PersistentClient), "txtai" (a saved index with content: a folder, .tar.gz or
        .zip) or "lancedb" (a table: FOLDER/NAME.lance, or the folder of a single one; needs the package lancedb).
        Nothing is unpickled. The store is not followed; a second call adds what is new or changed. `fields` chooses the
        fields of text, id and metadata. Records without text are in the report's `skipped`. Raises UnknownName,
        NotFound, UsageError, Locked, Unreadable for what is damaged.
        """
        with self.store.writing() as writer:
            return writer.add_from(kind, Path(path), fields, progress)

    def upsert(self, documents: Iterable[Document], *, vectors: ArrayLike | None = None) -> SyncReport:
        """`add`, which replaces documents with the same id, under the name that vector databases have for it."""
        return self.add(documents, vectors=vectors)

    def update(
        self, ids: str | Sequence[str], *, metadata: Mapping[str, object] | None = None, text: str | None = None
    ) -> SyncReport:
        """Change documents: keys of `metadata` are set, those with None removed; `text` replaces the text of one.

        New metadata embeds nothing. Raises NotFound, UsageError for the id of a document that came from a file.
        """
        names = [ids] if isinstance(ids, str) else several(ids, "update", "ids", str)
        if metadata is not None and not isinstance(metadata, Mapping):
            raise UsageError(f"metadata must be a mapping, not {metadata!r}.", 'Write metadata={"year": 2024}.')
        if text is not None and len(names) != 1:
            raise UsageError(f"a text belongs to one document, not to {len(names)}.", "Update each by itself.")
        with self.store.writing() as writer:
            return writer.add([self._updated(name, metadata or {}, text) for name in names], errors="raise")

    def annotate(self, ids: str | Sequence[str], metadata: Mapping[str, object]) -> int:
        """Set keys of the metadata of documents, also of those from files; how many documents changed.

        A key with None is removed. What is set here stays when a file is read again. Nothing is embedded. Raises
        NotFound, UsageError for a key that the documents have of themselves, Unreadable for what is no JSON, Locked.
        """
        names = [ids] if isinstance(ids, str) else several(ids, "annotate", "ids", str)
        if not isinstance(metadata, Mapping) or not all(isinstance(key, str) and key for key in metadata):
            raise UsageError(f"metadata must be a mapping, not {metadata!r}.", 'Write annotate(ids, {"tag": "read"}).')
        with self.store.writing(needs_encoder=False) as writer:
            return writer.annotate(names, metadata)

    def _updated(self, name: str, metadata: Mapping[str, object], text: str | None) -> Document:
        document = next(iter(self._reader.full_documents([name])), None)
        if document is None:
            raise NotFound(f"index {self.name} has no document {name!r}.", "Use the id of a document.")
        merged = {key: value for key, value in {**document.metadata, **metadata}.items() if value is not None}
        changed = replace(document, metadata=merged)
        return changed if text is None else replace(changed, text=text, marks=())

    def add_files(
        self,
        files: Iterable[tuple[str, BinaryIO]] | BinaryIO,
        progress: Callable[[Progress], None] = _silent,
        options: SyncOptions | None = None,
    ) -> SyncReport:
        """Add files, each a name and its content, as documents; they are not followed.

        Their documents get the ids that `sync` would choose, and replace those with the same ids. Unreadable files are
        in the report's `skipped`. One stream without a name, such as standard input, is one text, or records. Of
        `options`, only `kind`, `fields`, `force` and `dry_run`, which takes no lock, have an effect.
        """
        with self.store.writing(dry_run=options is not None and options.dry_run) as writer:
            if hasattr(files, "read"):
                return writer.add_stream(cast(BinaryIO, files), options)
            return writer.add_files(list(files), options, progress)

    def sync(
        self,
        paths: Sequence[str | Path] | str | Path = (),
        options: SyncOptions | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> SyncReport:
        """Update the index from files and folders; without `paths`, from those it follows already.

        Raises NotFound for a path that is not there, GuardRail for `/` and the like, Locked.
        """
        sources = [Path(paths)] if isinstance(paths, (str, Path)) else list(map(Path, several(paths, "sync", "paths")))
        with self.store.writing(dry_run=True) as planning:
            planning.plan(sources, options)  # may refuse, so before the lock is taken
        with self.store.writing(dry_run=options is not None and options.dry_run) as writer:
            return writer.sync(sources, options, progress)

    def delete(
        self,
        ids: Iterable[str] | None = None,
        progress: Callable[[Progress], None] = _silent,
        *,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        exclude: bool = False,
    ) -> int:
        """Delete the documents of `ids`, or those that pass `where`; the number deleted.

        If `progress` raises, none is deleted. Their files, if any, stay, and a `sync` adds the documents again, on the
        machine that has the files, unless its rules exclude them: `exclude` adds such rules for each file of which all
        documents are deleted. Raises BadFilter, and UsageError where both are given or neither.
        """
        if (ids is None) == (where is None):
            raise UsageError(
                "a deletion takes either ids or where.", 'For example ids ["a", "b"], or where "year < 2020".'
            )
        condition = parse_filter(where, values=values)  # may be refused, so before the lock is taken
        with self.store.writing() as writer:
            names = self._reader.document_ids(condition) if ids is None else several(ids, "delete", "ids", str)
            return writer.delete(names, progress, exclude=exclude)

    def reembed(
        self,
        encoder: EncoderLike | str | None = None,
        *,
        keep_old: bool = False,
        progress: Callable[[Progress], None] = _silent,
    ) -> ReembedReport:
        """Encode every passage again, with another encoder, and use that from now on. Files are not read.

        The vectors go into a space of their own. Until all are there, with their vector index, every search of any
        process uses the present ones; then one commit switches to the new ones, and open indexes follow. What an
        interrupted call has encoded stays, and the next one goes on. An unfinished one of another encoder is given up:
        `replaced` in the report. Without `encoder` it is the one of an unfinished call, else "default". The vectors
        until now are removed, or with `keep_old` kept, to compare encoders. The encoder that the index has already
        encodes nothing and removes the other spaces.

        Other machines may add documents to an index on a server meanwhile: the switch waits for what they are writing,
        and encodes it. A call of theirs that still writes vectors of the encoder before ends with EncoderMismatch, and
        is to be repeated.

        An exception of `progress` ends the call, and the next one goes on. Raises UsageError for an index without an
        encoder, EncodingFailed, naming the documents, if the encoder fails at some texts: the index then stays as it
        was. Raises Locked, on a server also where another machine re-embeds it, or has done so meanwhile.
        """
        return self.store.reembed(encoder, progress, keep_old=keep_old)
