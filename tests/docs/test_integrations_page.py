"""The examples of docs/integrations.md run, each with the library that it is for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
LIBRARIES = {
    "LangChain": "langchain_core",
    "sentence-transformers": "sentence_transformers",
    "MTEB": "mteb",
    "LlamaIndex": "llama_index.core",
    "Haystack": "haystack",
}


@pytest.mark.parametrize("section", LIBRARIES)
def test_the_examples_run(section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(LIBRARIES[section])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path / "home"))
    code = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    for each in code:
        exec(each, names)  # noqa: S102  (our own page)


def test_every_module_has_a_section() -> None:
    folder = Path(__file__).resolve().parents[2] / "semsearch" / "integrations"
    modules = {file.stem for file in folder.glob("[!_]*.py")}
    assert modules and {name for name in modules if f"semsearch.integrations.{name}" not in PAGE} == set()
    assert set(LIBRARIES) <= set(SECTIONS)
