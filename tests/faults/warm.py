"""Loads what a command line needs, by running some: imported by the server that forks processes, and by nobody else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import child  # noqa: F401
import commands  # noqa: F401
import encoding  # noqa: F401
import faiss  # noqa: F401
import filelock  # noqa: F401
import histories  # noqa: F401
import sqlite_utils  # noqa: F401
import writers  # noqa: F401
from helpers import null_distributions

import semsearch.vector_index.backends.flat  # noqa: F401  not used here: FAISS hangs in a fork once it has computed
from semsearch.cli.main import main
from semsearch.stores import null_queries

null_queries.questions = null_distributions.few  # most moments of a short command would be spent on them

with tempfile.TemporaryDirectory() as scratch:
    Path(scratch, "note.txt").write_text("A kettle boils.")
    home = {"SEMSEARCH_HOME": f"{scratch}/home", "XDG_CACHE_HOME": f"{scratch}/cache", "XDG_CONFIG_HOME": scratch}
    with patch.dict(os.environ, home):
        for line in (
            f"index {scratch}/note.txt -n one -m hashing --backend-type exact --quiet",
            "verify one --quiet",
            "compact one --quiet",
            f"dump one -o {scratch}/dump --quiet",
            f"restore {scratch}/dump -n two --quiet",
            "delete two --id note.txt --quiet",
        ):
            assert main(line.split()) == 0, line
