"""Every command: where it is and what it does. A command is imported and built when it is asked for, and only it.

Building all of them took longer than the rest of `semsearch --help` together.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer

from semsearch.cli.common import Command, Group

TABLE = {  # name: (module.function, the first line of its help)
    "index": ("indexes.index.index", "Index files, or update an index."),
    "watch": ("indexes.index.watch", "Keep an index in line with its files, until Ctrl-C."),
    "query": ("search.query.query", "Find the passages closest in meaning to TEXT."),
    "similar": ("search.query.similar", "Find what is closest to a passage, a document or a file."),
    "embed": ("encoders.embed.embed", "Print the vectors of texts."),
    "sts": ("encoders.sts.sts", "Compare texts: cosine, and strength against unrelated texts."),
    "list": ("indexes.listing.list_", "The indexes there are."),
    "info": ("indexes.listing.info", "What an index holds, how it was made, what was skipped."),
    "get": ("indexes.listing.get", "Print a passage or a document."),
    "delete": ("indexes.maintenance.delete", "Take documents out of an index; their files stay."),
    "rm": ("indexes.maintenance.rm", "Remove a whole index; the files that were indexed stay."),
    "rename": ("indexes.maintenance.rename", "Give an index another name; all that it holds stays."),
    "compact": ("indexes.maintenance.compact", "Give back the space of what was deleted."),
    "verify": ("indexes.maintenance.verify", "Check an index against its checksums. Exit 5 if anything is off."),
    "dump": ("indexes.maintenance.dump", "Write an index to one file."),
    "restore": ("indexes.maintenance.restore", "Make a new index out of a dump."),
    "audit": ("evaluate.index.audit", "Recall and speed of the vector index against exact search."),
    "eval": ("evaluate.index.eval_", "Measure an index on your own queries and judgements."),
    "doctor": ("doctor.doctor.doctor", "Check this installation. Exit 1 if something is broken."),
    "config": ("encoders.models.config", "Every setting, its value and where that came from."),
    "models": ("encoders.models.models", "The encoders there are."),
    "ui": ("ui.ui", "Search, compare sentences and look at indexes in the browser."),
    "train": ("train.train.train", "Train an encoder on your own text."),
    "export": ("encoders.export.export", "Write MODEL as a folder that ONNX Runtime can run, without Torch."),
    "templates": ("encoders.templates.templates", "Prompt templates: the papers' and your own."),
}
KINDS = {"eval": "evaluate.tasks.Evaluate"}  # commands that are more than one: module.class


class Commands(MutableMapping[str, Any]):
    """Name -> command, built on first use."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build(name)
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)


class Root(Group):
    """`semsearch` itself."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(TABLE)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in TABLE.items()])


def _build(name: str) -> Any:
    """The command called `name`. Raises KeyError where there is none."""
    module, _, function = TABLE[name][0].rpartition(".")
    found = getattr(import_module(f"semsearch.cli.{module}"), function)
    if isinstance(found, typer.Typer):  # a group of its own
        return typer.main.get_command(found)
    kind, _, special = KINDS.get(name, "").rpartition(".")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=getattr(import_module(f"semsearch.cli.{kind}"), special) if kind else Command)(found)
    return typer.main.get_command(alone)
