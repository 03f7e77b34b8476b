"""What the server answers about indexes, searches and texts is what the command line prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.serving import Serving, speaks_python

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


def test_no_more_hits_are_read_than_an_answer_may_be_long(server: Serving, home: Path) -> None:
    with Index.create("long", encoder="hashing", home=home) as index:
        index.add(Document(f"{at}", f"Harbour {at}.", {"log": "x" * 900_000}) for at in range(90))
    place, query = "/indexes/long/search", {"text": "harbour", "mode": "keyword"}
    assert len(server.ok("POST", place, {**query, "k": 60})["hits"]) == 60
    assert len(server.ok("POST", place, {**query, "k": 60, "offset": 60})["hits"]) == 30
    for body in ({**query, "k": 90}, {"queries": [{**query, "k": 10}] * 9}):
        answer = server.ask("POST", place, body)
        assert (answer.status, "64 MB" in answer.body["detail"]) == (413, True)
    answer = server.ask("POST", "/indexes/long/similar", {"id": "1", "k": 90})
    assert (answer.status, "Ask for fewer" in answer.body["fix"]) == (413, True)
    admin.remove("long", home)


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


SEARCH, DOCUMENTS = "/indexes/house/search", "/indexes/house/documents"
WRONG: list[tuple[str, str, object, str]] = [  # a request, and what its error says
    ("GET", f"{DOCUMENTS}?limitt=3", None, "query.limitt: there is no such parameter; this address takes limit, "),
    ("GET", f"{DOCUMENTS}?limit=3&limit=4", None, "query.limit: it is given more than once"),
    ("GET", f"{DOCUMENTS}/boiler?text=0", None, "query.text: there is no such parameter; this address takes none"),
    ("DELETE", f"{DOCUMENTS}/boiler?dry_run=1", None, "query.dry_run: "),
    ("POST", f"{DOCUMENTS}/delete", {}, "either ids or where"),
    ("POST", f"{DOCUMENTS}/delete", {"where": "year > :year"}, "the filter asks for :year"),
    ("POST", f"{DOCUMENTS}/delete", {"values": {"a": 1}, "ids": ["a"]}, "values are given without a filter"),
    ("POST", f"{DOCUMENTS}/delete", b'{"ids": ["a"], "ids": ["b"]}', "the key 'ids' more than once"),
    ("POST", DOCUMENTS, b'{"documents": [{"id": "a", "text": "b", "metadata": {"c": 1, "c": 2}}]}', "the key 'c'"),
    ("POST", DOCUMENTS, b'{"documents": [{"id": "a", "text": "b", "metadata": {"c": NaN}}]}', "no numbers in JSON"),
    ("POST", DOCUMENTS, {"documents": [{"id": "a\nb", "text": "c"}]}, r"a\x0ab: its id has the control character"),
    ("POST", DOCUMENTS, {"documents": []}, "documents: List should have at least 1 item, not 0"),
    ("POST", f"{DOCUMENTS}/upload", b'{"id": "a", "id": "b", "text": "c"}', "line 1: it has the key 'id'"),
    ("POST", SEARCH, {"text": "a", "k": 10**12}, "k: Input should be less than or equal to 1000"),
    ("POST", SEARCH, b'{"text": "a", "min_strength": NaN}', "min_strength: Input should be a finite number"),
    ("POST", SEARCH, b'{"text": "a", "more": [["b", 1e999]]}', "more.0.1: Input should be a finite number"),
    ("POST", SEARCH, {"text": "a", "more": [["b", 0]]}, "a weight from 0.001 to 1,000"),
    ("POST", SEARCH, {"text": "a", "where": {f"key{at}": 1 for at in range(60_000)}}, "100,000 is the most"),
    ("POST", SEARCH, {"text": "a", "batch_size": 0}, "batch_size: There is no such field"),
    ("POST", SEARCH, {"text": "a", "where": "a" * 100_001}, "where: String should have at most 100000 characters"),
    ("POST", SEARCH, {"text": '""'}, "the query is empty"),
    ("POST", SEARCH, b"[" * 100_000, "nested too deep"),
    ("POST", SEARCH, b'{"text": "\xff"}', "not UTF-8"),
    ("POST", SEARCH, b'{"k": 1' + b"0" * 5000 + b"}", "a number of 5,001 digits"),
    ("POST", SEARCH, b"{", "not JSON"),
    ("POST", SEARCH, b"[1]", "the body: Input should be a valid object"),
    ("POST", SEARCH, b"", "the body: "),
    ("POST", "/embed", {"texts": ["a"], "batch_size": 0}, "batch_size: There is no such field"),
    ("POST", "/v1/embeddings", {"model": "hashing", "input": [1]}, "input.0: "),
]


@pytest.mark.parametrize("method, path, body, said", WRONG, ids=[one[3] for one in WRONG])
def test_a_wrong_request_is_told_what_is_wrong_in_words_of_http(
    server: Serving, method: str, path: str, body: object, said: str
) -> None:
    answer = server.ask(method, path, body)
    assert answer.status in (400, 422) and answer.body["code"] == 2
    assert answer.body["fix"] or answer.status == 400
    assert len(answer.body.get("errors", [0])) == 1 or "where" not in said
    assert said in answer.body["detail"]
    assert not speaks_python(answer.body["detail"]) and not speaks_python(answer.body["fix"])
    assert server.ok("GET", f"{DOCUMENTS}/boiler")["text"]  # nothing was deleted


@pytest.mark.parametrize("path", [SEARCH, "/embed", DOCUMENTS])
def test_json_that_is_sent_as_a_form_is_told_the_type_that_it_needs(server: Serving, path: str) -> None:
    refused = server.ask("POST", path, {"text": "kettles"}, content_type="application/x-www-form-urlencoded")
    assert (refused.status, refused.body["detail"]) == (422, "the body: Its Content-Type has to be application/json.")


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


def test_a_body_in_another_charset_is_refused_and_checks_of_health_may_have_parameters(server: Serving) -> None:
    for charset, status in (("utf-16", 422), ('"UTF-8"', 200)):
        kind = f"application/json; charset={charset}"
        answer = server.ask("POST", SEARCH, b'{"text": "boiler"}', content_type=kind)
        assert (answer.status, status == 200 or "charset" in answer.body["detail"]) == (status, True)
    assert server.ask("GET", "/healthz?zz=1").status == 200


def test_a_warning_lists_a_few_of_the_words_that_no_passage_has(server: Serving) -> None:
    [warning, *_] = server.ok("POST", SEARCH, {"text": "boiler", "must": [f"zyx{n}" for n in range(90)]})["warnings"]
    assert '"zyx2" and 87 more' in warning and "zyx3" not in warning
