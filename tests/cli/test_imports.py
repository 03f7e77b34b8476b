"""What is loaded when: help and completion answer at once, and the default path never loads torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "faiss", "torch", "onnxruntime", "sqlite_utils", "transformers", "rich", "tokenizers", "pydantic")
LIGHT_COMMANDS = (["--help"], ["--version"], ["index", "--help"], ["query", "--help"], ["models", "--help"], ["config"],
                  ["train", "--help"], ["templates", "list"], ["templates", "lint", "promptbert"])  # fmt: skip
REPORT = """
import json, sys
from semsearch.cli.main import main
try:
    code = main(sys.argv[1:])
finally:
    sys.stdout.flush()
    print(json.dumps([name for name in {heavy} if name in sys.modules]), file=sys.stderr)
"""


def environment(tmp_path: Path) -> dict[str, str]:
    places = {"SEMSEARCH_HOME": str(tmp_path / "home"), "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    checkout = str(Path(__file__).resolve().parents[2])
    return {**os.environ, **places, "OMP_NUM_THREADS": "1", "PYTHONPATH": checkout}


def loaded_by(arguments: list[str], tmp_path: Path, **variables: str) -> list[str]:
    """The heavy modules that are in memory after a command."""
    script = REPORT.format(heavy=repr(HEAVY))
    command = [sys.executable, "-c", script, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env={**environment(tmp_path), **variables})
    return json.loads(ran.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", LIGHT_COMMANDS, ids=" ".join)
def test_help_and_config_load_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    assert loaded_by(arguments, tmp_path) == []


def test_completing_the_name_of_an_index_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "home" / "notes").mkdir(parents=True)
    (tmp_path / "home" / "notes" / "store.db").touch()
    asked = {"_SEMSEARCH_COMPLETE": "complete_bash", "COMP_WORDS": "semsearch query -n ", "COMP_CWORD": "3"}
    assert loaded_by([], tmp_path, **asked) == []


def test_a_search_by_words_loads_nothing_heavy(tmp_path: Path) -> None:
    note = tmp_path / "kettle.md"
    note.write_text("Vinegar removes the scale from a kettle.\n", encoding="utf-8")
    loaded_by(["index", str(note), "-n", "notes", "-m", "hashing"], tmp_path)
    for words in ("scale of a kettle", "vinegarr"):  # as they stand there, and corrected
        for form in ("table", "json", "jsonl", "paths"):
            asked = ["query", words, "--mode", "keyword", "--format", form, "--fail-empty"]
            assert loaded_by(asked, tmp_path) == [], form


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = f"import semsearch, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_report_would_notice_a_heavy_import(tmp_path: Path) -> None:
    """The other tests of this file can fail: a command that needs numpy is seen to load it."""
    assert "numpy" in loaded_by(["embed", "a", "-m", "hashing"], tmp_path)


@pytest.mark.slow
def test_default_index_and_query_never_load_torch(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "kettle.md").write_text("Vinegar removes the scale from a kettle.\n", encoding="utf-8")
    assert not {"torch", "transformers"} & set(loaded_by(["index", str(notes)], tmp_path))
    by_query = set(loaded_by(["query", "limescale"], tmp_path))
    assert not {"torch", "transformers", "sqlite_utils"} & by_query
    assert "onnxruntime" in by_query  # the default encoder did run


def test_help_loads_few_modules(tmp_path: Path) -> None:
    """What --help takes is what it imports: 162 modules of all kinds, Python's own among them, are 0.1 s."""
    script = (
        "import sys; from semsearch.cli.main import main; main(['--help']); print(len(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path))
    assert int(ran.stderr) < 175
