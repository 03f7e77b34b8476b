"""Every command that writes is killed, at each named step of the write path and at random moments.

Afterwards each index is whole: every document is as it was before or as the command leaves it, what was committed is
there, and `verify` finds nothing. The same command finishes then, and so does the next `index`. The content, and what
questions find, are those of an index that was never disturbed, and no file is left that is not there without a kill.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import forks
import pytest
import stage as stages
from helpers import null_distributions
from programme import record, trials
from stage import OPERATIONS, Contents, Operation, Stage
from write_steps import STEPS

from semsearch.errors import SemsearchError
from semsearch.stores import null_queries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL"),
]
AT_RANDOM = trials(6, 300)
AT_STEPS = trials(24, 700)


class Undisturbed(NamedTuple):
    """What a command does where nothing happens to it."""

    before: dict[str, Contents]
    after: dict[str, Contents]
    dumps: list[bytes]  # what may be in the file of a dump: before, and after
    steps: Counter[str]
    seconds: float
    contents: Contents  # after the next `index`
    answers: list[Any]
    left: list[str]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("kills"))
    with pytest.MonkeyPatch.context() as patched:
        for name in [name for name in os.environ if name.startswith("SEMSEARCH_")]:
            patched.delenv(name)
        for name, value in made.environment.items():
            patched.setenv(name, value)
        patched.setattr(null_queries, "questions", null_distributions.few)  # as in the processes that are killed
        made.make_states()
        yield made


@pytest.fixture(scope="module")
def undisturbed(stage: Stage) -> dict[Operation, Undisturbed]:
    """Each operation as it goes without a kill."""
    return {operation: observed(stage, operation) for operation in OPERATIONS}


def observed(stage: Stage, operation: Operation) -> Undisturbed:
    stage.begin(operation.state)
    before, dumps = stage.indexes(), stage.dumps()
    began = time.perf_counter()
    said = dict(stage.kill(operation).said)
    seconds = time.perf_counter() - began
    assert said["code"] == 0, stage.said()
    after, dumps = stage.indexes(), dumps + stage.dumps()
    stage.ok(operation.follow)
    left, folder = stage.left(), stage.home / operation.index
    assert stages.problems(folder) == []
    found = stages.contents(folder), stages.answers(folder)
    return Undisturbed(before, after, dumps, Counter(said["steps"]), seconds, *found, left)


def test_every_named_step_is_taken_by_a_command(undisturbed: dict[Operation, Undisturbed]) -> None:
    taken = sum((one.steps for one in undisturbed.values()), Counter[str]())
    assert [step for step in STEPS if not taken[step]] == []


def test_an_index_that_was_updated_is_one_that_was_built_anew(
    stage: Stage, undisturbed: dict[Operation, Undisturbed]
) -> None:
    """What the kills are compared with is right itself."""
    operation = next(one for one in OPERATIONS if one.name == "updating")
    stage.begin(operation.state)
    stage.ok("rm notes -y")
    stage.ok("index ../files -n notes")
    assert stages.contents(stage.home / "notes") == undisturbed[operation].contents
    assert stages.answers(stage.home / "notes") == undisturbed[operation].answers


def test_a_kill_at_any_step_leaves_all_that_was_committed(
    stage: Stage, undisturbed: dict[Operation, Undisturbed]
) -> None:
    failures = []
    for operation, point in chosen_points(undisturbed, AT_STEPS):
        ended = killed(stage, operation, point) or killed(stage, operation, f"{point.rpartition(':')[0]}:1")
        assert ended, f"{operation.name} did not come to {point}"
        wrong = failure(stage, operation, undisturbed[operation], ended, point)
        note("kill -9 at a named step of the write path", operation, wrong)
        failures += wrong
    assert not failures, "\n".join(failures)


def test_a_kill_at_any_moment_leaves_all_that_was_committed(
    stage: Stage, undisturbed: dict[Operation, Undisturbed]
) -> None:
    chance = random.Random(11)
    done, failures = 0, list[str]()
    while done < AT_RANDOM:
        operation = OPERATIONS[done % len(OPERATIONS)]
        after = chance.uniform(0, undisturbed[operation].seconds)
        if ended := killed(stage, operation, after=after):
            done += 1
            wrong = failure(stage, operation, undisturbed[operation], ended, f"{after:.3f} s")
            note("kill -9 of a command at a random moment", operation, wrong)
            failures += wrong
    assert not failures, "\n".join(failures)


def killed(stage: Stage, operation: Operation, point: str = "", after: float | None = None) -> forks.Ended | None:
    """What the command of an operation said until it was killed; None where it ended before."""
    stage.begin(operation.state)
    ended = stage.kill(operation, point, after)
    return ended if ended.killed else None


def note(fault: str, operation: Operation, wrong: list[str]) -> None:
    record(fault, 1, failed=len(wrong), **{operation.name.replace(" ", "_"): 1})


def chosen_points(undisturbed: dict[Operation, Undisturbed], count: int) -> list[tuple[Operation, str]]:
    """So many times an operation and a step in it; all pairs come before any comes twice."""
    chance = random.Random(7)
    pairs = [(operation, step) for operation, one in undisturbed.items() for step in sorted(one.steps)]
    found: list[tuple[Operation, str]] = []
    while len(found) < count:
        chance.shuffle(pairs)
        for operation, step in pairs[: count - len(found)]:
            found.append((operation, f"{step}:{chance.randint(1, undisturbed[operation].steps[step])}"))
    return found


def failure(stage: Stage, operation: Operation, expected: Undisturbed, ended: forks.Ended, moment: str) -> list[str]:
    """What is wrong after a kill, if anything is."""
    try:
        check(stage, operation, expected, ended)
    except (AssertionError, SemsearchError) as error:
        return [f"{operation.name}, killed at {moment}: {str(error)[:500]}"]
    return []


def check(stage: Stage, operation: Operation, expected: Undisturbed, ended: forks.Ended) -> None:
    """All that has to be so after a kill."""
    check_whole(stage, operation, expected, ended)
    code, said = stage.run(operation.command)
    assert code in operation.done, said
    assert stage.indexes() == expected.after
    assert stage.dumps() == expected.dumps[-1:]
    code, said = stage.run(operation.follow)
    assert code == 0, said
    assert stage.left() == expected.left
    folder = stage.home / operation.index
    assert stages.problems(folder) == []
    assert stages.contents(folder) == expected.contents
    assert stages.answers(folder) == expected.answers


def check_whole(stage: Stage, operation: Operation, expected: Undisturbed, ended: forks.Ended) -> None:
    """Every index is what it was, or on its way to what it will be, with all that was committed."""
    found = stage.indexes()
    both = expected.before.keys() & expected.after.keys()
    assert both <= found.keys() <= expected.before.keys() | expected.after.keys()
    assert found or not (expected.before and expected.after)
    assert all(dump in expected.dumps for dump in stage.dumps())
    for name, documents in found.items():
        old, new = expected.before.get(name, {}), expected.after.get(name, {})
        assert stages.problems(stage.home / name) == [] or name == operation.damaged
        assert all(content in (old.get(uri), new.get(uri)) for uri, content in documents.items())
        assert old.keys() & new.keys() <= documents.keys()
        if name not in expected.before and not operation.grows:
            assert documents == new, f"a part of {name} looks like the whole"
    if operation.grows:
        documents = found.get(operation.index, {})
        for kind, ids in ended.said:
            if kind == "put":
                new = expected.after[operation.index]
                assert all(documents.get(uri) == new[uri] for uri in ids), "a committed document is lost"
            elif kind == "deleted":
                assert not documents.keys() & set(ids), "what was deleted is back"
