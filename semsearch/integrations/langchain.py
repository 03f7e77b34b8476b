"""semsearch in LangChain: an encoder as `Embeddings`, an index as `VectorStore`, its own search as `Retriever`.

    from semsearch.integrations.langchain import SemsearchEmbeddings, SemsearchRetriever, SemsearchVectorStore

The store keeps LangChain's documents and finds whole ones by their cosine. The retriever asks any index, those of files
too, with all that a `Query` can say, and returns passages. Source of the interfaces: langchain-core 1.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from semsearch.encoders.encoder import Encoder, LoadOptions
from semsearch.errors import MissingExtra, UsageError
from semsearch.index import Index
from semsearch.integrations import _indexes
from semsearch.types import Document as StoredDocument
from semsearch.types import JsonMapping, JsonObject, Mode, Where

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:
    raise MissingExtra("semsearch.integrations.langchain", "cpu,langchain", "langchain-core") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.callbacks import CallbackManagerForRetrieverRun

    from semsearch.types import EncoderProtocol, Hit, Role


class SemsearchEmbeddings(Embeddings):
    """An encoder, under the names of LangChain: queries and documents get the prompts of their role.

    `model` is what `Encoder.load` takes, or an encoder; `options` are those of `Encoder.load`, such as `device`.
    """

    def __init__(self, model: str | Path | EncoderProtocol = "default", **options: Unpack[LoadOptions]) -> None:
        self.encoder = Encoder.load(model, **options) if isinstance(model, str | Path) else model
        self.model = self.encoder.reference

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """n texts -> n lists of d numbers, of length 1."""
        return self._embed(texts, "passage")

    def embed_query(self, text: str) -> list[float]:
        """d numbers, of length 1."""
        return self._embed([text], "query")[0]

    def _embed(self, texts: Sequence[str], role: Role) -> list[list[float]]:
        vectors: list[list[float]] = self.encoder.encode(list(texts), role=role).tolist()
        return vectors


class SemsearchVectorStore(VectorStore):
    """An index of LangChain's documents, on disk, under its name or path.

    Without `embedding`, or with `SemsearchEmbeddings`, the index embeds with an encoder of its own: a long document has
    several passages, and its score is the cosine of the best. With other embeddings it stores their vectors, one for
    each document. Without `index` it is in a temporary folder, which is removed with the store.

    `filter` is text of the filter language, or a structure such as {"year": {"$gt": 2020}}, whose fields are keys of
    the metadata (docs/filters.md). Scores are cosines, from -1 to 1, and higher is better.
    """

    def __init__(self, index: Index | str | Path | None = None, embedding: Embeddings | None = None) -> None:
        self._embedding = embedding
        if embedding is None or isinstance(embedding, SemsearchEmbeddings):
            self.index = _indexes.with_encoder(index, None if embedding is None else embedding.encoder)
        else:
            self.index = _indexes.with_vectors(index, len(embedding.embed_query("width")))

    @property
    def embeddings(self) -> Embeddings:
        return self._embedding or SemsearchEmbeddings(self.index.encoder)

    @property
    def _own(self) -> Embeddings | None:
        """The embeddings that are not those of the index; None where it embeds itself."""
        return None if isinstance(self._embedding, SemsearchEmbeddings) else self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[JsonObject] | None = None,
        *,
        ids: list[str] | None = None,
        index: Index | str | Path | None = None,
        **kwargs: object,
    ) -> SemsearchVectorStore:
        """A store with these texts, in `index`, which is created unless it is there."""
        store = cls(index, embedding)
        store.add_texts(texts, metadatas, ids=ids, **kwargs)
        return store

    def add_documents(self, documents: list[Document], *, ids: list[str] | None = None, **kwargs: object) -> list[str]:
        """Add documents, or replace those with the same id; their ids, new ones for those without.

        Raises UsageError for another number of ids, Unreadable for metadata that JSON cannot represent.
        """
        _refuse("add_documents", kwargs)
        if ids and len(ids) != len(documents):
            raise UsageError(f"there are {len(ids)} ids for {len(documents)} documents.", "Pass one for each.")
        names = ids or [each.id or str(uuid.uuid4()) for each in documents]
        last = {
            name: StoredDocument(name, each.page_content, each.metadata)
            for name, each in zip(names, documents, strict=True)
        }
        stored = list(last.values())
        own = self._own
        vectors = own.embed_documents([each.text for each in stored]) if own and stored else None
        _indexes.put(self.index, stored, vectors)
        return names

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, in their order; unknown ids are left out."""
        return [_document(stored) for stored in _indexes.whole(self.index, ids)]

    def delete(self, ids: list[str] | None = None, *, filter: Where | None = None, **kwargs: object) -> bool:  # noqa: A002
        """Delete the documents with these ids, or those that pass `filter`; without both, all. Unknown ids are fine."""
        _refuse("delete", kwargs)
        names = self.index.matching(where=_indexes.of_metadata(filter)) if ids is None else ids
        self.index.delete(names)
        return True

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """The `k` documents with the highest cosines, and these."""
        return self.similarity_search_with_score_by_vector(self.embeddings.embed_query(query), k, **kwargs)

    def similarity_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002  (LangChain's name)
        **kwargs: object,
    ) -> list[tuple[Document, float]]:
        """The `k` documents whose cosines with a vector are the highest, and these."""
        _refuse("similarity_search", kwargs)
        hits = _indexes.nearest(self.index, embedding, k, _indexes.of_metadata(filter))
        return self._documents(hits)

    def _documents(self, hits: Iterable[Hit]) -> list[tuple[Document, float]]:
        """The whole document of each hit, and its cosine; one that was deleted meanwhile is left out."""
        scores = {hit.document: hit.scores["cosine"] for hit in hits}
        return [(_document(stored), scores[stored["document"]]) for stored in _indexes.whole(self.index, scores)]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """A cosine as LangChain's relevance, from 0 to 1: texts that point away from the query have none."""
        return lambda cosine: min(1.0, max(0.0, cosine))

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        vector = self.embeddings.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: object,
    ) -> list[Document]:
        """`k` of the nearest `fetch_k` documents that repeat each other little (Carbonell and Goldstein 1998)."""
        _refuse("max_marginal_relevance_search", kwargs)
        hits = _indexes.nearest(self.index, embedding, fetch_k, _indexes.of_metadata(filter))
        vectors = list(self.index.vectors([hit.id for hit in hits]))
        target = np.asarray(embedding, dtype=np.float32)
        chosen = maximal_marginal_relevance(target, vectors, lambda_mult, k) if hits else []
        return [document for document, _ in self._documents(hits[at] for at in chosen)]


