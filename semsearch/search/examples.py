"""The examples of a query, `like`: their vectors, and their passages, which are left out of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import loaders
from semsearch.errors import NotFound, UsageError
from semsearch.types import Document
from semsearch.utils.late_numpy import np
from semsearch.utils.passage_context import embedded
from semsearch.utils.vectors import row_ids, unit_rows

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.types import EncoderProtocol, Ids, Query, Vectors


class Examples:
    """Passage ids, document ids and, with `files`, paths of files, in one space of one store. Call it in a snapshot.

    `prefixes`: followed folder -> prefix of the ids of its documents.
    """

    def __init__(
        self, reader: StoreReader, space: int, encoder: EncoderProtocol, prefixes: Mapping[str, str], *, files: bool
    ) -> None:
        self._reader, self._space, self._encoder = reader, space, encoder
        self._prefixes, self._files = prefixes, files

    def vectors(self, query: Query) -> tuple[list[Vectors], list[str]]:
        """A unit vector (1, d) for each example, and warnings for the user. Raises NotFound, UsageError."""
        warnings: list[str] = []
        return [self._vector(example, warnings) for example in query.like], warnings

    def passages(self, query: Query) -> frozenset[int]:
        """The passages of the examples themselves; of a passage where hits are documents, those of its document."""
        own: set[int] = set()
        for example in query.like:
            if isinstance(example, int):
                stored = self._reader.passages(row_ids([example]))
                own |= {example}
                example = stored[0].document if stored and query.group != "passage" else ""
            own |= set(self._passages_of(example).tolist()) if example else set()
        return frozenset(own)

    def _vector(self, example: int | str, warnings: list[str]) -> Vectors:
        """The vector of a passage id, of a document id (mean of its passages), or of a file's text."""
        ids = row_ids([example]) if isinstance(example, int) else self._passages_of(example)
        rows = [vectors for _, vectors in self._reader.vectors(self._space, ids=ids)] if len(ids) else []
        if not rows and isinstance(example, str) and self._is_file(example):
            rows = [self._file_vectors(Path(example), warnings)]
        if not rows:
            kinds, names = ("passage, document or file", "document of a hit, or a file")
            if not self._files:
                kinds, names = ("passage or document", "document of a hit")
            raise NotFound(f"no {kinds} is called {str(example)!r}.", f"Use the id or the {names}.")
        return unit_rows(np.concatenate(rows).mean(axis=0, keepdims=True))

    def _is_file(self, example: str) -> bool:
        return self._files and Path(example).is_file()

    def _file_vectors(self, path: Path, warnings: list[str]) -> Vectors:
        """The vectors (n, d) of a file's passages, split as in the index. Raises UsageError for a file without text."""
        recipe = self._reader.state().recipe
        splitter, context = Splitter(**recipe["splitter"]), recipe.get("context", False)
        cut = [
            embedded(one, part, with_context=context)
            for one in loaders.load(path)
            if isinstance(one, Document)
            for part in passages(one, splitter, self._encoder.count_tokens)
        ]
        if not cut:
            raise UsageError(f"{path} has no text to compare with.", "Name a file with text in it.")
        before = self._encoder.truncation.tokens
        vectors = self._encoder.encode(cut, role="passage")
        if lost := self._encoder.truncation.tokens - before:
            warnings.append(
                f"{path} has passages too long for the encoder: about {lost} tokens at their ends were ignored."
            )
        return vectors

    def _passages_of(self, example: str) -> Ids:
        """The passages of a document: by its id, or by the path of its file, seen from the working directory."""
        ids = self._reader.passage_ids([example])
        if len(ids) or not self._is_file(example):
            return ids
        path = Path(example).resolve()
        names = (
            prefix + path.relative_to(base).as_posix()
            for base, prefix in self._prefixes.items()
            if path.is_relative_to(base)
        )
        return next((each for name in names if len(each := self._reader.passage_ids([name]))), ids)
