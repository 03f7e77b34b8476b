"""semsearch in Haystack: an index as document store, its search as retriever, an encoder as embedders.

    from semsearch.integrations.haystack import SemsearchDocumentStore, SemsearchRetriever

One document of Haystack is one document of the index. Source of the interfaces: haystack-ai 3. Haystack reports its use
to its publisher unless the environment has HAYSTACK_TELEMETRY_ENABLED=False.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semsearch.encoders.encoder import Encoder
from semsearch.errors import MissingExtra, UsageError
from semsearch.integrations import _indexes
from semsearch.types import Document as StoredDocument
from semsearch.types import JsonObject, Mode

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy

    from semsearch.integrations._haystack_filters import condition
except ImportError as error:
    raise MissingExtra("semsearch.integrations.haystack", "cpu,haystack", "haystack-ai") from error

if TYPE_CHECKING:
    from semsearch.types import Hit


class SemsearchDocumentStore:
    """An index of Haystack's documents, on disk, under its name or path; without one, in a temporary folder.

    It embeds them with an encoder of its own, `model`, and ignores their embeddings: no embedder is needed in a
    pipeline. With `dimensions`, it stores the embeddings of the documents, of that width, in place of `model`.
    Embeddings are not returned. A document with a blob is refused.
    """

    def __init__(
        self, index: str | Path | None = None, *, model: str | None = None, dimensions: int | None = None
    ) -> None:
        self.index_name, self.model, self.dimensions = index, model, dimensions
        if dimensions is None:
            self.index = _indexes.with_encoder(index, model)
        else:
            self.index = _indexes.with_vectors(index, dimensions)

    def to_dict(self) -> JsonObject:
        name = None if self.index_name is None else str(self.index_name)
        return default_to_dict(self, index=name, model=self.model, dimensions=self.dimensions)

    @classmethod
    def from_dict(cls, data: JsonObject) -> SemsearchDocumentStore:
        store: SemsearchDocumentStore = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        return len(self.index)

    def count_documents_by_filter(self, filters: JsonObject) -> int:
        return self.index.count(condition(filters))

    def filter_documents(self, filters: JsonObject | None = None) -> list[Document]:
        """The documents that pass, by id. Raises FilterError for a filter that is none, or cannot be expressed."""
        return [_document(stored) for stored in self.index.get(where=condition(filters))]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Add documents; how many. Raises DuplicateDocumentError for an id that is there, unless `policy` says else."""
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise UsageValueError("write_documents() takes a list of Documents.")
        present = set() if policy == DuplicatePolicy.OVERWRITE else self._present(documents)
        if present and policy != DuplicatePolicy.SKIP:
            raise DuplicateDocumentError(f"ID '{min(present)}' already exists.")
        new = {each.id: each for each in documents if each.id not in present}
        vectors = [_embedding(each) for each in new.values()] if self.dimensions else None
        if new:
            _indexes.put(self.index, [_stored(each) for each in new.values()], vectors)
        return len(new)

    def _present(self, documents: Iterable[Document]) -> set[str]:
        return {stored["document"] for stored in _indexes.whole(self.index, [each.id for each in documents])}

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete the documents with these ids; unknown ones are left alone."""
        self.index.delete(document_ids)

    def delete_all_documents(self) -> None:
        self.index.delete(self.index.matching())

    def delete_by_filter(self, filters: JsonObject) -> int:
        """Delete the documents that pass; how many."""
        return self.index.delete(where=condition(filters) or {"document": {"$exists": True}})

    def update_by_filter(self, filters: JsonObject, meta: JsonObject) -> int:
        """Set keys of the metadata of the documents that pass; of how many. Nothing is embedded again."""
        names = self.index.matching(where=condition(filters))
        if names:
            self.index.update(names, metadata=meta)
        return len(names)

    def search(
        self, query: str | list[float], filters: JsonObject | None = None, top_k: int = 10, mode: Mode = "semantic"
    ) -> list[Document]:
        """The best documents for a text or a vector, with their scores: cosines, or those of a hybrid search."""
        if top_k < 1:
            return []
        text, vector = (query, None) if isinstance(query, str) else ("", query)
        hits = self.index.search(text, vector=vector, k=top_k, mode=mode, where=condition(filters), group="copy")
        by_document = {hit.document: hit for hit in hits}
        return [_document(each, by_document[each["document"]]) for each in _indexes.whole(self.index, by_document)]


class UsageValueError(UsageError, ValueError):
    """A UsageError where Haystack expects a ValueError."""


class _Retriever:
    """What both retrievers share."""

    def __init__(
        self, document_store: SemsearchDocumentStore, filters: JsonObject | None = None, top_k: int = 10
    ) -> None:
        if not isinstance(document_store, SemsearchDocumentStore):
            raise UsageValueError("document_store must be a SemsearchDocumentStore.")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self._own: JsonObject = {}  # parameters that the other retriever does not have

    def to_dict(self) -> JsonObject:
        store = self.document_store.to_dict()
        return default_to_dict(self, document_store=store, filters=self.filters, top_k=self.top_k, **self._own)

    @classmethod
    def from_dict(cls, data: JsonObject) -> Self:
        parameters = data.get("init_parameters", {})
        if isinstance(parameters.get("document_store"), dict):
            parameters["document_store"] = SemsearchDocumentStore.from_dict(parameters["document_store"])
        retriever: Self = default_from_dict(cls, data)
        return retriever

    def _chosen(self, filters: JsonObject | None, top_k: int | None) -> JsonObject:
        return {"filters": filters or self.filters, "top_k": self.top_k if top_k is None else top_k}


@component
class SemsearchRetriever(_Retriever):
    """The documents that answer a text, in the hybrid mode unless `mode` is semantic or keyword."""

    def __init__(
        self,
        document_store: SemsearchDocumentStore,
        filters: JsonObject | None = None,
        top_k: int = 10,
        mode: Mode = "hybrid",
    ) -> None:
        _Retriever.__init__(self, document_store, filters, top_k)  # `component` makes another class of this one
        self.mode, self._own = mode, {"mode": mode}

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: JsonObject | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        return {"documents": self.document_store.search(query, **self._chosen(filters, top_k), mode=self.mode)}


@component
class SemsearchEmbeddingRetriever(_Retriever):
    """The documents whose embeddings have the highest cosines with that of a query."""

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: JsonObject | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        return {"documents": self.document_store.search(query_embedding, **self._chosen(filters, top_k))}


class _Embedder:
    """An encoder that is loaded by `warm_up`, or the first call; `options` are those of `Encoder.load`."""

    def __init__(self, model: str = "default", options: JsonObject | None = None) -> None:
        self.model, self.options = model, options or {}
        self._encoder: Encoder | None = None

    def warm_up(self) -> None:
        self._encoder = self._encoder or Encoder.load(self.model, **self.options)

    @property
    def encoder(self) -> Encoder:
        self.warm_up()
        assert self._encoder is not None
        return self._encoder


@component
class SemsearchTextEmbedder(_Embedder):
    """The embedding of a query."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        if not isinstance(text, str):
            raise TypeError("SemsearchTextEmbedder takes a text; for Documents there is SemsearchDocumentEmbedder.")
        return {"embedding": self.encoder.encode([text], role="query")[0].tolist()}

    def to_dict(self) -> JsonObject:
        return default_to_dict(self, model=self.model, options=self.options)


