"""What is loaded when: help and completion answer at once, and the default path never loads torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

HEAVY = ["numpy", "faiss", "torch", "onnxruntime", "sqlite_utils", "pandas", "transformers", "rich", "tokenizers",
         "pydantic"]  # fmt: skip
EXPLAINED = ("", "index", "query", "models", "train", "eval", "eval transfer", "eval grid", "eval geometry")
LIGHT_COMMANDS = [line.split() for line in ("--version", "config", "templates list", "templates lint promptbert")]
LIGHT_COMMANDS += [[*words.split(), "--help"] for words in EXPLAINED]
REPORT = """
import json, os, sys
from semsearch.cli.main import main
report = {}
for line in json.loads(sys.argv[1]):
    if isinstance(line, str):  # what is to be completed
        os.environ |= {"_SEMSEARCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "3"}
    try:
        code = main([] if isinstance(line, str) else line)
    except SystemExit as ended:  # of a completion
        code = ended.code
    loaded = [name for name in HEAVY if name in sys.modules]
    report[line if isinstance(line, str) else " ".join(line)] = [f"failed with {code}"] if code else loaded
sys.stdout.flush()
print(json.dumps(report), file=sys.stderr)
"""


def environment(tmp_path: Path) -> dict[str, str]:
    places = {"SEMSEARCH_HOME": str(tmp_path / "home"), "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    checkout = str(Path(__file__).resolve().parents[2])
    return {**os.environ, **places, "OMP_NUM_THREADS": "1", "PYTHONPATH": checkout}


def loaded_by(*lines: list[str] | str, tmp_path: Path, heavy: Sequence[str] = HEAVY) -> dict[str, list[str]]:
    """The heavy modules in memory after each of some commands, one after the other in one process.

    A text is completed as a shell would ask for it.
    """
    command = [sys.executable, "-c", REPORT.replace("HEAVY", repr(heavy)), json.dumps(lines)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path))
    return json.loads(ran.stderr.splitlines()[-1])


def test_help_and_config_load_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_by(*LIGHT_COMMANDS, tmp_path=tmp_path) == {" ".join(each): [] for each in LIGHT_COMMANDS}


def test_a_completion_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "home" / "notes").mkdir(parents=True)
    (tmp_path / "home" / "notes" / "store.db").touch()
    asked = [f"semsearch {words}" for words in ("query -n ", "query -n n", "index -m d", "index --template c")]
    loaded = loaded_by(*asked, tmp_path=tmp_path, heavy=[*HEAVY, "lark", "sqlite3"])
    assert loaded == {each: [] for each in asked}


def test_a_search_by_words_loads_nothing_heavy(tmp_path: Path) -> None:
    note = tmp_path / "kettle.md"
    note.write_text("Vinegar removes the scale from a kettle.\n", encoding="utf-8")
    loaded_by(["index", str(note), "-n", "notes", "-m", "hashing"], tmp_path=tmp_path)
    asked = [
        ["query", words, "--mode", "keyword", "--format", form, "--fail-empty"]
        for words in ("scale of a kettle", "vinegarr")  # as they stand there, and corrected
        for form in ("table", "json", "jsonl", "paths")
    ]
    assert loaded_by(*asked, tmp_path=tmp_path) == {" ".join(each): [] for each in asked}


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = f"import semsearch, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_report_would_notice_a_heavy_import(tmp_path: Path) -> None:
    """The other tests of this file can fail: a command that needs numpy is seen to load it."""
    (loaded,) = loaded_by(["embed", "a", "-m", "hashing"], tmp_path=tmp_path).values()
    assert "numpy" in loaded


@pytest.mark.slow
def test_default_index_and_query_never_load_torch(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "kettle.md").write_text("Vinegar removes the scale from a kettle.\n", encoding="utf-8")
    (by_index,) = loaded_by(["index", str(notes)], tmp_path=tmp_path).values()
    assert not {"torch", "transformers", "sqlite_utils", "pandas"} & set(by_index)
    (by_query,) = loaded_by(["query", "limescale"], tmp_path=tmp_path).values()
    assert not {"torch", "transformers", "sqlite_utils"} & set(by_query)
    assert "onnxruntime" in by_query  # the default encoder did run


def test_help_loads_few_modules(tmp_path: Path) -> None:
    """What --help takes is what it imports: 162 modules of all kinds, Python's own among them, are 0.1 s."""
    script = (
        "import sys; from semsearch.cli.main import main; main(['--help']); print(len(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(tmp_path))
    assert int(ran.stderr) < 175
