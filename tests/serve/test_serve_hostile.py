"""No request keeps the others waiting, whatever its fields have: all threads of a server share one interpreter."""

from __future__ import annotations

import http.client
import json
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.serving import Serving, serving

from semsearch import Document, Index

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the time of a process from /proc")
WAITING = 0.2  # seconds of the server's processor for which another request waits at most
LETTERS = 200_000
ITEMS = 60_000
DOCUMENTS = "/indexes/house/documents"
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/indexes/{name}/search"): {"text": "boiler"},
    ("POST", "/indexes/{name}/similar"): {"id": "d1"},
    ("POST", "/indexes/{name}/documents"): {"documents": [{"id": "x", "text": "y"}]},
    ("POST", "/indexes/{name}/documents/upload"): {"id": "x", "text": "y"},
    ("PATCH", "/indexes/{name}/documents/{document}"): {"text": "Changed."},
    ("POST", "/indexes/{name}/documents/delete"): {"ids": ["nothing"]},
    ("POST", "/embed"): {"texts": ["boiler"]},
    ("POST", "/sts"): {"pairs": [["boiler", "oven"]]},
    ("POST", "/v1/embeddings"): {"model": "hashing", "input": "boiler"},
}


PIECES = (
    *"[](){}/:$^|*?'\"\\%.-=aé文💡 \n\0",
    *("**/", "a/", "[a]", "*a", "a and ", "not ", "(a = 1) or ", "path ~ 'b' and "),
)


def nested(depth: int, before: str, after: str) -> str:
    return before * depth + "1" + after * depth


TEXTS = {f"{piece!r} again and again": json.dumps((piece * LETTERS)[:LETTERS]) for piece in PIECES}
NESTED = {
    f"{depth} {name}": nested(depth, *both)
    for depth in (60, 150, 5_000)
    for name, both in {"lists": ("[", "]"), "mappings": ('{"a":', "}"), "filters": ('{"$and":[', "]}")}.items()
}
MANY = {
    f"many of {item[:9]}": f"[{','.join([item] * min(ITEMS, 3_000_000 // len(item)))}]"
    for item in ("1", "{}", "[]", '""', '"boiler"', '{"text":"a"}', '["a",1]', "1e999", r'"\ud800"', "9" * 4000)
}
MANY["many keys"] = json.dumps({f"key{at}": 1 for at in range(ITEMS)})
MANY["far too many"] = f"[{'{},' * 10 * ITEMS}1]"
VALUES = TEXTS | NESTED | MANY


def fields(schema: Any, schemas: Any) -> Iterator[str]:
    """Names of the fields of a body, also of those in its lists."""
    if "$ref" in schema:
        yield from fields(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    own = schema.get("properties", {})
    yield from own
    items = [schema["items"]] if "items" in schema else []
    for part in (*own.values(), *schema.get("anyOf", ()), *schema.get("oneOf", ()), *items):
        yield from fields(part, schemas)


def placed(body: Any, field: str, value: str) -> bytes:
    """A body with JSON at a field: its own, or that of the objects in its lists."""
    mark = "@value@"
    if "documents" in body and field != "documents":
        body = {"documents": [{**body["documents"][0], field: mark}]}
    else:
        body = {**body, field: mark}
    return json.dumps(body).replace(f'"{mark}"', value).encode("utf-8", "surrogatepass")


class Watch(threading.Thread):
    """Asks whether the server is alive, all the time. `longest`: what its process worked during one such request."""

    def __init__(self, server: Serving) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.ended = threading.Event()
        self._port = server.port
        self._times = Path("/proc", str(next(line["pid"] for line in server.logged() if "pid" in line)), "stat")

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=300)
        while not self.ended.wait(0.005):
            before = self._worked()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            self.longest = max(self.longest, self._worked() - before)
        connection.close()

    def _worked(self) -> float:
        ticks = self._times.read_text().rpartition(")")[2].split()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Watch]]:
    home = tmp_path_factory.mktemp("watched")
    with Index.create("house", encoder="hashing", home=home) as index:
        index.add([Document(f"d{at}", f"Boiler {at} is under the stairs. " * 5, {"year": at}) for at in range(200)])
    with serving(home, "-m", "hashing", "--timeout", "600") as server:  # a busy machine is no failure
        watch = Watch(server)
        watch.start()
        yield server, watch
        watch.ended.set()
        watch.join()


def operations(server: Serving) -> Iterator[tuple[str, str, str]]:
    """Every field of every body that the server describes."""
    described = server.ok("GET", "/openapi.json")
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                (content,) = operation["requestBody"]["content"].values()
                names = set(fields(content["schema"], described["components"]["schemas"])) or {"id", "text", "metadata"}
                yield from ((method.upper(), path, name) for name in sorted(names))


@pytest.mark.parametrize("number", [3, pytest.param(len(VALUES), marks=pytest.mark.long)])
def test_no_value_of_any_field_keeps_another_request_waiting(watched: tuple[Serving, Watch], number: int) -> None:
    server, watch = watched
    chosen = random.Random(number)
    tried = 0
    for method, path, field in operations(server):
        address = path.replace("{name}", "house").replace("{document}", "d0")
        for value in chosen.sample(sorted(VALUES), number):
            watch.longest = 0.0
            answer = server.ask(method, address, placed(BODIES[method, path], field, VALUES[value]))
            tried += 1
            assert answer.status < 500, (path, field, value, answer)
            assert watch.longest <= WAITING, (path, field, value, watch.longest)
    assert tried >= 40 * number
    assert watch.is_alive()


def test_the_work_of_a_request_is_bounded_as_a_whole(server: Serving) -> None:
    search = "/indexes/house/search"
    queries = [{"text": f"boiler {at}", "k": 1000} for at in range(21)]
    answer = server.ask("POST", search, {"queries": queries})
    assert (answer.status, "20,000" in answer.body["detail"]) == (413, True)
    assert len(server.ok("POST", search, {"queries": queries[:20]})["queries"]) == 20
    answer = server.ask("POST", search, {"queries": [{"text": "boiler", "grep": f"b{at}"} for at in range(21)]})
    assert (answer.status, "20,000" in answer.body["detail"]) == (413, True)
    answer = server.ask("POST", search, {"text": "boiler", "must": [f"w{at}" for at in range(101)]})
    assert (answer.status, "must has 101 words" in answer.body["detail"]) == (400, True)
    answer = server.ask("POST", search, {"text": "boiler", "more": [["a", 1e308], ["b", 1e308]]})
    assert (answer.status, "weight" in answer.body["detail"]) == (400, True)
