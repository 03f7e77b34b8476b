"""Files of Debian's packages, read without installing them: texts in many languages."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semsearch-debian"


def package(name: str) -> Path:
    """The package file of `name`, downloaded into the user's cache with apt-get. Exits where that fails."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (files := sorted(CACHE.glob(f"{name}_*.deb"))):
        print(f"downloading {name} …", file=sys.stderr, flush=True)
        done = subprocess.run(["apt-get", "download", "-qq", name], cwd=CACHE, check=False)
        files = sorted(CACHE.glob(f"{name}_*.deb"))
        if done.returncode or not files:
            sys.exit(f"error: apt-get could not download {name}. Run apt-get update first, on Debian.")
    return files[-1]


def contents(name: str) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the files of a package, gunzipped; links are left out."""
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package(name)], stdout=subprocess.PIPE) as archive,
        tarfile.open(fileobj=archive.stdout, mode="r|") as files,
    ):
        for entry in files:
            if entry.isfile() and (content := files.extractfile(entry)) is not None:
                data = content.read()
                zipped = entry.name.endswith(".gz")
                yield entry.name.lstrip("./").removesuffix(".gz"), gzip.decompress(data) if zipped else data
