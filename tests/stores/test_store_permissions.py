"""Readers without the right to write to the folder of a store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers.stores import entry, made

from semsearch.stores.local import open_writer

CHECKOUT = Path(__file__).resolve().parents[2]


_AS_NOBODY = """
import os, sys
from pathlib import Path
import numpy
from semsearch.stores.local import open_reader, open_writer
from semsearch.stores.local import create, open_reader, open_writer
folder = Path(sys.argv[1])
os.setgid(65534); os.setuid(65534)
try:
    (folder / "mine").write_text("")
    sys.exit("the folder can be written to")
except PermissionError:
    pass
with open_reader(folder) as store:
    print(store.document_ids(None), len(store.passages([1])), flush=True)
    for line in sys.stdin:
        print(store.document_ids(None), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to become another user")
@pytest.mark.parametrize("writer", ["is open", "has closed"])
def test_a_reader_without_the_right_to_write_sees_what_a_writer_commits(tmp_path: Path, writer: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # pytest's own folders are closed to others
        Path(place).chmod(0o755)
        store, space = made(Path(place) / "notes", 2)
        if writer == "has closed":
            store.close()
        command = [sys.executable, "-c", _AS_NOBODY, str(Path(place) / "notes")]
        reader = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert reader.stdin and reader.stdout
        assert reader.stdout.readline().strip() == "['d0', 'd1'] 1"
        if writer == "has closed":
            store = open_writer(Path(place) / "notes")
        store.replace([entry("new", "A text")], space.id)
        if writer == "has closed":
            store.close()
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline().strip() == "['d0', 'd1', 'new']"
        reader.stdin.close()
        assert reader.wait(60) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to become another user")
def test_a_reader_without_the_right_to_fold_a_log_in_says_so(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        store, _ = made(Path(place) / "notes", 2)
        shutil.copytree(Path(place) / "notes", Path(place) / "copy")  # as a kill leaves it
        store.close()
        (Path(place) / "copy" / "store.db-shm").unlink()
        command = [sys.executable, "-c", _AS_NOBODY, str(Path(place) / "copy")]
        ran = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
        assert ran.returncode == 1
        assert "SemsearchError" in ran.stderr
        assert "commits of a killed writer" in ran.stderr
