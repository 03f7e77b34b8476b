"""Tab-separated values with a header row: one row is one document."""

from __future__ import annotations

from functools import partial

from semsearch.documents.parsing import table

RECORDS = True
ISOLATED = False
load = partial(table.read, delimiters="\t")
read_from = partial(table.read_from, delimiters="\t")
same_before = partial(table.same_before, delimiters="\t")
