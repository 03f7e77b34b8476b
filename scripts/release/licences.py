"""List the licences of all that semsearch ships or asks for: dependencies with theirs, models, and other files.

    .venv/bin/python -m scripts.release.licences [--check]      needs: scripts/test, run once

It writes docs/licences.md. --check: write nothing; exit code 1 where a licence is neither permissive nor explained in
scripts/release/licences.toml, where a file is not covered there, or where the page does not have what is installed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.shared.places import CHECKOUT

PAGE = CHECKOUT / "docs" / "licences.md"
LISTED = tomllib.loads((CHECKOUT / "scripts" / "release" / "licences.toml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
NOT_SHIPPED = {"dev", "bench"}  # extras for working on semsearch
PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0"),
    *("MIT-CMU", "PSF-2.0", "Unlicense", "Zlib", "BSL-1.0", "LLVM-exception"),
}
SPDX = {  # of what metadata say in words
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def shipped_extras() -> dict[str, list[str]]:
    """The requirements of the product: those that it always has, under "", and those of each extra."""
    extras = PROJECT["project"]["optional-dependencies"]
    return {"": PROJECT["project"]["dependencies"]} | {
        extra: names for extra, names in extras.items() if extra not in NOT_SHIPPED
    }


def closure(names: list[str]) -> Iterator[str]:
    """Requirements and theirs, as names: of this system, and as far as they are installed."""
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in names]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        for asked in {"", *requirement.extras}:
            if (name, asked) not in seen:
                seen.add((name, asked))
                yield name
                waiting += [(Requirement(text), asked) for text in _requirements(name)]


def _requirements(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def elsewhere(name: str) -> str:
    """The licence of a package that the suite does not install; "" for one that is not listed."""
    return next((str(listed[1]) for pattern, listed in LISTED["elsewhere"].items() if fnmatch(name, pattern)), "")


def licence(name: str) -> str:
    """The licence of a package, with a reason where it needs one; "" where nothing is known."""
    if name in LISTED["explained"]:
        return str(LISTED["explained"][name])
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return elsewhere(name)
    classified = [text.rpartition(" :: ")[2] for text in about.get_all("Classifier") or [] if "License ::" in text]
    said = [*(about.get_all("License-Expression") or []), *classified, *(about.get_all("License") or [])]
    return next((SPDX.get(text, text) for text in said if is_permissive(SPDX.get(text, text))), "")


def is_permissive(expression: str) -> bool:
    """Whether every licence of an SPDX expression lets this product use and pass on the work."""
    words = set(re.split(r"[\s()]+", expression)) - {"AND", "OR", "WITH", ""}
    return bool(words) and words <= PERMISSIVE


def packages() -> dict[str, tuple[str, str]]:
    """Every package that is asked for, with its licence and the extras that ask for it."""
    extras_of: dict[str, set[str]] = {}
    for extra, names in shipped_extras().items():
        for name in closure(names):
            extras_of.setdefault(name, set()).add(extra)
    for name, (extra, _) in LISTED["elsewhere"].items():
        extras_of.setdefault(name, set()).add(extra)
    return {
        name: (
            licence(name) or elsewhere(name.replace("*", "x")),
            ", ".join(sorted(extras)) if "" not in extras else "",
        )
        for name, extras in sorted(extras_of.items())
    }


def assets() -> dict[str, list[str] | None]:
    """Every file of the packages that is no program, with its licence and origin; None where it is not covered."""
    folders = {"semsearch": "semsearch", **PROJECT["tool"]["setuptools"]["package-dir"]}
    files = {
        path.relative_to(CHECKOUT).as_posix()
        for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in (CHECKOUT / folders[package]).glob(pattern)
        if path.is_file() and path.suffix != ".pyi" and path.name != "py.typed"
    }
    return {
        file: next((listed for pattern, listed in LISTED["assets"].items() if fnmatch(file, pattern)), None)
        for file in sorted(files)
    }


def problems() -> list[str]:
    """What is neither permissive nor explained, a sentence each."""
    unlicensed = [
        f"{name} ({extras or 'always installed'}) has no known permissive licence: explain it in licences.toml"
        for name, (said, extras) in packages().items()
        if not said
    ]
    return unlicensed + [
        f"{file} is not covered by [assets] in scripts/release/licences.toml"
        for file, is_of in assets().items()
        if not is_of
    ]


def page() -> str:
    """The page as Markdown."""
    rows = [f"| {name} | {extras or 'always'} | {said} |" for name, (said, extras) in packages().items()]
    made = [f"| `{pattern}` | {said} | {origin} |" for pattern, (said, origin) in LISTED["assets"].items()]
    return "\n".join([_HEAD, *rows, _ASSETS, *made, ""])


_HEAD = """# Licences

Written by `scripts/release/licences.py`; `tests/scripts/test_supply_chain.py` compares it with what is installed.
semsearch itself is under the Apache License 2.0 (`LICENSE`). It contains no package of others: pip installs what
follows, each under its own licence. Licences are named as in SPDX; where "BSD" stands alone, the package does not say
which variant.

| package | installed by extra | licence |
|---|---|---|"""
_ASSETS = """
Files in the product that are no program (`NOTICE` says more about the models):

| files | licence | origin |
|---|---|---|"""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="write nothing, and say what is wrong")
    wrong = problems()
    if options.parse_args().check:
        present = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
        missing = [row for row in page().splitlines() if row not in present.splitlines()]
        wrong += [f"docs/licences.md lacks: {row}" for row in missing]
    else:
        PAGE.write_text(page(), encoding="utf-8")
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
