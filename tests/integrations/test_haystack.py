"""semsearch in Haystack: its test kit for document stores passes, and a pipeline finds what it stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before the import: it would report its use
pytest.importorskip("haystack", reason="needs haystack-ai: pip install -e '.[haystack]'")
from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing.document_store import CountDocumentsByFilterTest, DocumentStoreBaseExtendedTests

from semsearch import Encoder, UsageError
from semsearch.integrations.haystack import (
    SemsearchDocumentEmbedder,
    SemsearchDocumentStore,
    SemsearchEmbeddingRetriever,
    SemsearchRetriever,
    SemsearchTextEmbedder,
)

ALLOWED = ["semsearch.integrations.haystack"]  # Haystack loads no module but those that it is told to trust


def unordered(documents: list[Document]) -> list[tuple[str, str | None, str]]:
    return sorted((each.id, each.content, repr(sorted(each.meta.items()))) for each in documents)


class TestStore(DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest):
    @pytest.fixture
    def document_store(self) -> Iterator[SemsearchDocumentStore]:
        store = SemsearchDocumentStore(model="hashing")
        yield store
        store.index.close()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """Without embeddings, which the store makes itself; in any order."""
        assert unordered(received) == unordered(expected)

    def test_write_documents(self, document_store: SemsearchDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])


DOCUMENTS = [
    Document(id="kettle", content="Descale a kettle with vinegar.", meta={"page": 3}),
    Document(id="bread", content="Bread needs salt.", meta={"page": 7}),
    Document(id="diesel", content="Diesel engines ignite by compression.", meta={"page": 9}),
]


def test_a_pipeline_finds_what_another_wrote(tmp_path: Path) -> None:
    store = SemsearchDocumentStore(tmp_path / "notes", model="hashing")
    DocumentWriter(store).run(documents=DOCUMENTS)
    pipeline = Pipeline()
    pipeline.add_component("retriever", SemsearchRetriever(store, top_k=2))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=ALLOWED)
    store.index.close()
    few = {"field": "meta.page", "operator": "<", "value": 9}
    (best, *_) = again.run({"retriever": {"query": "salt for bread", "filters": few}})["retriever"]["documents"]
    assert (best.id, best.content, best.meta) == ("bread", "Bread needs salt.", {"page": 7})
    assert best.score is not None


def test_embeddings_of_the_pipeline_are_stored_with_dimensions(tmp_path: Path) -> None:
    encoder = Encoder.load("hashing")
    store = SemsearchDocumentStore(tmp_path / "vectors", dimensions=encoder.dim)
    pipeline = Pipeline()
    pipeline.add_component("embedder", SemsearchDocumentEmbedder("hashing", meta_fields_to_embed=["page"]))
    pipeline.add_component("writer", DocumentWriter(store, policy=DuplicatePolicy.OVERWRITE))
    pipeline.connect("embedder.documents", "writer.documents")
    Pipeline.loads(pipeline.dumps(), allowed_modules=ALLOWED)
    pipeline.run({"embedder": {"documents": DOCUMENTS}})
    ask = Pipeline()
    ask.add_component("embedder", SemsearchTextEmbedder("hashing"))
    ask.add_component("retriever", SemsearchEmbeddingRetriever(store, top_k=1))
    ask.connect("embedder.embedding", "retriever.query_embedding")
    (found,) = ask.run({"embedder": {"text": "diesel engines"}})["retriever"]["documents"]
    expected = encoder.encode_query("diesel engines") @ encoder.encode("9\nDiesel engines ignite by compression.")
    assert (found.id, found.score) == ("diesel", pytest.approx(float(expected), abs=2e-3))
    with pytest.raises(UsageError, match="has no embedding"):
        store.write_documents([Document(content="bare")])
    store.index.close()


def test_documents_with_the_same_words_are_all_found() -> None:
    store = SemsearchDocumentStore(model="hashing")
    store.write_documents([Document(id=name, content="A red car.") for name in "abc"])
    found = SemsearchRetriever(store, mode="semantic").run("A red car.")["documents"]
    assert sorted(each.id for each in found) == ["a", "b", "c"]
    assert [round(each.score or 0, 2) for each in found] == [1.0, 1.0, 1.0]
    store.index.close()


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"field": "content", "operator": "==", "value": "x"}, "cannot be filtered by 'content'"),
        ({"field": "meta.a", "operator": "like", "value": "x"}, "unknown operator 'like'"),
        ({"operator": "XOR", "conditions": []}, "unknown operator 'XOR'"),
        ({"field": "meta.a", "operator": "==", "value": {"b": 1}}, "cannot compare"),
    ],
)
def test_what_cannot_be_filtered_is_refused_by_name(filters: dict[str, Any], message: str) -> None:
    store = SemsearchDocumentStore(model="hashing")
    with pytest.raises(FilterError, match=message):
        store.filter_documents(filters)
    store.index.close()


def test_a_blob_is_refused() -> None:
    store = SemsearchDocumentStore(model="hashing")
    with pytest.raises(UsageError, match="has a blob"):
        store.write_documents([Document(blob=ByteStream(b"x"))])
    store.index.close()
