"""What the server answers about indexes, searches and texts is what the command line prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.serving import Serving

from semsearch import Document, Encoder, Index, admin
from semsearch.encoders.hashing import HashingEncoder


def without_times(answer: object) -> object:
    assert isinstance(answer, dict)
    return {name: value for name, value in answer.items() if name != "took_ms"}


def test_a_search_is_answered_as_query_json_prints_it(server: Serving, cli: CommandLine, home: Path) -> None:
    printed = cli("--home", home, "query", "a diesel engine", "-n", "house", "-k", "2", "--json")
    answered = server.ok("POST", "/indexes/house/search", {"text": "a diesel engine", "k": 2})
    assert without_times(answered) == without_times(json.loads(printed.out))
    assert answered["hits"][0]["document"] == "a/b.md"


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"text": "boiler", "where": "year > 2020"}, {"bread", "a/b.md"}),
        ({"text": "boiler", "where": "year > :y", "values": {"y": 2021}}, {"a/b.md"}),
        ({"text": "boiler", "where": {"year": {"$lt": 2021}}}, {"boiler"}),
        ({"text": "boiler", "path": "a/*.md"}, {"a/b.md"}),
        ({"text": "x", "must": "salt"}, {"bread"}),
        ({"more": [["salt", 2.0], "flour"], "less": ["diesel", 0.5], "k": 1}, {"bread"}),
        ({"like": "boiler", "mode": "semantic"}, {"bread", "a/b.md"}),
        ({"text": "boiler", "mode": "keyword"}, {"boiler"}),
        ({"text": "boiler", "k": 3, "offset": 3}, set()),
    ],
)
def test_the_fields_of_a_query_have_their_effect(server: Serving, fields: object, found: set[str]) -> None:
    answered = server.ok("POST", "/indexes/house/search", fields)
    assert {hit["document"] for hit in answered["hits"]} == found


def test_many_queries_are_answered_in_their_order(server: Serving) -> None:
    texts = ["bread", "boiler", "diesel"]
    answered = server.ok("POST", "/indexes/house/search", {"queries": [{"text": text, "k": 1} for text in texts]})
    assert [one["query"] for one in answered["queries"]] == texts
    assert [one["hits"][0]["document"] for one in answered["queries"]] == ["bread", "boiler", "a/b.md"]


def test_similar_leaves_the_document_itself_out(server: Serving) -> None:
    answered = server.ok("POST", "/indexes/house/similar", {"id": "boiler", "k": 5})
    assert {hit["document"] for hit in answered["hits"]} == {"bread", "a/b.md"}


def test_an_example_is_never_read_from_a_file_of_the_server(server: Serving, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("diesel")
    for path, body in (
        ("similar", {"id": str(file)}),
        ("search", {"like": str(file)}),
        ("search", {"like": [str(file)]}),
    ):
        answer = server.ask("POST", f"/indexes/house/{path}", body)
        assert (answer.status, answer.body["code"]) == (404, 3)
        assert "no passage or document" in answer.body["detail"]


def test_a_change_by_another_process_is_seen_at_the_next_search(server: Serving, home: Path) -> None:
    def newest() -> object:
        return server.ok("POST", "/indexes/changing/search", {"text": "kettle"})["hits"][:1]

    for text in ("A kettle boils.", "Another kettle whistles."):  # the second time the index is a new one
        with Index.create("changing", encoder="hashing", home=home) as index:
            assert newest() == []
            index.add([Document("k", text)])
            (hit,) = newest()
            assert hit["text"] == text
        admin.remove("changing", home)
        assert server.ask("POST", "/indexes/changing/search", {"text": "kettle"}).status == 404


def test_an_index_that_has_another_encoder_by_now_is_searched_with_that_one(server: Serving, home: Path) -> None:
    for encoder in (HashingEncoder(), HashingEncoder(64)):
        with Index.create("moved", encoder=encoder, home=home) as index:
            index.add([Document("k", "A kettle boils."), Document("s", "Soup of the day.")])
        for _ in range(2):  # the second time its encoder is known
            answer = server.ask("POST", "/indexes/moved/search", {"text": "kettle", "k": 1, "mode": "semantic"})
            if encoder.dim == 64:  # which the server cannot load by its name
                assert answer.status in (404, 409)
            else:
                assert answer.body["hits"][0]["document"] == "k"
        admin.remove("moved", home)


def test_indexes_are_listed_with_their_size(server: Serving) -> None:
    listed = {one["index"]: one for one in server.ok("GET", "/indexes")["indexes"]}
    assert listed["house"]["documents"] == 3
    assert listed["house"]["encoder"]["name"] == "hashing"


def test_vectors_are_those_of_the_encoder(server: Serving) -> None:
    texts = ["a diesel engine", "soup"]
    answered = server.ok("POST", "/embed", {"texts": texts, "role": "query"})
    assert answered["vectors"] == pytest.approx(Encoder.load("hashing").encode(texts, role="query"))


def test_pairs_are_compared_as_sts_json_prints_them(server: Serving, cli: CommandLine) -> None:
    printed = cli("sts", "a red car", "a red bus", "-m", "hashing", "--json")
    assert server.ok("POST", "/sts", {"pairs": [["a red car", "a red bus"]]}) == json.loads(printed.out)


def test_without_a_reranker_there_is_no_reranking(server: Serving, tmp_path: Path) -> None:
    assert server.ask("POST", "/rerank", {"query": "a", "passages": ["b"]}).status == 404
    for name in ("default", str(tmp_path)):  # a client cannot have a model loaded
        assert server.ask("POST", "/indexes/house/search", {"text": "a", "rerank": name}).status == 404
