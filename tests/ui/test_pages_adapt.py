"""Adapting the encoder of an index, from the page Models: what the command did is told in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import again, click, ended, opened, said

from semsearch import Document, admin

commands = pytest.importorskip("semsearch_ui.models.commands")
DOCUMENTS = [Document("a.txt", "A diesel engine ignites fuel by compression.")]
LOOK = {"look": {"pairs": {"title": 7}, "hours": 2.25, "enough": False, "reasons": ["there are few passages"]}}
DONE = {"adapt": {"switched": True, "objections": [], "measured": {"hybrid": {"before": 41.04, "after": 45.5}}}}


def answered(answer: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run, each of which gives this answer."""
    asked: list[list[str]] = []
    written = json.dumps(answer).encode() if answer else b""
    monkeypatch.setattr(commands, "run", lambda arguments, _: asked.append(arguments) or (written, ["it broke"]))
    return asked


@pytest.mark.parametrize(
    ("button", "answer", "arguments", "says"),
    [
        (
            "Look first",
            LOOK,
            ["--hours=8", "--json", "--dry-run"],
            "too little to learn from: 7 pairs, about 2.2 hours",
        ),
        ("Adapt it", DONE, ["--hours=8", "--json"], "hybrid 41.0 → 45.5."),
        ("Undo", {"index": "notes", "encoder": "hashing"}, ["--undo", "--json"], "the encoder from before again"),
        ("Undo", {"error": {"message": "It is not adapted.", "fix": ""}}, ["--undo", "--json"], "It is not adapted."),
        ("Adapt it", None, ["--hours=8", "--json"], "ended without a result. it broke"),
    ],
)
def test_what_an_adaptation_comes_to_is_told(
    button: str, answer: Any, arguments: list[str], says: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answered(answer, monkeypatch)
    monkeypatch.setattr(admin, "adapted_from", lambda index: "default")
    page = click(opened("models", part="Adapt"), button)
    assert ended("notes") == ("done" if answer and "error" not in answer else "failed")
    assert says in said(again(page)) and any(says in each.value.replace("\\", "") for each in [*page.info, *page.error])
    assert asked == [["adapt", "notes", *arguments]]


def test_what_the_page_does_is_what_the_command_is_told(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(DONE, monkeypatch)
    page = opened("models", part="Adapt")
    assert page.button(key="adapt.undo").disabled  # nothing was adapted
    page.checkbox(key="adapt.force").set_value(True)
    base = page.selectbox(key="adapt.base").select_index(0).options[0].partition(" ")[0]
    click(again(page), "Adapt it")
    assert ended("notes") == "done"
    assert asked == [["adapt", "notes", "--hours=8", f"--base={base}", "--force", "--json"]]


def test_what_is_refused_names_what_the_page_has(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fix = "change it first: semsearch reembed notes -m multilingual"
    answered({"look": {"pairs": {}, "hours": None, "enough": False, "reasons": [fix]}}, monkeypatch)
    page = click(opened("models", part="Adapt"), "Look first")
    ended("notes")
    text = said(again(page))
    assert "0 pairs." in text and "hours on" not in text and "encode it again with multilingual" in text
