"""What one interface stores, every interface gives back as it was; what one refuses, every one refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from helpers.commandline import CommandLine
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp")
pytest.importorskip("langchain_core")
from helpers.assistants import Assistant, over_stdio
from helpers.serving import Serving, serving
from langchain_core.documents import Document as ChainDocument

from semsearch import Document, Index, NotFound, SemsearchError, Unreadable
from semsearch.integrations.langchain import SemsearchVectorStore

CONTROL = [chr(code) for code in (*range(32), *range(127, 160))]
NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=30)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | TEXTS, lambda part: st.lists(part, max_size=4) | st.dictionaries(TEXTS, part, max_size=4)
)
METADATA = st.dictionaries(TEXTS, VALUES, max_size=4)
SOUND = st.builds(Document, NAMES, TEXTS.map("word ".__add__), METADATA, st.none() | NAMES)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def spoiled(document: Document, what: str, at: str) -> Document:
    wrong = {
        "id": {"id": f"{document.id}{at}"},
        "long id": {"id": document.id + "x" * 4096},
        "number": {"metadata": {"n": float("nan") if at < "\x10" else float("-inf")}},
        "deep": {"metadata": nested(101)},
        "many": {"metadata": {"n": [1] * 100_001}},
        "large": {"metadata": {"n": "x" * 2**20}},
        "half": {"text": f"{document.text} \ud800"},
        "half key": {"metadata": {"\udfff": 1}},
        "half title": {"title": "\udc00"},
    }
    fields = {name: getattr(document, name) for name in ("id", "text", "metadata", "title")}
    return Document(**fields | wrong[what])


REASONS = ("id", "long id", "number", "deep", "many", "large", "half", "half key", "half title")


class Interface(NamedTuple):
    """How to store a document, and whether it was; how to read text and metadata of one, None for no such document."""

    stores: Callable[[Document], bool] | None
    read: Callable[[str], tuple[str, Any] | None]


@pytest.fixture(scope="module")
def interfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Interface]]:
    home = tmp_path_factory.mktemp("trips")
    Index.create("trips", encoder="hashing", home=home).close()
    with (
        serving(home, "-m", "hashing") as server,
        over_stdio(home, "--allow-write", "--max-tokens", "50000") as assistant,
    ):
        yield {
            "Python": python(home),
            "HTTP": http(server),
            "an upload": Interface(lambda document: uploaded(server, document), http(server).read),
            "MCP": mcp(assistant),
            "the command line": command_line(home),
            "LangChain": langchain(home),
        }


def python(home: Path) -> Interface:
    def stores(document: Document) -> bool:
        with Index.open("trips", home=home) as index:
            try:
                index.add([document])
            except Unreadable:
                return False
            return True

    def read(name: str) -> tuple[str, Any] | None:
        with Index.open("trips", home=home) as index:
            try:
                stored = index.get(name)
            except NotFound:
                return None
            return stored["text"], stored["metadata"]

    return Interface(stores, read)


def fields(document: Document) -> Any:
    return {name: getattr(document, name) for name in ("id", "text", "metadata", "title")}


def http(server: Serving) -> Interface:
    def stores(document: Document) -> bool:
        answer = server.ask("POST", "/indexes/trips/documents", {"documents": [fields(document)]})
        assert answer.status in (200, 413, 422), answer  # 413: the body has too many values
        return answer.status == 200

    def read(name: str) -> tuple[str, Any] | None:
        answer = server.ask("GET", f"/indexes/trips/documents/{quote(name, safe='', errors='surrogatepass')}")
        assert answer.status in (200, 404), answer
        return (answer.body["text"], answer.body["metadata"]) if answer.status == 200 else None

    return Interface(stores, read)


def uploaded(server: Serving, document: Document) -> bool:
    line = json.dumps(fields(document)).encode()
    answer = server.ask("POST", "/indexes/trips/documents/upload", line)
    assert answer.status in (200, 422), answer
    return answer.status == 200


def mcp(assistant: Assistant) -> Interface:
    def stores(document: Document) -> bool:
        try:
            report = assistant.ask("add_documents", index="trips", documents=[fields(document)])
        except AssertionError:  # refused as an argument
            return False
        return not report["skipped_documents"]

    def read(name: str) -> tuple[str, Any] | None:
        try:
            stored = assistant.ask("get", index="trips", id=name)
        except AssertionError:
            return None
        return stored["text"], stored.get("metadata", {})

    return Interface(stores, read)


def command_line(home: Path) -> Interface:
    """A reader: records of the command line come from files, whose loaders mend what cannot be stored."""
    run = CommandLine()

    def read(name: str) -> tuple[str, Any] | None:
        ran = run("--home", home, "get", "-n", "trips", "--json", "--", name)
        return (ran.json["text"], ran.json["metadata"]) if ran.code == 0 else None

    return Interface(None, read)


def langchain(home: Path) -> Interface:
    def stores(document: Document) -> bool:
        with Index.open("trips", home=home) as index:
            try:
                made = ChainDocument(page_content=document.text, metadata=dict(document.metadata), id=document.id)
                SemsearchVectorStore(index).add_documents([made], ids=[document.id])
            except (SemsearchError, ValueError):
                return False
            return True

    def read(name: str) -> tuple[str, Any] | None:
        with Index.open("trips", home=home) as index:
            found = SemsearchVectorStore(index).get_by_ids([name])
            return (found[0].page_content, found[0].metadata) if found else None

    return Interface(stores, read)


CANNOT_SAY = {  # its documents have no title; a client of MCP sends neither what is no character nor what is no number
    "LangChain": ("half title",),
    "MCP": ("number", "half", "half key", "half title"),
}
FEW = settings(
    max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)


@FEW
@given(SOUND)
def test_what_one_interface_stores_every_one_gives_back(interfaces: dict[str, Interface], document: Document) -> None:
    for name, (stores, _) in interfaces.items():
        if stores is not None:
            assert stores(Document(document.id, "Another text.")) and stores(document), name
            for reader, (_, read) in interfaces.items():
                assert read(document.id) == (document.text, document.metadata), (name, reader)


@pytest.mark.parametrize("what", REASONS)
@settings(FEW, max_examples=3)
@given(data=st.data())
def test_what_one_interface_refuses_every_one_refuses(
    interfaces: dict[str, Interface], data: st.DataObject, what: str
) -> None:
    document = spoiled(data.draw(SOUND), what, data.draw(st.sampled_from(CONTROL)))
    for name, (stores, _) in interfaces.items():
        if stores is not None and what not in CANNOT_SAY.get(name, ()):
            assert not stores(document), name
