"""The indexes of a table brought up to date, and its small files written together; readers and writers go on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from semsearch.errors import Locked
from semsearch.stores.lance.client import Dataset, is_conflict
from semsearch.stores.lance.space_vectors import SpaceVectors
from semsearch.stores.lance.table import FULL_TEXT, Table, vector_column
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild

SCALARS: dict[str, Literal["BTREE", "BITMAP", "LABEL_LIST"]] = {
    "key": "BTREE", "id": "BTREE", "document": "BTREE", "source": "BTREE", "path": "BTREE", "mtime": "BTREE",
    "kind": "BITMAP", "facts": "LABEL_LIST", "spaces": "LABEL_LIST",
}  # fmt: skip
WORDS = ("words", "grams")
SCALARS_FROM = 2_000  # rows: below, reading them all is as fast
MANY_NEW = 10_000  # rows that are newer than the indexes, from which on these follow in the middle of a run
LATE_SHARE = 0.02  # of the rows, up to which vectors that are newer than their index wait for it
MOST_PARTS = 8  # of an index, before they are merged
MOST_FRAGMENTS = 64  # files of rows, from which on they are written together
KEPT = timedelta(hours=1)  # that an older version is kept for the searches that read it


def create_word_indexes(dataset: Dataset) -> None:
    """The full-text indexes of a new table: searches take from them how texts are cut."""
    for column in WORDS:
        dataset.create_scalar_index(column, "INVERTED", **FULL_TEXT)


def update_indexes(table: Table, space: int, backend: str, when: Rebuild) -> None:
    """Let the indexes follow the rows, where that is due. Raises NotFound, UnknownName."""
    here = SpaceVectors(table, space)
    newer = int(table.now.stats.index_stats("words_idx")["num_unindexed_rows"])
    if when == "doubled" and newer < max(MANY_NEW, table.now.count_rows() - newer):
        return  # but after "grown" hundreds of questions follow, each of which would read all newer rows
    if newer:
        _optimize(table, table.handle(), merge=False)
    here.update_index(backend, when)


def compact(table: Table, progress: Callable[[Progress], None]) -> None:
    """Raises Locked where writers are always faster."""
    steps: dict[str, Callable[[], object]] = {
        "files": lambda: _together(table),
        "indexes": lambda: _optimize(table, table.handle(), merge=True),
        "columns": lambda: _drop_columns(table),
        "old versions": lambda: table.handle().cleanup_old_versions(older_than=KEPT),
    }
    for at, (name, step) in enumerate(steps.items()):
        progress(Progress(at, len(steps), "steps", name))
        step()


def _together(table: Table) -> None:
    try:
        table.handle().optimize.compact_files()
    except (OSError, RuntimeError, ValueError) as error:
        if is_conflict(error):
            raise Locked(f"{table.title}: others wrote to it meanwhile.", "Compact it again later.") from error
        raise


def _optimize(table: Table, dataset: Dataset, *, merge: bool) -> None:
    """Let the indexes have the new rows: small ones beside those that are there, or all merged into one."""
    there = {one.name for one in dataset.describe_indices()}
    if dataset.count_rows() >= SCALARS_FROM:
        for column, kind in SCALARS.items():
            if f"{column}_idx" not in there:
                dataset.create_scalar_index(column, kind)
    if len(dataset.get_fragments()) > MOST_FRAGMENTS:
        _together(table)
        dataset = table.handle()
    for one in dataset.describe_indices():
        stats = dataset.stats.index_stats(one.name)
        newer, parts = int(stats["num_unindexed_rows"]), int(stats["num_indices"])
        if not newer and not (merge and parts > 1):
            continue
        if one.name.startswith("vector_") and not merge and newer < max(MANY_NEW, LATE_SHARE * dataset.count_rows()):
            continue  # they are compared one by one
        together = merge or parts > MOST_PARTS or one.name.removesuffix("_idx") in SCALARS
        dataset.optimize.optimize_indices(index_names=[one.name], num_indices_to_merge=parts if together else 0)


def _drop_columns(table: Table) -> None:
    """Remove the vectors of spaces that were removed."""
    spaces = {vector_column(number) for number in table.column("number", "kind = 'space'").tolist()}
    dataset = table.handle()
    if gone := [name for name in dataset.schema.names if name.startswith("vector_") and name not in spaces]:
        dataset.drop_columns(gone)
