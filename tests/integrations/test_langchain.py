"""semsearch in LangChain: its own test suites pass, and what its users rely on holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_tests", reason="needs langchain-tests: pip install -e '.[dev]'")
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests

from semsearch import Document as StoredDocument
from semsearch import Encoder, EncodingFailed, Index, Unreadable, UsageError
from semsearch.encoders.base import as_encoder
from semsearch.integrations.langchain import SemsearchEmbeddings, SemsearchRetriever, SemsearchVectorStore


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestEmbeddingsUnit(EmbeddingsUnitTests):
    embeddings_class = SemsearchEmbeddings
    embedding_model_params = {"model": "hashing"}  # noqa: RUF012


@pytest.mark.anyio
class TestEmbeddings(EmbeddingsIntegrationTests):
    embeddings_class = SemsearchEmbeddings
    embedding_model_params = {"model": "hashing"}  # noqa: RUF012


@pytest.mark.anyio
class TestStoreOfOtherEmbeddings(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[SemsearchVectorStore]:
        store = SemsearchVectorStore(embedding=self.get_embeddings())
        yield store
        store.index.close()


@pytest.mark.anyio
class TestStoreThatEmbedsItself(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[SemsearchVectorStore]:
        store = SemsearchVectorStore(embedding=self.get_embeddings())
        yield store
        store.index.close()

    @staticmethod
    def get_embeddings() -> Embeddings:
        return SemsearchEmbeddings("hashing")


@pytest.mark.anyio
class TestRetriever(RetrieversIntegrationTests):
    retriever_constructor = SemsearchRetriever
    retriever_query_example = "a diesel engine"

    @pytest.fixture(autouse=True)
    def index(self, tmp_path: Path) -> Iterator[None]:
        with Index.create(tmp_path / "notes", encoder="hashing") as index:
            index.add([StoredDocument(f"{n}.md", f"Diesel engine number {n}.", {"n": n}) for n in range(5)])
            self.notes = index
            yield

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.notes}


@pytest.fixture
def store() -> Iterator[SemsearchVectorStore]:
    texts = ["A red car.", "A red car", "A blue boat.", "A green tree."]
    metadatas: list[dict[str, Any]] = [{"page": 1}, {"page": 2}, {"page": 3, "title": "Boats"}, {}]
    made = SemsearchVectorStore.from_texts(texts, SemsearchEmbeddings("hashing"), metadatas, ids=["a", "b", "c", "d"])
    yield made
    made.index.close()


def names(found: list[Document]) -> list[str]:
    return [str(each.id) for each in found]


def test_a_score_is_the_cosine_of_query_and_document(store: SemsearchVectorStore) -> None:
    encoder = Encoder.load("hashing")
    for document, score in store.similarity_search_with_score("a red boat", k=4):
        vectors = encoder.encode_query("a red boat"), encoder.encode(document.page_content)
        assert score == pytest.approx(float(vectors[0] @ vectors[1]), abs=2e-3)  # stored in 16 bits
    relevant = store.similarity_search_with_relevance_scores("A red car.", k=2, score_threshold=0.9)
    assert [document.id for document, _ in relevant] == ["a", "b"]


def test_documents_with_the_same_words_are_all_found(store: SemsearchVectorStore) -> None:
    assert sorted(names(store.similarity_search("A red car.", k=2))) == ["a", "b"]


def test_a_filter_tests_the_metadata_whatever_their_names(store: SemsearchVectorStore) -> None:
    assert names(store.similarity_search("A red car.", filter={"page": {"$gt": 1}, "title": "Boats"})) == ["c"]
    assert names(store.similarity_search("A red car.", filter="\"page\" = 2 or document = 'd'")) == ["b", "d"]
    assert names(store.as_retriever(search_kwargs={"filter": {"page": 3}, "k": 2}).invoke("car")) == ["c"]
    with pytest.raises(UsageError, match="no argument 'filters'"):
        store.similarity_search("car", filters={"page": 3})


def test_what_is_deleted_by_filter_or_altogether_is_gone(store: SemsearchVectorStore) -> None:
    store.delete(filter={"page": {"$lt": 3}})
    assert names(store.get_by_ids(["d", "a", "c"])) == ["d", "c"]
    store.delete()
    assert store.similarity_search("car") == []


def test_marginal_relevance_prefers_what_is_not_said_yet(store: SemsearchVectorStore) -> None:
    assert names(store.max_marginal_relevance_search("A red car.", k=2, lambda_mult=0.3)) in (["a", "c"], ["a", "d"])
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "fetch_k": 3})
    assert names(retriever.invoke("A red car.")) == ["a"]


def test_a_long_document_is_found_whole_by_its_end(tmp_path: Path) -> None:
    text = " ".join(f"Paragraph {n} is about wheat and rye and many other things." for n in range(400))
    store = SemsearchVectorStore(tmp_path / "long", SemsearchEmbeddings("hashing"))
    store.add_texts([f"{text} Zebras have stripes.", "Wheat."], ids=["long", "short"])
    (found,) = store.similarity_search("zebras stripes", k=1)
    assert (found.id, found.page_content) == ("long", f"{text} Zebras have stripes.")
    store.index.close()


def test_a_store_opens_again_by_its_path(tmp_path: Path) -> None:
    SemsearchVectorStore.from_texts(["A kettle."], SemsearchEmbeddings("hashing"), index=tmp_path / "s").index.close()
    again = SemsearchVectorStore(tmp_path / "s")
    assert [found.page_content for found in again.similarity_search("kettle")] == ["A kettle."]
    assert again.embeddings.embed_query("x") == SemsearchEmbeddings("hashing").embed_query("x")
    with pytest.raises(UsageError, match="vectors of width"):
        SemsearchVectorStore(tmp_path / "s", VectorStoreIntegrationTests.get_embeddings())
    with pytest.raises(UsageError, match="has an encoder of its own"):
        SemsearchVectorStore(again.index, VectorStoreIntegrationTests.get_embeddings())
    again.index.close()


def test_an_index_in_a_temporary_folder_goes_with_its_store() -> None:
    store = SemsearchVectorStore.from_texts(["A kettle."], SemsearchEmbeddings("hashing"))
    folder = store.index.path
    assert Path(folder).exists()
    store.index.close()
    del store
    assert not Path(folder).parent.exists()


def test_what_cannot_be_stored_is_an_error_and_not_a_loss(store: SemsearchVectorStore) -> None:
    with pytest.raises(Unreadable, match="JSON cannot represent"):
        store.add_texts(["x"], [{"when": object()}])
    with pytest.raises(UsageError, match="2 ids for 1 documents"):
        store.add_documents([Document(page_content="x")], ids=["1", "2"])
    failing = SemsearchVectorStore(embedding=SemsearchEmbeddings(as_encoder(Refusing(Encoder.load("hashing")))))
    with pytest.raises(EncodingFailed, match="1 documents were not stored, the first is 'bad'"):
        failing.add_texts(["good", "broken text"], ids=["good", "bad"])
    assert names(failing.get_by_ids(["good", "bad"])) == ["good"]
    failing.index.close()


class Refusing:
    """The hashing encoder, which fails at the word broken."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.fingerprint, self.dim, self.reference = "refusing", "refusing@1", encoder.dim, "refusing"
        self._encoder = encoder

    def encode(self, texts: list[str], /, *, role: str) -> Any:
        if any("broken" in text for text in texts):
            raise ValueError("broken")
        return self._encoder.encode(texts)


def test_the_retriever_says_where_a_passage_stands(tmp_path: Path) -> None:
    file = tmp_path / "engines.md"
    file.write_text("# Engines\n\nDiesel engines ignite by compression.\n", encoding="utf-8")
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.sync(file)
    retriever = SemsearchRetriever(index=tmp_path / "notes", k=1, search={"mode": "keyword"})
    (found,) = retriever.invoke("diesel", where="loader = markdown")
    assert found.page_content.endswith("Diesel engines ignite by compression.")
    assert (found.metadata["source"], found.metadata["line"], found.metadata["heading"]) == ("engines.md", 1, "Engines")
    assert retriever.invoke("diesel", where="loader = pdf") == []
