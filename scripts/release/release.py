#!/usr/bin/env python3
"""Make all files of a release of the last commit, the same bytes wherever that is done.

    python -m scripts.release.release [-o dist]          needs: git, pip, a package index

dist/ then has the source distribution and the wheel (`build_package`), a bill of materials in CycloneDX with the
packages that are asked for as they are locked and the encoders within, the notes of the version from CHANGELOG.md, and
SHA256SUMS of all of these. Who owns the name on a package index publishes them: twine upload dist/*.whl dist/*.tar.gz
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from scripts.release.build_package import CHECKOUT, LOCK, build

LICENCES = CHECKOUT / "docs" / "licences.md"
CHANGELOG = CHECKOUT / "CHANGELOG.md"
_LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?P<rest>.*(?:\n .*)*)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, default=CHECKOUT / "dist", help="folder for the files (dist)")
    for line in release(parser.parse_args().out).splitlines():
        print(line)


def release(out: Path) -> str:
    """Write the files into `out`; the content of SHA256SUMS."""
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    files = build(CHECKOUT, out)
    moment = subprocess.run(
        ["git", "-C", CHECKOUT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True
    ).stdout
    for name, text in {
        f"semsearch-{version}.cdx.json": bill_of_materials(version, int(moment), sha256(files[-1])),
        f"semsearch-{version}.md": notes(version, CHANGELOG.read_text(encoding="utf-8")),
    }.items():
        (out / name).write_text(text, encoding="utf-8")
        files.append(out / name)
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in sorted(files))
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return sums


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def notes(version: str, changelog: str) -> str:
    """What CHANGELOG.md says of a version."""
    section = re.search(rf"^## {re.escape(version)}\b.*?(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise SystemExit(f"error: CHANGELOG.md has no section {version}")
    return section[0].rstrip() + "\n"


def bill_of_materials(version: str, moment: int, wheel: str) -> str:
    """CycloneDX 1.5: the packages of docs/licences.md with the locked versions and hashes, and what is contained.

    `wheel`: the SHA-256 of the wheel. A package that is not locked, as torch is not, has no version.
    """
    locked = {match["name"]: match for match in _LOCKED.finditer(LOCK.read_text(encoding="utf-8"))}
    rows = re.findall(r"^\| (\S+) \| ([^|]+) \| ([^|]+) \|$", LICENCES.read_text(encoding="utf-8"), re.MULTILINE)
    heads = ("package", "files")
    packages = [row for row in rows if not row[0].startswith("`") and row[0] not in heads]
    contained = [(name.strip("`"), said, origin) for name, said, origin in rows if name.startswith("`")]
    components = [_package(name, extras, said, locked.get(name)) for name, extras, said in packages]
    components += [
        {"type": "data", "name": name, "description": origin, "licenses": [{"license": {"name": said}}]}
        for name, said, origin in contained
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, wheel)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": "semsearch",
                "name": "semsearch",
                "version": version,
                "purl": f"pkg:pypi/semsearch@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": wheel}],
            },
        },
        "components": components,
    }
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


def _package(name: str, extras: str, said: str, locked: re.Match[str] | None) -> dict[str, Any]:
    package: dict[str, Any] = {"type": "library", "name": name, "purl": f"pkg:pypi/{name}"}
    if locked is not None:
        hashes = sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", locked["rest"]))
        package |= {"version": locked["version"], "purl": f"pkg:pypi/{name}@{locked['version']}"}
        package["externalReferences"] = [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{name}/{locked['version']}/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
            }
        ]
    package["scope"] = "required" if extras == "always" else "optional"
    package["licenses"] = [{"license": {"name": said.partition(":")[0]}}]
    package["properties"] = [{"name": "semsearch:extras", "value": extras}]
    return package


if __name__ == "__main__":
    main()
