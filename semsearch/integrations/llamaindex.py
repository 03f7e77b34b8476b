"""semsearch in LlamaIndex: an encoder as `BaseEmbedding`, an index as vector store.

    from semsearch.integrations.llamaindex import SemsearchEmbedding, SemsearchVectorStore

One node is one document of the index. Source of the interfaces: llama-index-core 0.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from semsearch.encoders.encoder import Encoder, LoadOptions
from semsearch.errors import MissingExtra, UsageError
from semsearch.index import Index, admin
from semsearch.integrations import _indexes
from semsearch.types import Document

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.schema import BaseNode, MetadataMode, TextNode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

    from semsearch.integrations._llamaindex_filters import condition, listed
except ImportError as error:
    raise MissingExtra("semsearch.integrations.llamaindex", "cpu,llamaindex", "llama-index-core") from error

if TYPE_CHECKING:
    from semsearch.types import Hit, JsonObject, Mode, Role

MODES: dict[VectorStoreQueryMode, Mode] = {
    VectorStoreQueryMode.DEFAULT: "semantic",
    VectorStoreQueryMode.MMR: "semantic",
    VectorStoreQueryMode.HYBRID: "hybrid",
    VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
    VectorStoreQueryMode.TEXT_SEARCH: "keyword",
    VectorStoreQueryMode.SPARSE: "keyword",
}
MMR_CANDIDATES = 4  # for each node that is wanted, as in LlamaIndex's own store


class SemsearchEmbedding(BaseEmbedding):
    """An encoder, under the names of LlamaIndex: queries and texts get the prompts of their role.

    `model_name` is what `Encoder.load` takes, with its `options`.
    """

    _encoder: Encoder = PrivateAttr()

    def __init__(
        self, model_name: str = "default", *, embed_batch_size: int = 256, **options: Unpack[LoadOptions]
    ) -> None:
        super().__init__(model_name=model_name, embed_batch_size=embed_batch_size)
        self._encoder = Encoder.load(model_name, **options)

    @classmethod
    def class_name(cls) -> str:
        return "SemsearchEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embed([query], "query")[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embed([text], "passage")[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts, "passage")

    def _embed(self, texts: list[str], role: Role) -> list[list[float]]:
        vectors: list[list[float]] = self._encoder.encode(texts, role=role).tolist()
        return vectors


class SemsearchVectorStore(BasePydanticVectorStore):
    """An index of LlamaIndex's nodes, on disk, under its name or path; without one, in a temporary folder.

    A new index stores the embeddings of the nodes. One that has an encoder of its own, such as those of
    `semsearch index`, embeds texts and queries with that, whatever LlamaIndex's embedding is; what came from files is
    returned as passages. Similarities are cosines; in the hybrid modes they are the scores of the search.
    """

    stores_text: bool = True
    _name: str | Path | None = PrivateAttr(default=None)
    _index: Index | None = PrivateAttr(default=None)

    def __init__(self, index: Index | str | Path | None = None) -> None:
        super().__init__(stores_text=True)
        if isinstance(index, Index):
            self._index = index
        elif index is not None and admin.exists(index):
            self._index = Index.open(index)
        else:
            self._name = index

    @classmethod
    def class_name(cls) -> str:
        return "SemsearchVectorStore"

    @property
    def client(self) -> Index | None:
        """The index; None before the first node of a new one, whose width is not known."""
        return self._index

    def add(self, nodes: Sequence[BaseNode], **_: object) -> list[str]:
        """Add nodes, or replace those with the same id; their ids."""
        nodes = list({node.node_id: node for node in nodes}.values())
        if nodes:
            if self._index is None:
                self._index = _indexes.with_vectors(self._name, len(nodes[0].get_embedding()))
            own = None if _indexes.has_encoder(self._index) else [node.get_embedding() for node in nodes]
            _indexes.put(self._index, map(_document, nodes), own)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: object) -> None:
        """Delete the nodes of a document of LlamaIndex."""
        self._delete({"$metadata": {"ref_doc_id": ref_doc_id}})

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: object
    ) -> None:
        """Delete the nodes with these ids that pass the filters. Raises UsageError without both."""
        if where := condition(filters, node_ids=node_ids):
            return self._delete(where)
        raise UsageError("delete_nodes() needs ids or filters.", "To delete all nodes, call clear().")

    def clear(self) -> None:
        """Delete all nodes."""
        self._delete(None)

    def _delete(self, where: JsonObject | None) -> None:
        if self._index is not None:
            self._index.delete(self._index.matching(where=where))

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The nodes with these ids that pass the filters, by id."""
        if self._index is None:
            return []
        return [_node(stored) for stored in self._index.get(where=condition(filters, node_ids=node_ids))]

    def query(self, query: VectorStoreQuery, **_: object) -> VectorStoreQueryResult:
        """The nodes that answer a query. Raises UsageError for a mode that there is not, BadFilter for a filter."""
        hits = self._hits(query) if self._index is not None else []
        nodes, similarities = [], []
        for hit in hits:
            for stored in _indexes.whole(self._index, [hit.document]) if self._index else []:
                nodes.append(_node(stored, hit))
                similarities.append(hit.score)
        return VectorStoreQueryResult(nodes=nodes, similarities=similarities, ids=[node.node_id for node in nodes])

    def _hits(self, query: VectorStoreQuery) -> list[Hit]:
        index = self._index
        if query.mode not in MODES:
            raise UsageError(f"query mode {query.mode.value!r} is not one of an index.", f"Modes: {listed(MODES)}.")
        mode, text = MODES[query.mode], query.query_str or ""
        assert index is not None
        vector = None if mode == "keyword" else self._vector(index, query)
        k = (query.hybrid_top_k if mode == "hybrid" else None) or query.similarity_top_k
        spread = query.mode == VectorStoreQueryMode.MMR
        results = index.search(
            "" if mode == "semantic" else text,
            vector=vector,
            k=MMR_CANDIDATES * k if spread else k,
            mode=mode,
            alpha=query.alpha if mode == "hybrid" else None,
            where=condition(query.filters, node_ids=query.node_ids, doc_ids=query.doc_ids),
            group="copy",
        )
        return _spread(index, list(results), vector or [], k, query.mmr_threshold) if spread else list(results)

    def _vector(self, index: Index, query: VectorStoreQuery) -> list[float]:
        """The vector (d,) of a query: of the index's own encoder where it has one, else LlamaIndex's."""
        if _indexes.has_encoder(index) and query.query_str:
            vector: list[float] = index.encoder.encode([query.query_str], role="query")[0].tolist()
            return vector
        if query.query_embedding is None:
            raise UsageError("the query has no embedding.", "Give the index of LlamaIndex an embed_model.")
        return query.query_embedding


