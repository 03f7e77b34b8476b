"""`semsearch mcp` with the client of the package mcp, over both transports and both generations of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")
from helpers.assistants import Assistant, answering, over_http, over_stdio
from helpers.serving import speaks_python
from mcp.shared.exceptions import MCPError

from semsearch import Document, Index

READING = ["search", "get", "similar", "list_indexes", "index_status"]
WRITING = ["add_documents", "update_document", "delete_documents"]
KINDS = [
    "stdio",
    "http of 2025",  # the generation of the protocol with sessions
    pytest.param("stdio of 2025", marks=pytest.mark.long),
    pytest.param("http", marks=pytest.mark.long),
]
STORY = " ".join(f"Sentence number {number} is about boilers." for number in range(2000))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    files = tmp_path_factory.mktemp("files")
    text = f"# Engines\n\n{STORY[:4000]}.\n\n## Diesel\n\nDiesel engines ignite by compression.\n"
    (files / "engines.md").write_text(text)
    with Index.create("house", encoder="hashing", home=folder) as index:
        index.sync(files)
        documents = [
            Document(f"note {number}", f"Note {number} is about tea.", {"number": number}) for number in range(30)
        ]
        index.add([Document("story", STORY, {"year": 2020}, "A story"), *documents])
    Index.create("empty", encoder="hashing", home=folder).close()
    return folder


@pytest.fixture(scope="module", params=KINDS)
def assistant(request: pytest.FixtureRequest, house: Path) -> Iterator[Assistant]:
    mode = "legacy" if "2025" in request.param else "auto"
    if request.param.startswith("stdio"):
        with over_stdio(house, mode=mode) as connected:
            yield connected
    else:
        server = request.getfixturevalue("listening")
        with over_http(server, mode=mode) as connected:
            yield connected


@pytest.fixture(scope="module")
def listening(house: Path) -> Iterator[object]:
    with answering(house) as server:
        yield server


def test_the_tools_only_read_and_say_what_they_take(assistant: Assistant) -> None:
    tools = assistant.tools()
    assert list(tools) == READING
    for tool in tools.values():
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert len(tool.description) > 60
        properties = tool.input_schema["properties"].values()
        assert all("description" in each for each in properties), tool.name


def test_a_hit_names_its_source(assistant: Assistant) -> None:
    found = assistant.ask("search", index="house", query="how do diesel engines ignite", limit=2)
    first = found["hits"][0]
    assert (first["line"], first["heading"]) == (5, "Diesel")
    assert first["citation"] == "engines.md:5 (Diesel)"
    assert "ignite by compression" in first["text"]
    assert found["next_offset"] == 2


def test_a_last_page_that_is_full_has_no_next_one(assistant: Assistant) -> None:
    search = {"index": "house", "query": "a note about tea", "where": "number >= 0", "mode": "keyword"}
    assert len(assistant.ask("search", **search, limit=30)["hits"]) == 30
    assert "next_offset" not in assistant.ask("search", **search, limit=30)
    assert assistant.ask("search", **search, limit=10, offset=10)["next_offset"] == 20
    assert "next_offset" not in assistant.ask("search", **search, limit=10, offset=20)


def test_pages_of_a_search_follow_each_other(assistant: Assistant) -> None:
    search = {"index": "house", "query": "a note about tea", "where": "number >= 0", "mode": "keyword"}
    whole = [hit["document"] for hit in assistant.ask("search", **search, limit=30)["hits"]]
    seen, offset = [], 0
    while offset is not None:
        page = assistant.ask("search", **search, limit=7, offset=offset)
        seen += [hit["document"] for hit in page["hits"]]
        offset = page.get("next_offset")
    assert seen == whole
    assert len(set(seen)) == 30


def test_a_long_document_is_read_part_by_part(assistant: Assistant) -> None:
    parts, start = [], 0
    while start is not None:
        part = assistant.ask("get", index="house", id="story", start=start)
        assert part["text"].rstrip().endswith(".")
        parts.append(part["text"])
        start = part.get("next_start")
    assert len(parts) > 2
    assert "".join(parts) == STORY


def test_a_passage_is_read_by_the_number_of_its_hit(assistant: Assistant) -> None:
    (hit,) = assistant.ask("search", index="house", query="diesel engines", limit=1)["hits"]
    passage = assistant.ask("get", index="house", id=hit["id"])
    assert (passage["text"], passage["citation"]) == (hit["text"], hit["citation"])
    similar = assistant.ask("similar", index="house", id=hit["id"], limit=3)["hits"]
    assert len(similar) == 3
    assert "engines.md" not in {each["document"] for each in similar}


def test_indexes_are_listed_and_described(assistant: Assistant) -> None:
    listed = assistant.ask("list_indexes")["indexes"]
    assert [(one["index"], one["documents"]) for one in listed] == [("empty", 0), ("house", 32)]
    assert assistant.ask("list_indexes", limit=1)["next_offset"] == 1
    described = assistant.ask("index_status", index="house")
    assert described["documents"] == 32
    assert {"field": "number", "kind": "number", "documents": 30, "from": 0, "to": 29} in described["fields"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"index": "house"}, "query: "),
        ("search", {"index": "house", "query": ""}, "query: "),
        ("search", {"index": "house", "query": "  "}, "query is empty"),
        ("search", {"index": "house", "query": 7}, "query: "),
        ("search", {"index": "house", "query": "tea", "limit": 10**30}, "limit: "),
        ("search", {"index": "house", "query": "tea", "limit": -1}, "limit: "),
        ("search", {"index": "house", "query": "tea", "limit": "ten"}, "limit: "),
        ("search", {"index": "house", "query": "tea", "limit": True}, "limit: "),
        ("search", {"index": "house", "query": "tea", "offset": 10**9}, "offset: "),
        ("search", {"index": "house", "query": "tea", "mode": "magic"}, "mode: "),
        ("search", {"index": "house", "query": "tea", "where": "number >"}, "number >"),
        ("search", {"index": "house", "query": "tea", "where": "'; drop table documents"}, "filter"),
        ("search", {"index": "house", "query": "tea", "where": {"number": {"$where": 1}}}, "$where"),
        ("search", {"index": "house", "query": "tea", "where": ["number"]}, "where"),
        ("search", {"index": "house", "query": "tea", "color": "red"}, "color: "),
        ("search", {"index": "house", "query": "t" * 10_001}, "query: "),
        ("search", {"index": "house", "query": "tea", "path": "[" * 60_000}, "path: "),
        ("search", {"index": "house", "query": "tea", "where": "(" * 200_000}, "where"),
        ("search", {"index": "house", "query": "tea", "must": ["a"] * 10_000}, "must: "),
        ("search", {"index": "[" * 60_000, "query": "tea"}, "index: "),
        ("similar", {"index": "house", "id": "story", "path": "[" * 60_000}, "path: "),
        ("search", {"index": "../house", "query": "tea"}, "no index is called"),
        ("search", {"index": "/etc", "query": "tea"}, "no index is called"),
        ("search", {"index": "hause", "query": "tea"}, "Did you mean 'house'"),
        ("search", {"index": "house\x00", "query": "tea"}, "no index is called"),
        ("search", {"query": "tea"}, "empty, house"),
        ("get", {"index": "house", "id": "../../etc/passwd"}, "no passage or document"),
        ("get", {"index": "house", "id": 10**40}, "no passage or document"),
        ("get", {"index": "house", "id": None}, "id"),
        ("get", {"index": "house", "id": "story", "start": -1}, "start: "),
        ("get", {"index": "house", "id": "story", "start": 10**30}, "start: the text ends at"),
        ("get", {"index": "house", "id": "story", "start": float("nan")}, "start: "),
        ("search", {"index": "house", "query": "tea", "batch_size": 0}, "batch_size: There is no such field"),
        ("search", {"index": "house", "query": "tea", "where": "number > :n"}, ":n"),
        ("similar", {"index": "house", "id": "/etc/passwd"}, "/etc/passwd"),
        ("similar", {"index": "house", "id": -5}, "-5"),
        ("similar", {"index": "house", "id": 10**40}, "0000"),
        ("list_indexes", {"limit": 0}, "limit: "),
    ],
)
def test_a_wrong_argument_is_an_error_that_says_what_is_wrong(
    assistant: Assistant, tool: str, arguments: dict[str, object], said: str
) -> None:
    problem = assistant.refused(tool, **arguments)
    assert problem.startswith("error: ")
    assert said in problem
    assert "Traceback" not in problem and "unexpected" not in problem and "pydantic" not in problem
    assert len(problem) < 2100 and not speaks_python(problem)


@pytest.mark.parametrize("text", ["\x00\x01\x7f", "‮evil", "𝔘𝔫𝔦", "%00..%2f", "\x1b[31m", "a" * 10_000, "日本語" * 500])
def test_odd_texts_are_searched_for_like_others(assistant: Assistant, text: str) -> None:
    assert "hits" in assistant.ask("search", index="house", query=text)
    assert assistant.ask("search", index="empty", query=text)["hits"] == []


def test_a_tool_that_is_not_there_is_refused_by_the_protocol(assistant: Assistant) -> None:
    for name in ("rm", "add_documents", "../search", ""):
        with pytest.raises(MCPError, match="there is no tool"):
            assistant.ask(name)


def test_an_index_that_another_process_changes_is_seen_at_once(assistant: Assistant, house: Path) -> None:
    with Index.open("empty", home=house) as index:
        index.add([Document("new", "Penguins live in the south.")])
    assert assistant.ask("search", index="empty", query="penguins")["hits"][0]["document"] == "new"
    with Index.open("empty", home=house) as index:
        index.delete(["new"])
    assert assistant.ask("search", index="empty", query="penguins")["hits"] == []
