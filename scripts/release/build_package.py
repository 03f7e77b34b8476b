#!/usr/bin/env python3
"""Build the source distribution and the wheel of the last commit, with the same bytes wherever that is done.

    python -m scripts.release.build_package [-o dist]          needs: git, pip, a package index

The wheel is built from the source distribution, as pip does on a machine of a user. Times are those of the commit.
setuptools, of the version in scripts/requirements.lock, writes the current time, the user's name and a
part of the tests into a source distribution, so that archive is packed again.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LOCK = CHECKOUT / "scripts" / "requirements.lock"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, default=CHECKOUT / "dist", help="folder for both files (dist)")
    options = parser.parse_args()
    for path in build(CHECKOUT, options.out):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}")


def build(checkout: Path, out: Path) -> list[Path]:
    """Write both distributions of the last commit of `checkout` into the folder `out`; their paths, the wheel last."""
    out.mkdir(parents=True, exist_ok=True)
    moment = int(_run("git", "-C", str(checkout), "log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        source, packed = Path(folder, "source"), Path(folder, "packed")
        archive = _run("git", "-C", str(checkout), "-c", "tar.umask=0022", "archive", "HEAD")
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(source, filter="tar")
        tools = {"SOURCE_DATE_EPOCH": str(moment), **setuptools(Path(folder, "setuptools"))}
        backend("build_sdist", source, packed, tools)
        (sdist,) = packed.glob("*.tar.gz")
        repack(sdist, out / sdist.name, moment)
        with tarfile.open(out / sdist.name) as tar:
            tar.extractall(packed, filter="tar")
        backend("build_wheel", packed / sdist.name.removesuffix(".tar.gz"), packed, tools)
        (wheel,) = packed.glob("*.whl")
        (out / wheel.name).write_bytes(wheel.read_bytes())
    return [out / sdist.name, out / wheel.name]


def setuptools(folder: Path) -> dict[str, str]:
    """The environment variables under which the locked setuptools is imported: of this Python, or put into `folder`."""
    locked = re.search(r"^setuptools==.*(?:\n .*)*", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert locked is not None
    if f"setuptools=={version('setuptools')} " in locked[0]:
        return {}
    folder.mkdir()
    (folder / "wanted.txt").write_text(locked[0], encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps")
    _run(*pip, "--require-hashes", "--target", str(folder), "--requirement", str(folder / "wanted.txt"))
    return {"PYTHONPATH": str(folder)}


def backend(hook: str, source: Path, out: Path, tools: dict[str, str]) -> None:
    """Call setuptools with `source` as the project; it writes into `out`."""
    out.mkdir(exist_ok=True)
    program = f"import sys; from setuptools import build_meta; build_meta.{hook}(sys.argv[1])"
    _run(sys.executable, "-c", program, str(out), cwd=source, env=os.environ | tools)


def repack(source: Path, target: Path, moment: int) -> None:
    """Write the archive `source` again, without tests: members by name, of nobody, with the time `moment`."""
    with (
        tarfile.open(source) as old,
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, moment) as packed,
        tarfile.open(fileobj=packed, mode="w") as new,
    ):
        members = [member for member in old.getmembers() if member.name.split("/")[1:2] != ["tests"]]
        for member in sorted(members, key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)


def _run(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> bytes:
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, check=False, umask=0o022)
    if done.returncode:
        sys.exit(f"error: {' '.join(words[:4])} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