class SemsearchRetriever(BaseRetriever):
    """The passages of an index that answer a query, with their place (`source`, `page`, `line`) and strength.

    `index` is its name, its path, or itself. `where`, `mode`, `rerank`, `min_strength` and all fields of a `Query` in
    `search` are those of `Index.search`; `k` and they can be passed to `invoke` too.
    """

    index: Any
    k: int = 4
    mode: Mode = "hybrid"
    where: str | JsonMapping | None = None
    search: JsonObject = {}  # noqa: RUF012  (a field of pydantic, which copies it)

    @cached_property
    def _opened(self) -> Index:
        return self.index if isinstance(self.index, Index) else Index.open(self.index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **fields: Any
    ) -> list[Document]:
        own = {"k": self.k, "mode": self.mode, "where": self.where, "group": "passage"}
        hits = self._opened.search(query, **{**own, **self.search, **fields})
        return [Document(id=str(hit.id), page_content=hit.text, metadata=_indexes.place(hit)) for hit in hits]


def _document(stored: JsonObject) -> Document:
    return Document(id=stored["document"], page_content=stored["text"], metadata=stored["metadata"])


def _refuse(method: str, unknown: Mapping[str, object]) -> None:
    """Raises UsageError for arguments that nothing would look at."""
    if unknown:
        raise UsageError(f"{method} has no argument {min(unknown)!r}.", "See docs/integrations.md.")
