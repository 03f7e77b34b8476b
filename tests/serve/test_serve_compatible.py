"""Clients of other services are answered as they expect: the real client of OpenAI, and requests for reranking."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.rerankers import saved
from helpers.serving import Serving, serving

from semsearch import Encoder, Index

TEXTS = ["a diesel engine", "bread and salt", ""]


@pytest.fixture(scope="module")
def openai() -> Any:
    """Not imported above: every worker of the suite reads this file, and one runs it."""
    return pytest.importorskip("openai")


@pytest.fixture
def client(openai: Any, server: Serving) -> object:
    return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize("form", ["float", "base64", None])
def test_openais_client_gets_the_vectors_of_the_encoder(client: object, form: str | None) -> None:
    chosen = {} if form is None else {"encoding_format": form}
    answer = client.embeddings.create(model="hashing", input=TEXTS, **chosen)
    found = [one.embedding for one in answer.data]
    if form == "base64":
        found = [np.frombuffer(base64.b64decode(one), "<f4") for one in found]
    encoder = Encoder.load("hashing")
    assert np.array_equal(np.asarray(found, dtype=np.float32), encoder.encode(TEXTS))
    assert [one.index for one in answer.data] == [0, 1, 2]
    assert (answer.model, answer.usage.total_tokens) == ("hashing", sum(encoder.count_tokens(TEXTS)))


def test_fewer_dimensions_are_the_first_ones_at_length_1(client: object) -> None:
    (one,) = client.embeddings.create(model="hashing", input="a diesel engine", dimensions=64).data
    first = Encoder.load("hashing").encode("a diesel engine")[:64]
    assert one.embedding == pytest.approx(first / np.linalg.norm(first), abs=1e-6)


def test_a_role_is_passed_on(openai: Any, client: object) -> None:
    (one,) = client.embeddings.create(model="hashing", input="soup", extra_body={"role": "query"}).data
    assert one.embedding == pytest.approx(Encoder.load("hashing").encode("soup", role="query"), abs=1e-6)
    with pytest.raises(openai.UnprocessableEntityError, match="role"):
        client.embeddings.create(model="hashing", input="soup", extra_body={"role": "question"})


def test_the_client_lists_the_models_and_gets_errors_of_its_own_kinds(openai: Any, client: object) -> None:
    assert [one.id for one in client.models.list()] == ["hashing"]
    assert client.models.retrieve("hashing").owned_by == "semsearch"
    with pytest.raises(openai.NotFoundError, match="no model of this server is called 'gpt'"):
        client.embeddings.create(model="gpt", input="a")
    with pytest.raises(openai.BadRequestError, match="has 256 dimensions"):
        client.embeddings.create(model="hashing", input="a", dimensions=257)
    with pytest.raises(openai.UnprocessableEntityError):
        client.embeddings.create(model="hashing", input=[1, 2, 3])


def test_a_reranker_orders_documents_and_hits(tmp_path: Path) -> None:
    folder = saved(tmp_path / "word-counter")
    Index.create("empty", encoder="hashing", home=tmp_path / "home").close()
    passages = ["bread needs salt", "engines ignite by compression", "vinegar for scale"]
    with serving(tmp_path / "home", "-m", "hashing", "--reranker", str(folder)) as server:
        scores = server.ok("POST", "/rerank", {"query": "engine", "passages": passages})["scores"]
        assert [scores.index(score) for score in sorted(scores, reverse=True)] == [1, 2, 0]
        wanted = {"model": "default", "query": "engine", "documents": [*passages[:2], {"text": passages[2]}]}
        answer = server.ok("POST", "/v1/rerank", {**wanted, "top_n": 2, "return_documents": True})
        assert [(one["index"], one["document"]["text"]) for one in answer["results"]] == [
            (1, passages[1]),
            (2, passages[2]),
        ]
        assert [one["relevance_score"] for one in answer["results"]] == pytest.approx([scores[1], scores[2]], abs=1e-4)
        documents = [{"id": str(at), "text": text} for at, text in enumerate(passages)]
        server.ok("POST", "/indexes/empty/documents", {"documents": documents})
        query = {"text": "engine", "rerank": "default", "rerank_weight": 1.0}
        hits = server.ok("POST", "/indexes/empty/search", query)["hits"]
        assert [hit["document"] for hit in hits] == ["1", "2", "0"]
        assert hits[0]["rerank"] == pytest.approx(scores[1], abs=1e-4)


def test_a_wrong_input_is_named_in_words_of_the_client(server: Serving) -> None:
    answer = server.ask("POST", "/v1/embeddings", {"input": [1, 2], "model": "hashing"})
    errors = answer.body["errors"]
    assert answer.status == 422 and not [
        one for one in errors if "constrained" in one["field"] or "Value error" in one["problem"]
    ]
