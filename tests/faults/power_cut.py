"""What a disk holds after a power cut, made from the record of `recording_fs`.

What was synced is there: the bytes of a file by an fsync of the file, its name by an fsync of its folder. Of the rest
there is a random part: bytes by sectors, in any order; names in the order in which they were changed, any of them left
out. That is less than common file systems promise, which keep the order of names and sync a new file with its name.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECTOR = 512
ROOT = 1
AWAY_S = 600.0  # between a power cut and the first look at the disk
SURVIVES = (0.0, 0.3, 0.7, 0.95, 1.0)  # shares of what was not synced

Operation = dict[str, Any]


def read(record: Path) -> list[Operation]:
    """The operations of a record; `end` is the position after each."""
    content, at, found = record.read_bytes(), 0, []
    while at < len(content):
        line = content.index(b"\n", at)
        operation = json.loads(content[at:line])
        at = line + 1 + operation["size"]
        found.append({**operation, "data": content[line + 1 : at], "end": at})
    return found


@dataclass
class Disk:
    """What is safe after some operations, and what waits to be written."""

    content: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    names: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    folders: set[int] = field(default_factory=lambda: {ROOT})
    waiting: list[Operation] = field(default_factory=list)

    def do(self, operation: Operation) -> None:
        """The next operation: it waits, or is a sync of what waits."""
        if operation["op"] == "mkdir":
            self.folders.add(operation["number"])
        if operation["op"] != "fsync":
            self.waiting.append(operation)
            return
        number = operation["number"]
        synced = [each for each in self.waiting if _target(each) == number]
        for each in synced:
            self._write(each)
        named = {each["number"]: each["end"] for each in synced if "name" in each}
        self.waiting = [
            each
            for each in self.waiting
            if _target(each) != number and not ("name" in each and each["end"] < named.get(each["number"], 0))
        ]  # what a file was called before its present name was synced is over

    def cut(self, chance: random.Random) -> Disk:
        """The disk after a power cut now."""
        left = Disk(
            defaultdict(bytearray, {number: bytearray(content) for number, content in self.content.items()}),
            defaultdict(dict, {number: dict(names) for number, names in self.names.items()}),
            self.folders,
        )
        share, names = chance.choice(SURVIVES), chance.choice(SURVIVES)
        for each in self.waiting:
            if "name" in each and chance.random() < names:
                left._write(each)
        pieces = [piece for each in self.waiting if "name" not in each for piece in _pieces(each)]
        pieces = [piece for piece in pieces if chance.random() < share]
        chance.shuffle(pieces)
        for piece in pieces:
            left._write(piece)
        return left

    def make(self, folder: Path, number: int = ROOT) -> None:
        """Write all that has a name into a new folder, as old as it is by the time that a machine runs again."""
        folder.mkdir()
        for name, of in self.names[number].items():
            if of in self.folders:
                self.make(folder / name, of)
            else:
                (folder / name).write_bytes(self.content[of])
        cut = time.time() - AWAY_S
        os.utime(folder, (cut, cut))

    def _write(self, operation: Operation) -> None:
        number = operation["number"]
        match operation["op"]:
            case "write":
                content, at = self.content[number], operation["at"]
                content.extend(bytes(max(0, at - len(content))))
                content[at : at + len(operation["data"])] = operation["data"]
            case "truncate":
                content, length = self.content[number], operation["length"]
                content.extend(bytes(max(0, length - len(content))))
                del content[length:]
            case "create" | "mkdir":
                self.names[operation["folder"]][operation["name"]] = number
            case "unlink":
                self._forget(operation)
            case "rename":
                self._forget(operation)
                self.names[operation["to"]["folder"]][operation["to"]["name"]] = number

    def _forget(self, operation: Operation) -> None:
        if self.names[operation["folder"]].get(operation["name"]) == operation["number"]:
            del self.names[operation["folder"]][operation["name"]]


def _target(operation: Operation) -> int:
    """The file or folder whose fsync makes an operation safe."""
    if "name" not in operation:
        return int(operation["number"])
    return int(operation.get("to", operation)["folder"])


def _pieces(operation: Operation) -> Iterator[Operation]:
    """A write by sectors, of which each may survive alone."""
    if operation["op"] != "write":
        yield operation
        return
    at, data = operation["at"], operation["data"]
    start = 0
    while start < len(data):
        end = min(len(data), (at + start) // SECTOR * SECTOR + SECTOR - at)
        yield {**operation, "at": at + start, "data": data[start:end]}
        start = end
