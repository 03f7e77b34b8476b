"""A stand-in for pip: environments of what this project declares, linked from the one that runs the tests."""

from __future__ import annotations

import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

PYTHON = """#!/usr/bin/env bash
set -eu
[ "${{*:1:3}}" = "-m venv --clear" ] || exec "{python}" "$@"
"{python}" -m venv --clear --without-pip "$4"
cp "{pip}" "$4/bin/pip"
"""
PIP = """#!/usr/bin/env bash
set -eu
echo "$@" >"{asked}"
bin=$(dirname "${{BASH_SOURCE[0]}}")
cp --no-dereference "{site}"/* "$bin"/../lib/python*/site-packages/
pwd >"$(echo "$bin"/../lib/python*/site-packages)/clone.pth"
printf '#!%s\\n{main}' "$(realpath --no-symlinks "$bin/python")" >"$bin/semsearch"
chmod +x "$bin/semsearch"
"""


def distributions(project: Path, *extras: str) -> dict[str, metadata.Distribution]:
    """Every distribution that the project in this folder needs, by the names that it and they declare."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, metadata.Distribution] = {}
    left = [(line, ("",)) for line in table["dependencies"]]
    left += [(line, ("",)) for extra in extras for line in table["optional-dependencies"][extra]]
    while left:
        line, wanted = left.pop()
        one = Requirement(line)
        if one.marker and not any(one.marker.evaluate({"extra": extra}) for extra in wanted):
            continue
        if one.name not in found or one.extras:
            found[one.name] = metadata.distribution(one.name)
            left += [(each, ("", *sorted(one.extras))) for each in found[one.name].requires or ()]
    return found


def megabytes(some: dict[str, metadata.Distribution]) -> float:
    """What their files take, without bytecode."""
    files = [Path(str(each.locate_file(file))) for each in some.values() for file in each.files or ()]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file()) / 1e6


def stand_in(folder: Path, project: Path, some: dict[str, metadata.Distribution]) -> tuple[Path, Path]:
    """A `python` whose virtual environments have these distributions alone, and the file of their pip's arguments."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site, asked = folder / "site", folder / "asked.txt"
    site.mkdir(parents=True)
    for each in some.values():
        for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            if not (site / name).is_symlink():
                (site / name).symlink_to(Path(str(each.locate_file(name))))
    module, _, function = table["scripts"]["semsearch"].partition(":")
    main = rf"from {module} import {function}\n{function}()\n"
    pip, python = folder / "pip", folder / "python"
    pip.write_text(PIP.format(asked=asked, site=site, main=main), encoding="utf-8")
    python.write_text(PYTHON.format(python=sys.executable, pip=pip), encoding="utf-8")
    for file in (pip, python):
        file.chmod(0o755)
    return python, asked
