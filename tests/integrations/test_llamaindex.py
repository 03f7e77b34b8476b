"""semsearch in LlamaIndex: nodes come back as they were stored, and its filters choose what LlamaIndex would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="needs llama-index-core: pip install -e '.[llamaindex]'")
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from semsearch import BadFilter, Document, Encoder, Index, UsageError
from semsearch.integrations.llamaindex import SemsearchEmbedding, SemsearchVectorStore

METADATA = [
    {"page": 1, "lang": "en", "tags": ["red", "car"]},
    {"page": 2, "lang": "de", "tags": ["boat"]},
    {"page": 3, "lang": "en", "note": "Über Boote"},
    {"title": "Trees", "tags": [], "note": ""},
]
TEXTS = ["A red car.", "A blue boat.", "A red car", "A green tree."]


@pytest.fixture
def embedding() -> SemsearchEmbedding:
    return SemsearchEmbedding(model_name="hashing")


@pytest.fixture
def store(embedding: SemsearchEmbedding) -> Iterator[SemsearchVectorStore]:
    made = SemsearchVectorStore()
    made.add(nodes(embedding))
    yield made
    assert made.client is not None
    made.client.close()


def nodes(embedding: SemsearchEmbedding) -> list[TextNode]:
    made = []
    for at, (text, metadata) in enumerate(zip(TEXTS, METADATA, strict=True)):
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc{at // 2}")}
        node = TextNode(id_=f"n{at}", text=text, metadata=dict(metadata), relationships=source)
        made.append(node.model_copy(update={"embedding": embedding.get_text_embedding(text)}))
    return made


def asked(embedding: SemsearchEmbedding, text: str, k: int = 4, **more: object) -> VectorStoreQuery:
    query = VectorStoreQuery(embedding.get_query_embedding(text), similarity_top_k=k, query_str=text)
    for name, value in more.items():
        setattr(query, name, value)
    return query


def test_nodes_come_back_as_they_were_stored(store: SemsearchVectorStore, embedding: SemsearchEmbedding) -> None:
    found = store.query(asked(embedding, "A red car.", k=2))
    assert sorted(found.ids or []) == ["n0", "n2"]
    encoder = Encoder.load("hashing")
    for node, similarity in zip(found.nodes or [], found.similarities or [], strict=True):
        expected = encoder.encode_query("A red car.") @ encoder.encode(node.get_content())
        assert similarity == pytest.approx(float(expected), abs=2e-3)
    before = {node.node_id: node for node in nodes(embedding)}
    for node in store.get_nodes():
        stored = before[node.node_id].model_copy(update={"embedding": None})
        assert node == stored


def single(operator: str, key: str, value: object) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=FilterOperator(operator))


@pytest.mark.parametrize(
    "one",
    [
        *(single(operator, "page", 2) for operator in ("==", "!=", ">", ">=", "<", "<=")),
        *(single(operator, "lang", ["en", "fr"]) for operator in ("in", "nin")),
        single("contains", "tags", "boat"),
        single("any", "tags", ["boat", "car"]),
        single("all", "tags", ["red", "car"]),
        single("is_empty", "tags", None),
        single("is_empty", "note", None),
        single("==", "title", "Trees"),
    ],
    ids=lambda one: f"{one.key} {one.operator.value}",
)
def test_a_filter_chooses_what_llamaindex_would(store: SemsearchVectorStore, one: MetadataFilter) -> None:
    for condition in (FilterCondition.AND, FilterCondition.NOT):
        filters = MetadataFilters(filters=[one], condition=condition)
        passes = build_metadata_filter_fn(lambda name: METADATA[int(name[1])], filters)
        expected = [f"n{at}" for at in range(4) if passes(f"n{at}")]
        assert [node.node_id for node in store.get_nodes(filters=filters)] == expected


def test_filters_combine_and_nest(store: SemsearchVectorStore, embedding: SemsearchEmbedding) -> None:
    inner = MetadataFilters(
        filters=[single("==", "page", 2), single("==", "title", "Trees")], condition=FilterCondition.OR
    )
    outer = MetadataFilters(filters=[inner, single("!=", "lang", "de")])
    assert store.query(asked(embedding, "anything", filters=outer)).ids == ["n3"]
    insensitive = MetadataFilters(filters=[single("text_match_insensitive", "note", "BOOTE")])
    assert [node.node_id for node in store.get_nodes(filters=insensitive)] == ["n2"]
    assert sorted(store.query(asked(embedding, "car", doc_ids=["doc1"])).ids or []) == ["n2", "n3"]
    assert store.query(asked(embedding, "car", node_ids=["n1"])).ids == ["n1"]


def test_what_cannot_be_expressed_is_refused_by_name(
    store: SemsearchVectorStore, embedding: SemsearchEmbedding
) -> None:
    with pytest.raises(BadFilter, match="operator 'text_match' cannot be expressed"):
        store.get_nodes(filters=MetadataFilters(filters=[single("text_match", "note", "Boote")]))
    with pytest.raises(UsageError, match="mode 'svm' is not one"):
        store.query(asked(embedding, "car", mode=VectorStoreQueryMode.SVM))


def test_every_mode_answers(store: SemsearchVectorStore, embedding: SemsearchEmbedding) -> None:
    words = store.query(asked(embedding, "boat", mode=VectorStoreQueryMode.TEXT_SEARCH))
    assert words.ids == ["n1"]
    both = store.query(asked(embedding, "boat", mode=VectorStoreQueryMode.HYBRID, alpha=0.3))
    assert (both.ids or [])[0] == "n1"
    spread = store.query(asked(embedding, "A red car.", k=2, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.3))
    assert (spread.ids or [])[0] in ("n0", "n2") and (spread.ids or [])[1] in ("n1", "n3")


def test_nodes_are_deleted_by_document_id_filter_or_altogether(store: SemsearchVectorStore) -> None:
    store.delete("doc0")
    assert [node.node_id for node in store.get_nodes()] == ["n2", "n3"]
    store.delete_nodes(filters=MetadataFilters(filters=[single("==", "page", 3)]))
    assert [node.node_id for node in store.get_nodes()] == ["n3"]
    with pytest.raises(UsageError, match="needs ids or filters"):
        store.delete_nodes()
    store.clear()
    assert store.get_nodes() == []


def test_an_index_of_llamaindex_is_kept_in_a_folder(tmp_path: Path, embedding: SemsearchEmbedding) -> None:
    store = SemsearchVectorStore(tmp_path / "nodes")
    storage = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex(nodes(embedding), storage_context=storage, embed_model=embedding)
    assert store.client is not None
    store.client.close()
    again = VectorStoreIndex.from_vector_store(SemsearchVectorStore(tmp_path / "nodes"), embed_model=embedding)
    (found,) = again.as_retriever(similarity_top_k=1).retrieve("blue boat")
    assert (found.node_id, found.text) == ("n1", "A blue boat.")


def test_an_index_of_files_answers_with_its_own_encoder(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document("kettle", "Descale a kettle with vinegar.", {"year": 2020}), Document("bread", "Salt.")])
        store = SemsearchVectorStore(index)
        found = store.query(VectorStoreQuery([0.0, 1.0], similarity_top_k=1, query_str="descale a kettle"))
        (node,) = found.nodes or []
        assert node.get_content() == "Descale a kettle with vinegar."
        assert (node.metadata["document"], node.metadata["year"]) == ("kettle", 2020)
