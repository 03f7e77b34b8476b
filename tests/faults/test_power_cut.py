"""The power is cut at random moments, and the disk has written a random part of what it was not told to sync."""

from __future__ import annotations

import bisect
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import forks
import histories
import power_cut
from histories import Content, Home, observed
from mounting import mounted
from programme import record, trials

from semsearch import Index, admin
from semsearch.errors import SemsearchError

CUTS_OF_A_HISTORY = 50
KEPT = re.compile(r"store\.db(-wal|-shm|-commits)?|writer\.(lock|pid)|vectors-\d+-\d+-\w+\.cache|notes\.dump")


class Undisturbed(NamedTuple):
    """The states that were right in turn, the first of an empty disk, and what is found at the end."""

    states: list[Content]
    answers: list[object]


class History(NamedTuple):
    """What happened to a disk, what was acknowledged at which position of the record, and what would be right."""

    operations: list[power_cut.Operation]
    acknowledged: list[tuple[str, int]]
    right: Undisturbed


def lived(base: Path, seed: int, synchronous: str) -> History:
    """A history on a disk whose every operation is recorded."""
    files = base / "files"
    files.mkdir(parents=True)
    with mounted(base) as mount:
        (mount.path / "home").mkdir()
        mount.sync()
        arguments = (mount.path / "home", files, mount.record, seed, synchronous)
        acknowledged = forks.run(histories.live, *arguments).said
    return History(power_cut.read(mount.record), acknowledged, undisturbed(seed))


@cache
def undisturbed(seed: int) -> Undisturbed:
    """The same steps where nothing disturbs them."""
    with TemporaryDirectory() as scratch:
        home = Home(Path(scratch) / "home", Path(scratch) / "files")
        home.folder.mkdir()
        home.files.mkdir()
        states = [observed(home.folder)]
        for step in histories.steps(seed).values():
            step(home)
            states.append(observed(home.folder))
        home.close()
        return Undisturbed(states, histories.answers(home.folder / "notes"))


def cuts(history: History, count: int, chance: random.Random) -> Iterator[tuple[int, power_cut.Disk]]:
    """(the number of steps acknowledged, what the disk holds) at `count` moments: half of them soon after a step."""
    moments = {chance.randrange(len(history.operations)) for _ in range(count // 2)}
    ends = [operation["end"] for operation in history.operations]
    while len(moments) < count:
        _, position = chance.choice(history.acknowledged)
        moments.add(min(len(ends), bisect.bisect_right(ends, position) + chance.randrange(4)))
    disk = power_cut.Disk()
    for at, operation in enumerate(history.operations):
        if at in moments:
            position = ends[at - 1] if at else 0
            yield sum(end <= position for _, end in history.acknowledged), disk.cut(chance)
        disk.do(operation)


def missing(found: Content, before: Content, after: Content) -> list[str]:
    """What of `found` is as it was neither before nor after the step that was interrupted."""
    wrong = []
    for name in before.keys() | after.keys() | found.keys():
        if name in before and name in after and name not in found:
            wrong.append(f"{name} is gone")
            continue
        old, new, now = (content.get(name) for content in (before, after, found))
        if name.endswith(".dump") and now not in (old, new):
            wrong.append(f"{name} is neither the old nor the new one")
        elif now is not None:
            sides = [side for side in (old, new) if side is not None]
            wrong += [
                f"{document} in {name}"
                for document in set(now).union(*sides)
                if now.get(document) not in [side.get(document) for side in sides]
            ]
    return wrong


def problems(home: Path) -> list[str]:
    """What `verify` finds in all indexes of a home."""
    found = []
    for folder in home.iterdir():
        if admin.exists(folder):
            with Index.open(folder) as index:
                found += index.analysis.verify()
    return found


def test_nothing_that_was_acknowledged_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    tried, left = 0, trials(6, 200)
    for seed in range(10):
        count = min(left - tried, CUTS_OF_A_HISTORY)
        if not count:
            break
        history = lived(tmp_path / str(seed), seed, "FULL")
        chance, names = random.Random(seed), list(histories.steps(seed))
        assert [name for name, _ in history.acknowledged] == names
        for done, disk in cuts(history, count, chance):
            tried += 1
            say = f"history {seed}, trial {tried}, after {names[done - 1 : done + 1]}"
            top = tmp_path / "left"
            disk.make(top)
            before, after = history.right.states[done], history.right.states[min(done + 1, len(names))]
            interrupted = names[done] if done < len(names) else ""
            assert missing(observed(top / "home"), before, after) == [], say
            told = problems(top / "home")
            assert told == [] or (interrupted == "accept the loss" and "has lost its last" in told[0]), (say, told)
            the_rest_is_done(top / "home", tmp_path / str(seed) / "files", seed, done, history, say)
            shutil.rmtree(top)
    record("power cut", tried, lost=0)


def the_rest_is_done(home: Path, files: Path, seed: int, done: int, history: History, say: str) -> None:
    """The next run finishes: afterwards everything is as if the power had not been cut."""
    if not done:
        home.mkdir(exist_ok=True)
    work = Home(home, files)
    for step in list(histories.steps(seed).values())[done:]:
        step(work)
    work.delete([])  # a run with nothing to do cleans up, too
    work.close()
    assert observed(home) == history.right.states[-1], say
    assert problems(home) == [], say
    assert histories.answers(home / "notes") == history.right.answers, say
    strange = [path for path in home.rglob("*") if path.is_file() and not KEPT.fullmatch(path.name)]
    assert not strange and not [path for path in home.iterdir() if path.name.startswith(".")], (say, strange)


def test_a_power_cut_loses_documents_where_a_commit_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    """The test above can fail: with `synchronous=NORMAL` acknowledged documents are lost. `verify` tells, even then."""
    history, count = lived(tmp_path / "0", 0, "NORMAL"), trials(5, 50)
    became: Counter[str] = Counter()
    for done, disk in cuts(history, count, random.Random(1)):
        top = tmp_path / "left"
        disk.make(top)
        before, after = history.right.states[done], history.right.states[min(done + 1, len(history.right.states) - 1)]
        try:
            lost = missing(observed(top / "home"), before, after)
            told = problems(top / "home")
        except SemsearchError as error:
            lost, told = [str(error)], [str(error)]
        became["lost"] += bool(lost)
        became["told"] += bool(lost and told)
        shutil.rmtree(top)
    record("power cut, with synchronous=NORMAL (must lose)", count, **became)
    print(became)
    assert became["lost"] > 0 and became["told"] == became["lost"], became