def _spread(index: Index, hits: list[Hit], vector: list[float], k: int, threshold: float | None) -> list[Hit]:
    """`k` of the hits that repeat each other little."""
    if not hits:
        return []
    vectors = index.vectors([hit.id for hit in hits]).tolist()
    _, chosen = get_top_k_mmr_embeddings(
        vector, vectors, similarity_top_k=k, embedding_ids=list(range(len(hits))), mmr_threshold=threshold
    )
    return [hits[at] for at in chosen]


def _document(node: BaseNode) -> Document:
    """A node as a document; empty lists are left out of its metadata for filters, which have no word for them."""
    metadata = {key: value for key, value in node_to_metadata_dict(node, remove_text=True).items() if value != []}
    return Document(node.node_id, node.get_content(metadata_mode=MetadataMode.NONE), metadata)


def _node(stored: JsonObject, hit: Hit | None = None) -> BaseNode:
    """The node that was stored; of a document that came otherwise, the passage that was found, or all of it."""
    if "_node_content" in stored["metadata"]:
        return metadata_dict_to_node(stored["metadata"], text=stored["text"])
    if hit is None:
        return TextNode(id_=stored["document"], text=stored["text"], metadata=stored["metadata"])
    return TextNode(id_=str(hit.id), text=hit.text, metadata=_indexes.place(hit))
