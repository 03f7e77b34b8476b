"""docs/tutorial.md: every command and every piece of Python runs, in order, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from semsearch.cli.main import main

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = (CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+\.\d+(?: s\b)?")  # with decimals; " s": a time, which may be any
CLOSE = 0.05  # between processors; of percentages a hundred times that


class Screen(StringIO):
    """A terminal without colours, on which stdout and stderr meet."""

    def isatty(self) -> bool:
        return True


class Log(StringIO):
    """stderr, which is no terminal, so that there is no progress bar; it writes to the screen."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        return self._screen.write(text)


class Reader:
    """Someone who types what a part of the page says, one block after the other, in a folder of their own."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.typed = 0

    def read(self, part: str) -> None:
        printed = ""
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```", part, flags=re.DOTALL | re.MULTILINE):
            if language == "console":
                for command, shown in commands(block):
                    check(command, shown, self.type(command))
            elif language == "python":
                printed = self.run(block)
            elif language == "text":
                check("print", block, printed)

    def type(self, line: str) -> str:
        """What a command prints; it has to succeed."""
        self.typed += 1
        screen, words = Screen(), shlex.split(line)
        if words[0] == "semsearch":
            with redirect_stdout(screen), redirect_stderr(Log(screen)):
                code = main(words[1:])
            assert code == 0, f"{line}\n{screen.getvalue()}"
            return screen.getvalue()
        folder = subprocess.run(["bash", "-ec", f"{line}\npwd >&2"], capture_output=True, text=True, check=True).stderr
        os.chdir(folder.strip())
        return ""

    def run(self, code: str) -> str:
        """What a piece of Python prints."""
        screen = Screen()
        with redirect_stdout(screen), redirect_stderr(Log(screen)):
            exec(code, self.names)  # noqa: S102 - our own page
        return screen.getvalue()


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what is shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def check(command: str, shown: str, printed: str) -> None:
    """Every shown line is among the printed ones, in their order; decimals may differ a little, … is anything."""
    lines = iter(printed.splitlines())
    for line in filter(str.strip, shown.splitlines()):
        if line.strip() != "…":
            assert any(same(line, other) for other in lines), f"{command}: {line!r} is not in\n{printed}"


def same(shown: str, printed: str) -> bool:
    pattern = NUMBER.sub("NUMBER", shown)
    words = ".*".join(re.escape(part).replace(r"\ ", " ") for part in pattern.split("…"))
    words = re.sub(" +", r"\\s+", words.replace("NUMBER", NUMBER.pattern))
    if not re.fullmatch(words, printed):
        return False
    if "…" in shown:
        return True
    both = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(one.endswith("s") or abs(float(one) - float(other)) <= close(one) for one, other in both)


def close(number: str) -> float:
    return CLOSE if abs(float(number)) <= 2 else 100 * CLOSE


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """One who stands in the checkout, with a home folder of their own and a terminal of 100 columns."""
    for name in [name for name in os.environ if name.startswith("SEMSEARCH_")]:
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), "COLUMNS": "100", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(CHECKOUT)
    return Reader()


def part(heading: str) -> str:
    return TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_own_notes_are_searched_as_shown(reader: Reader) -> None:
    reader.read(part("Your own notes"))
    assert reader.typed >= 15


@pytest.mark.slow
def test_the_help_desk_answers_as_shown(reader: Reader, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    reader.read(part("A product"))
    assert {each.name for each in tmp_path.iterdir()} >= {"helpdesk", "pictures"}


@pytest.mark.long
@pytest.mark.training
@pytest.mark.export
def test_the_study_runs_as_shown(reader: Reader) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    reader.read(part("A study of encoders"))
    assert Path("pairs.png").stat().st_size > 5000 and Path("tuned/run/loss.png").is_file()
