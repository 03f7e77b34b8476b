"""Show that the tests can fail: plant faults in a copy of this checkout, one at a time, and run the tests against each.

    .venv/bin/python -m scripts.faults.planted [NAME...]      needs: scripts/test, run once; git

The faults are patches in tests/faults/planted. Each says in its first lines what it breaks, and which tests find it;
first these tests run without any fault. It takes some ten seconds a fault. Exit code 1 where a patch does not apply or
its fault is not found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from scripts.shared.places import CHECKOUT

PLANTED = CHECKOUT / "tests" / "faults" / "planted"
LONGEST = 600  # seconds for the tests of one fault
_TURNS = count()
FAILED = 1  # pytest's exit code for tests that ran and failed; others are errors in how it was called


@dataclass(frozen=True)
class Fault:
    """A patch, what it breaks, and the tests that find it, as pytest takes them."""

    patch: Path
    breaks: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.patch.stem


def read(patch: Path) -> Fault:
    """The fault of a patch. Raises ValueError where it does not say what it breaks, or what finds it."""
    head = [line.partition(": ") for line in patch.read_text(encoding="utf-8").partition("\ndiff ")[0].splitlines()]
    breaks = [text for key, _, text in head if key == "Breaks"]
    tests = tuple(text for key, _, text in head if key == "Found by")
    if len(breaks) != 1 or not tests:
        raise ValueError(f'{patch.name} needs one line "Breaks: …" and lines "Found by: …" at its beginning')
    return Fault(patch, breaks[0], tests)


def faults() -> list[Fault]:
    """All planted faults, by name."""
    return [read(patch) for patch in sorted(PLANTED.glob("*.patch"))]


def apply(fault: Fault, checkout: Path, *flags: str) -> str:
    """Apply a fault to a checkout with `git apply FLAGS`; what is wrong, or ""."""
    ran = subprocess.run(
        ["git", "apply", *flags, str(fault.patch)], cwd=checkout, capture_output=True, text=True, check=False
    )
    return ran.stderr.strip() if ran.returncode else ""


def copy_checkout(target: Path) -> None:
    """Copy what git knows of this checkout, and new files that it does not ignore."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=CHECKOUT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)


def outcome(checkout: Path, tests: Sequence[str]) -> int | None:
    """The exit code of pytest for some tests in a checkout; None where they take too long."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SEMSEARCH_FAULTS")}
    environment = {**kept, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        return subprocess.run(
            command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, timeout=LONGEST, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def make_newer(fault: Fault, checkout: Path) -> None:
    """Give the files of a patch a time that they never had: Python reads their bytecode anew by time, in seconds."""
    now = time.time() + 10 * next(_TURNS)
    for name in re.findall(r"^\+\+\+ b/(.+)$", fault.patch.read_text(encoding="utf-8"), flags=re.MULTILINE):
        os.utime(checkout / name, (now, now))


def planted(fault: Fault, checkout: Path) -> str:
    """What became of one fault, in a word or two; the checkout is as before afterwards."""
    if problem := apply(fault, checkout):
        return f"does not apply: {problem}"
    make_newer(fault, checkout)
    try:
        code = outcome(checkout, fault.tests)
    finally:
        apply(fault, checkout, "--reverse")
        make_newer(fault, checkout)
    if code == FAILED:
        return "found"
    return "NOT FOUND" if code == 0 else f"pytest ended with {code}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", metavar="NAME", help="only these faults")
    chosen = options.parse_args().names
    by_name = {fault.name: fault for fault in faults()}
    if unknown := sorted(set(chosen) - by_name.keys()):
        options.error(f"no fault is called {unknown[0]!r}. Choose from: {', '.join(by_name)}")
    planned = [by_name[name] for name in chosen or by_name]
    with tempfile.TemporaryDirectory(prefix="semsearch-planted-") as scratch:
        copy_checkout(Path(scratch))
        code = outcome(Path(scratch), sorted({test for fault in planned for test in fault.tests}))
        if code != 0:
            print(f"error: without a fault, the tests end with {code}; repair them first", file=sys.stderr)
            return 1
        print("| planted fault | what it breaks | tests that are to find it | |\n|---|---|---|---|")
        results = []
        for fault in planned:
            results.append(planted(fault, Path(scratch)))
            print(f"| {fault.name} | {fault.breaks} | {', '.join(fault.tests)} | {results[-1]} |", flush=True)
    print(f"\n{results.count('found')} of {len(results)} faults found")
    return 0 if set(results) == {"found"} else 1


if __name__ == "__main__":
    sys.exit(main())
