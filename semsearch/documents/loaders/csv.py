"""CSV with a header row: one row is one document. The delimiter is the most frequent of , ; tab | in the header."""

from __future__ import annotations

from functools import partial

from semsearch.documents.parsing import table

RECORDS = True
ISOLATED = False
load = partial(table.read, delimiters=",;\t|")
read_from = partial(table.read_from, delimiters=",;\t|")