@component
class SemsearchDocumentEmbedder(_Embedder):
    """Documents with their embeddings: of their content, after the values of `meta_fields_to_embed`."""

    def __init__(
        self,
        model: str = "default",
        options: JsonObject | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
    ) -> None:
        _Embedder.__init__(self, model, options)
        self.meta_fields_to_embed, self.embedding_separator = meta_fields_to_embed or [], embedding_separator

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        if not isinstance(documents, list) or not all(isinstance(each, Document) for each in documents):
            raise TypeError(
                "SemsearchDocumentEmbedder takes a list of Documents; for a text there is SemsearchTextEmbedder."
            )
        vectors = self.encoder.encode([self._text(each) for each in documents], role="passage").tolist()
        return {"documents": [replace(each, embedding=row) for each, row in zip(documents, vectors, strict=True)]}

    def _text(self, document: Document) -> str:
        values = [document.meta.get(name) for name in self.meta_fields_to_embed]
        return self.embedding_separator.join([*(str(value) for value in values if value), document.content or ""])

    def to_dict(self) -> JsonObject:
        own = {"meta_fields_to_embed": self.meta_fields_to_embed, "embedding_separator": self.embedding_separator}
        return default_to_dict(self, model=self.model, options=self.options, **own)


def _stored(document: Document) -> StoredDocument:
    if document.blob is not None:
        raise UsageError(
            f"document {document.id!r} has a blob, and an index stores texts.", "Convert it to text first."
        )
    return StoredDocument(document.id, document.content or "", document.meta)


def _embedding(document: Document) -> list[float]:
    if document.embedding is None:
        raise UsageError(
            f"document {document.id!r} has no embedding, which a store with dimensions= needs.",
            "Put an embedder before the writer, or let the store embed: SemsearchDocumentStore(model=…).",
        )
    return list(document.embedding)


def _document(stored: JsonObject, hit: Hit | None = None) -> Document:
    score = None if hit is None else hit.score
    return Document(id=stored["document"], content=stored["text"], meta=stored["metadata"], score=score)
