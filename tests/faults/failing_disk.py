"""An index with what belongs to it, and every command that reads or writes it: what each leaves when nothing fails."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import NONE, Limits, run
from helpers.commandline import Ran
from histories import documents, text

from semsearch import Document, Index, admin
from semsearch.errors import GateFailed

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "index": ("index", "{place}/files", "-n", "notes"),
    "index anew": ("index", "{place}/files", "-n", "new"),
    "query": ("query", "harbour engine", "-n", "notes"),
    "delete": ("delete", "notes", "--id", "d1"),
    "compact": ("compact", "notes"),
    "rebuild the cache": ("index", "-n", "notes", "--backend-type", "exact"),
    "dump": ("dump", "notes", "-o", "{place}/new.dump"),
    "restore": ("restore", "{place}/notes.dump", "-n", "copy"),
    "salvage": ("salvage", "notes", "-o", "saved"),
    "verify": ("verify", "notes"),
}
READING = ("query", "verify")
NAMED = {  # what an error has to name: a part of a path
    **dict.fromkeys(COMMANDS, ("home/notes", "files")),
    "index anew": ("home/new", "files"),
    "dump": ("new.dump", "home/notes"),
    "restore": ("home/copy", "notes.dump"),
    "salvage": ("home/saved", "home/.saved.salvaging", "home/notes", "saved: "),
}


def template(folder: Path) -> Path:
    """A place with an index of a folder and of further documents, its dump, and files that are not indexed yet."""
    chance, files = random.Random(8), folder / "files"
    files.mkdir(parents=True)
    for n in range(6):
        (files / f"f{n}.txt").write_text(text(chance))
    with Index.create(folder / "home" / "notes", encoder="hashing") as index:
        index.sync([files])
        index.add(Document(f"d{n}", text(chance)) for n in range(60))
        admin.rebuild(index, "flat")
        admin.dump(index, folder / "notes.dump")
    for n in range(4, 30):
        (files / f"f{n}.txt").write_text(text(chance))
    return folder


@dataclass(frozen=True)
class Place:
    """A copy of the template in which commands run."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, origin: Path) -> Place:
        shutil.copytree(origin, folder, dirs_exist_ok=True)
        return cls(folder)

    def run(self, command: str, limits: Limits = NONE) -> Ran:
        settings = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), f"{self.folder}/settings")
        environment = {"SEMSEARCH_HOME": f"{self.folder}/home", "SEMSEARCH_MODEL": "hashing", **settings}
        return run([part.format(place=self.folder) for part in COMMANDS[command]], environment, limits)

    def content(self) -> dict[str, Any]:
        """The documents of every index in the home, and whether `verify` is content with it."""
        found = {}
        for name in admin.names(self.folder / "home"):
            with Index.open(self.folder / "home" / name) as index:
                found[name] = (documents(index.path), index.analysis.verify())
        return found


def complaint(ran: Ran, command: str, cause: str, codes: tuple[int, ...] = (1,), *named: str) -> str:
    """What is wrong with how a command failed: one line that names the file and the cause, and no traceback."""
    lines = [line for line in ran.err.splitlines() if not line.startswith(("warning: ", "updating index", "new index"))]
    if "Traceback" in ran.err or "unexpected" in ran.err:
        return f"a traceback: {ran.err}"
    if ran.code not in codes:
        return f"exit {ran.code}: {ran.err}"
    if len(lines) != 1 or not lines[0].startswith("error: "):
        return f"not one line: {ran.err}"
    told = f"{lines[0]}\n{ran.out if ran.code == GateFailed.exit_code else ''}"  # what was found is on stdout
    if not any(name in told for name in (*NAMED[command], "/home.", "vectors-", *named)):
        return f"no file is named: {told}"
    return "" if re.search(cause, told) else f"not the cause: {told}"
