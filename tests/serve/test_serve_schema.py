"""schemathesis asks the server whatever its own OpenAPI allows, and much that it does not, and finds nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.serving import serving

from semsearch import Document, Index
from semsearch.serve.openapi import ERRORS

pytestmark = pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis")
HOW = Path(__file__).parent / "openapi_fuzzing"
SOME = ("--phases", "fuzzing", "--max-examples", "5")
ALL = ("--phases", "coverage,fuzzing,stateful", "--max-examples", "200", "--max-time", "3600")


@pytest.mark.parametrize("amount, cases", [(SOME, 50), pytest.param(ALL, 5000, marks=pytest.mark.long)])
def test_schemathesis_finds_nothing(amount: tuple[str, ...], cases: int, tmp_path: Path) -> None:
    with Index.create("house", encoder="hashing", home=tmp_path) as index:
        index.add([Document("boiler", "The boiler is under the stairs.", {"year": 2020}), Document("0", "Bread.")])
    with serving(tmp_path, "-m", "hashing", "--max-body", "1", "--max-batch", "20") as server:
        address = f"http://127.0.0.1:{server.port}/openapi.json"
        command = [sys.executable, "-m", "schemathesis.cli", "run", address, "--checks", "all", "--seed", "1", *amount]
        found = subprocess.run(command, cwd=HOW, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout
        assert int(re.findall(r"(\d+) generated", found.stdout)[-1]) >= cases
        assert "traceback" not in server.errors.read_text()
    with Index.open("house", home=tmp_path) as index:
        assert index.analysis.verify() == []


def test_every_error_is_described(tmp_path: Path) -> None:
    with serving(tmp_path, "-m", "hashing") as server:
        paths = server.ok("GET", "/openapi.json")["paths"]
        for path, methods in paths.items():
            for method, operation in methods.items():
                described = {int(status) for status in operation["responses"] if int(status) >= 400}
                assert described == set(ERRORS) or path in ("/healthz", "/readyz"), (method, path)
        answer = server.ask("PUT", "/indexes/a/documents/b")
        assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET, PATCH")
