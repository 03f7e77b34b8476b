"""What an open index can be asked: hits, documents and passages, what it is made of, and whether it is sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from semsearch.errors import NotFound, UsageError
from semsearch.indexing import describe
from semsearch.opened import Opened
from semsearch.types import DocumentState, Hit, Progress, Query, Results, Skipped, VectorSample
from semsearch.vector_index import cache_files

if TYPE_CHECKING:
    from semsearch.documents.page_image import PageImage
    from semsearch.search.snippets import Snippet
    from semsearch.stores.local.facets import Facet

_QUERY_FIELDS = tuple(field.name for field in fields(Query))


class Answering(Opened):
    """The calls of an `Index` that change nothing."""

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
        from semsearch.search.snippets import snippets

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

    def matching(self, *, where: str | None = None, path: str | None = None, words: Sequence[str] = ()) -> list[str]:
        """Ids, sorted, of the documents that a filter and a path glob let through, and whose id or title holds each
        of `words` in any case. Raises BadFilter.
        """
        from semsearch.stores.local import filter_sql

        with self._store.snapshot():
            titles = self._store.titles()
            if where is not None or path is not None:
                allowed = set(filter_sql.allowed_documents(self._store.connection, where, path))
                titles = [each for each in titles if each[0] in allowed]
        wanted = [word.casefold() for word in words]
        return [each for each, title in titles if not wanted or _holds(f"{each} {title or ''}", wanted)]

    def states(self, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
        """What has become of the file that each document (of `ids`, or of all) came from, as it is on disk now.

        "current": size and time are as when it was read. "changed": they are not. "unfinished": something of it is not
        in the index, and every update reads it again. "gone": it is not there. "unseen": its whole folder is away, or
        may not be looked into. "kept": no file is followed.
        """
        from semsearch.indexing.file_status import states

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
        from semsearch.stores.local import facets

        with self._store.snapshot():
            return facets.facets(self._store.connection)

    def page_image(self, document: str, page: int, *, width: int = 1400) -> PageImage:
        """Page `page` (from 1; past the end, the last) of the PDF that a document was read from, as PNG.

        Only from the very file that was indexed. Raises NotFound where it is gone or another by now, UsageError where
        the document was read from no PDF, Unreadable where PDFium fails or takes longer than half a minute.
        """
        from semsearch.documents.page_image import page_image

        with self._store.snapshot():
            if not self._store.heads([document]):
                raise NotFound(f"index {self.name} has no document {document!r}.", "It may have been deleted.")
            source = self._store.source_of(document)
        return page_image(source, document, page, width)

    def texts(self) -> Iterator[str]:
        """The text of every passage, in the order in which they were stored: what `train --from-index` reads."""
        return self._store.texts()

    def sample_vectors(self, most: int = 20_000, *, letters: int = 400) -> VectorSample:
        """At most `most` passages with their vectors and the first `letters` of their texts, always the same ones.

        Raises UsageError for fewer than one.
        """
        from semsearch.search import sampling

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

    def verify(self, progress: Callable[[Progress], None] = lambda _: None) -> list[str]:
        """Everything that is off: counts, checksums, orphan rows, caches against the store. Empty is good.

        `progress` is called before each check; where it raises, no other is begun.
        """
        from semsearch.stores.local import verify

        found = verify.verify(self._store, progress)
        return found + [problem for space in self._store.spaces() for problem in cache_files.check(self._store, space)]

    def audit(self, *, sample: int = 200, k: int = 10) -> dict[str, Any]:
        """Recall and speed of the backend against exact search, on the index's own vectors."""
        from semsearch.vector_index import searcher

        return searcher.audit(self._store, self._used_space(), sample=sample, k=k)

    def dump(self, file: Path) -> None:
        """Write the whole index to one file."""
        from semsearch.stores.local import backup

        backup.dump(self._store, file)


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
