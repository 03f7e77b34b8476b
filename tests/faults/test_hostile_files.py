"""One file costs one file: whatever a document does to its parser, `semsearch index` finishes with all others.

The files are those of `helpers.hostile`, and one that is good. The limits are lower than the defaults, so that a file
that hangs costs the suite a few seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers import hostile

from semsearch import Index, SyncOptions, admin
from semsearch.documents.isolation import pool
from semsearch.documents.loaders import Fields
from semsearch.indexing import language_sample

MOST_MEMORY = 400 * 2**20
DATABASES = [name for name in hostile.FILES if name.endswith(".db")]
ROWS = "quote.csv"  # thousands of them, after a quote that does not end
FILES = [name for name in hostile.FILES if name not in (*DATABASES, ROWS)]
ONE_OF_EACH = list({Path(name).suffix: name for name in FILES}.values())
LIMITS = {"SEMSEARCH_READ_SECONDS": "1", "SEMSEARCH_READ_MEMORY_MB": "200", "SEMSEARCH_READ_OUTPUT_MB": "1"}
MEASURED = """
import sys
from pathlib import Path
from semsearch.cli.main import main
code = main(sys.argv[2:])
status = Path("/proc/self/status").read_text()
Path(sys.argv[1]).write_text(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
sys.exit(code)
"""


def index(folder: Path, home: Path, *flags: str) -> tuple[dict[str, Any], int]:
    """The report of a real `semsearch index`, and the most memory of its main process, in bytes.

    With a flag, the good file is read in another process too, which takes its time on a busy machine.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SEMSEARCH_")}
    environment |= {**LIMITS, "SEMSEARCH_HOME": str(home), "SEMSEARCH_EMBEDDING_CACHE_MB": "0"}
    environment |= {"SEMSEARCH_READ_SECONDS": "4"} if flags else {}
    peak = home.with_suffix(".peak")
    command = [sys.executable, "-c", MEASURED, peak, "index", folder, "-n", "all", "-m", "hashing", "--json", *flags]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert "Traceback" not in ran.stderr
    return json.loads(ran.stdout), int(peak.read_text()) * 1024


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (ONE_OF_EACH, ()),
        pytest.param([name for name in FILES if name not in ONE_OF_EACH], (), marks=pytest.mark.long),
        ([ROWS], ()),
        (["silent.db"], ("--sql", hostile.SQL)),
        pytest.param(DATABASES, ("--sql", hostile.SQL), marks=pytest.mark.long),
    ],
    ids=["one of each kind", "others", "rows", "a database", "databases"],
)
def test_index_finishes_with_every_other_file(names: list[str], flags: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        hostile.FILES[name](folder / name)
        if name == ROWS:
            os.truncate(folder / name, 3 * 2**20)  # thrice the limit of a text, which is lower here too
    if flags:
        hostile.filemaking.sqlite(folder / "zz-good.db", [("good", None, "A kettle.", 1)])
    else:
        (folder / "zz-good.txt").write_text("A kettle.")
    report, memory = index(folder, tmp_path / "home", *flags)
    assert memory < MOST_MEMORY
    assert all(len(skipped["reason"]) <= 400 for skipped in report["skipped"])
    with Index.open(tmp_path / "home" / "all") as made:
        found = {each["id"] for each in made.documents()}
    assert ("good" if flags else "zz-good.txt") in found
    costly = {skipped["path"] for skipped in report["skipped"] if "raise read_" in skipped["reason"]}
    again, _ = index(folder, tmp_path / "home", *flags)
    assert costly <= {skipped["path"] for skipped in again["skipped"] if "raise read_" in skipped["reason"]}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that another process reads."""
    names: list[str] = []
    original = pool.read

    def counted(loader: str, path: Path, *rest: Any) -> Any:
        names.append(path.name)
        return original(loader, path, *rest)

    monkeypatch.setattr(pool, "read", counted)
    for name, value in LIMITS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SEMSEARCH_READ_SECONDS", "60")  # none of these files hangs, and a machine may be busy
    return names


def test_a_refused_file_is_met_again_only_when_it_or_the_limits_have_changed(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    hostile.FILES["flate.pdf"](folder / "a.pdf")
    (folder / "b.html").write_text("<p>A kettle.</p>")

    def run(*paths: Path, **options: Any) -> tuple[list[str], list[str]]:
        reads.clear()
        report = made.sync(list(paths), SyncOptions(**options))
        assert [skipped.path for skipped in made.analysis.skipped()] == [each.path for each in report.skipped] or paths
        return reads.copy(), [skipped.path for skipped in report.skipped]

    with Index.create(tmp_path / "index", encoder="hashing") as made:
        assert run(folder) == (["a.pdf", "b.html"], ["a.pdf"])
        assert "raise read_memory_mb" in made.analysis.skipped()[0].reason
        assert run() == ([], ["a.pdf"])
        assert run(folder / "b.html") == ([], [])  # a run that does not see the file
        assert run() == ([], ["a.pdf"])
        (folder / "a.pdf").rename(folder / "c.pdf")
        assert run() == ([], ["c.pdf"])
        assert run(force=True) == (["b.html", "c.pdf"], ["c.pdf"])
        with (folder / "c.pdf").open("ab") as file:
            file.write(b"\n")
        assert run() == (["c.pdf"], ["c.pdf"])
        monkeypatch.setenv("SEMSEARCH_READ_MEMORY_MB", "199")
        assert run() == (["c.pdf"], ["c.pdf"])
        assert run() == ([], ["c.pdf"])


def test_a_version_indexed_before_stays(tmp_path: Path, reads: list[str]) -> None:
    path = tmp_path / "a.docx"
    hostile.filemaking.docx(path, hostile.filemaking.paragraph("A kettle."))
    with Index.create(tmp_path / "index", encoder="hashing") as made:
        made.sync([path])
        hostile.FILES["five.docx"](path)
        report = made.sync([path])
        assert report.skipped[0].reason.endswith("(the version indexed before stays)")
        assert made.get("a.docx")["text"] == "A kettle."


def test_a_query_that_gives_more_than_its_file_could_hold_is_ended(tmp_path: Path, reads: list[str]) -> None:
    hostile.FILES["endless.db"](tmp_path / "a.db")
    with Index.create(tmp_path / "index", encoder="hashing") as made:
        report = made.sync([tmp_path], SyncOptions(fields=Fields(sql=hostile.SQL)))
    assert "raise read_output_mb" in report.skipped[0].reason


def test_a_look_at_languages_waits_for_no_file_as_long_as_its_indexing_may_take(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_sample, "SECONDS", 1)
    hostile.FILES["silent.db"](tmp_path / "a.db")
    hostile.filemaking.sqlite(tmp_path / "b.db", [("good", None, "A kettle.", 1)])
    began = time.monotonic()
    sample = admin.languages_of_files([tmp_path], SyncOptions(fields=Fields(sql=hostile.SQL)))
    assert sample.texts == ("A kettle.",)
    assert time.monotonic() - began < 50  # of the 60 seconds of `reads`
