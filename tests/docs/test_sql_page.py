"""docs/sql.md: its statements are answered, its tables name what there is, and Datasette shows the views."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from helpers.commandline import CommandLine
from helpers.served import PATIENCE, free_port

from semsearch import Document, Index
from semsearch.stores.local.database.schema import VIEWS
from semsearch.stores.local.queries.search_table import COLUMNS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
DOCUMENTS = [
    Document("boiler", "The boiler is under the stairs.", {"year": 2021}, "Heating"),
    Document("bread", "Bread needs salt, flour and water.", {"year": 2023, "tags": ["food"]}),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with Index.create("notes", encoder="hashing", home=folder) as index:
        index.add(DOCUMENTS)
    return folder


def test_every_statement_of_the_page_is_answered(cli: CommandLine, home: Path) -> None:
    commands = re.findall(r'^\$ semsearch sql notes "(.*)"( --csv)?$', PAGE, flags=re.MULTILINE)
    assert len(commands) == 6
    answers = [cli.ok("--home", home, "sql", "notes", statement, *more.split()) for statement, more in commands]
    assert [json.loads(line)["document"] for line in answers[0].lines] == ["boiler", "bread"]
    assert json.loads(answers[1].lines[0])["document"] == "boiler"
    assert all(len(answer.lines) >= 1 for answer in answers)
    assert answers[-1].out == "key,documents\ntags,1\nyear,2\n"
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    with Index.open("notes", home=home) as index:
        names: dict[str, object] = {"index": index}
        exec(example, names)  # noqa: S102  (of this repository)
        assert len(names["rows"]) == 2  # type: ignore[arg-type]
        for view in VIEWS:
            (row,) = re.findall(rf"^\| `{view}` \|.*$", PAGE, flags=re.MULTILINE)
            shown = index.sql(f"SELECT * FROM {view} LIMIT 0").columns
            assert [name for name in shown if name not in ("year", "tags") and f"`{name}`" not in row] == []
    (row,) = re.findall(r"^\| `FROM semsearch_search.*$", PAGE, flags=re.MULTILINE)
    assert [name for name in COLUMNS if f"`{name}`" not in row] == []


def test_each_format_has_the_same_rows(cli: CommandLine, home: Path) -> None:
    statement = "SELECT document, '=1+1' AS odd, NULL AS gone, x'00ff' AS bytes, 1e999 AS much FROM documents_view"
    found = cli.ok("--home", home, "sql", statement, "--json").json
    assert (found["schema"], found["index"]) == (1, "notes")
    assert found["columns"] == ["document", "odd", "gone", "bytes", "much"]
    first = {"document": "boiler", "odd": "=1+1", "gone": None, "bytes": "AP8=", "much": "inf"}
    assert found["rows"][0] == first
    assert json.loads(cli.ok("--home", home, "sql", "-n", "notes", statement).lines[0]) == first
    csv = cli.ok("--home", home, "sql", "-", "--csv", stdin=statement).lines
    assert csv[1] == "boiler,'=1+1,,<2 bytes>,inf"
    assert cli.ok("--home", home, "sql", statement, "--csv", "--raw").lines[1] == "boiler,=1+1,,<2 bytes>,inf"
    table = cli.ok("--home", home, "sql", statement, terminal=True)
    assert table.lines[1].split() == ["boiler", "=1+1", "<2", "bytes>", "inf"]
    assert table.err == "2 rows\n"


def test_what_sqlite_refuses_is_one_error(cli: CommandLine, home: Path) -> None:
    for statement in ("SELECT nothing", "DELETE FROM documents", "", "SELECT * FROM semsearch_search('', 3)"):
        ran = cli("--home", home, "sql", "notes", statement, "--json")
        assert ran.code == 2
        assert ran.json["error"]["code"] == 2
        assert ran.err.startswith("error: ") and ran.err.count("\n") == 1
    assert cli("--home", home, "sql", "none", "SELECT 1").code == 3
    assert cli("--home", home, "sql").code == 2
    assert cli("--home", home, "sql", "SELECT 1", "--json", "--csv").code == 2


def test_datasette_and_sqlite_utils_show_the_views(home: Path) -> None:
    pytest.importorskip("datasette")
    port = free_port()
    file = home / "notes" / "store.db"
    command = [sys.executable, "-m", "datasette", str(file), "--port", str(port), "--setting", "num_sql_threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert {view["name"] for view in _answer(process, port, "store.json")["views"]} >= set(VIEWS)
            rows = _answer(process, port, "store/documents_view.json?_shape=array")
            assert [(row["document"], json.loads(row["metadata"])["year"]) for row in rows] == [
                ("boiler", 2021),
                ("bread", 2023),
            ]
            rows = _answer(process, port, "store/passages_view.json?_shape=array&document=boiler")
            assert [row["text"] for row in rows] == [DOCUMENTS[0].text]
            rows = _answer(process, port, "store/metadata_view.json?_shape=array&key=tags")
            assert [row["value"] for row in rows] == ['["food"]']
        finally:
            process.terminate()
    line = [sys.executable, "-m", "sqlite_utils", "rows", str(file), "passages_view", "-c", "document"]
    ran = subprocess.run(line, capture_output=True, check=True)
    assert [row["document"] for row in json.loads(ran.stdout)] == ["boiler", "bread"]
    with Index.open("notes", home=home) as index:
        assert index.analysis.verify() == []


def _answer(process: subprocess.Popen[bytes], port: int, path: str) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=PATIENCE) as answer:
                return json.loads(answer.read())
        except ConnectionError:
            pass
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionError):
                raise
        time.sleep(0.05)
    raise AssertionError("datasette does not answer")
