"""CSV with a header row: one row is one document. The delimiter is the one that gives the rows as many cells."""

from __future__ import annotations

from functools import partial

from semsearch.documents.parsing import table

RECORDS = True
ISOLATED = False
load = partial(table.read, delimiters=",;\t|")
read_from = partial(table.read_from, delimiters=",;\t|")
same_before = partial(table.same_before, delimiters=",;\t|")
