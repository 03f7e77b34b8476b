"""The table of commands, the group that imports a command when it is called, and the base classes of commands.

Summaries stand here as well as in the commands' docstrings (a test compares them): `semsearch --help` prints all of
them, and importing every command for that took longer than the rest of it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.utils import get_params_from_function

from semsearch.cli.output import console

OPTIONAL = {"--rerank": "default"}  # options whose value may be left out, and the value that they then have
GLOBAL = ("home", "offline", "quiet", "verbose")  # global options that may also follow the command
TABLE = {  # name: (module.function, or module.group, the first line of its help)
    "index": ("indexes.index_command.index", "Index files, or update an index."),
    "watch": ("indexes.index_command.watch", "Update an index whenever its files change, until Ctrl-C or SIGTERM."),
    "query": ("query_command.query", "Find the passages closest in meaning to TEXT."),
    "similar": ("query_command.similar", "Find what is closest to a passage, a document or a file."),
    "cluster": ("groups.cluster_command.cluster", "Group the documents of an index by what they are about."),
    "dedup": ("groups.dedup_command.dedup", "Find documents that repeat others, and what to keep."),
    "label": ("groups.label_command.label", "Label documents or texts, as in examples."),
    "embed": ("encoders.embed.embed", "Print the vectors of texts."),
    "sts": ("evaluate.sts_command.sts", "Compare texts: cosine, and strength against unrelated texts."),
    "sql": ("sql_command.sql", "Answer a SELECT over the documents, passages and metadata of an index."),
    "list": ("indexes.listing.list_", "List indexes."),
    "info": ("indexes.listing.info", "Show what an index contains, how it was built and what was skipped."),
    "get": ("indexes.listing.get", "Print a passage or a document."),
    "delete": ("indexes.maintenance.delete", "Delete documents from an index; the files remain."),
    "rm": ("indexes.maintenance.rm", "Remove a whole index, on its server too; the indexed files remain."),
    "rename": ("indexes.maintenance.rename", "Rename an index."),
    "compact": ("indexes.maintenance.compact", "Free the disk space of deleted documents."),
    "reembed": (
        "indexes.reembed_command.reembed",
        "Encode an index again, in place, with another encoder.",
    ),
    "verify": ("indexes.maintenance.verify", "Check an index against its checksums. Exit 5 if it has a problem."),
    "salvage": (
        "indexes.maintenance.salvage",
        "Copy what is sound of a damaged index into a new one. Exit 5 if anything is lost.",
    ),
    "dump": ("indexes.maintenance.dump", "Write an index to one file."),
    "restore": ("indexes.maintenance.restore", "Create an index from a dump."),
    "trust": ("indexes.maintenance.trust", "Follow the folders of a restored index, and allow its encoder's download."),
    "bench": ("evaluate.bench.bench", "Race the engines of an encoder, and the vector indexes, on this machine."),
    "audit": ("evaluate.audit.audit", "Measure recall and speed of the vector index against exact search."),
    "eval": ("evaluate.index_measures.eval_", "Measure an index on your own queries and relevance judgements."),
    "doctor": ("doctor.doctor.doctor", "Check this installation. Exit 1 if something is broken."),
    "config": ("config_command.config", "Show every setting, its value and its origin."),
    "models": ("encoders.models_command.models", "List, inspect, download and remove encoders and rerankers."),
    "ui": ("ui_command.ui", "Open the browser pages: search, compare sentences, inspect indexes."),
    "serve": ("serve_command.serve", "Answer HTTP requests: search, write documents, encode and compare texts."),
    "mcp": ("mcp_command.mcp", "Let assistants search your indexes, by the Model Context Protocol (MCP)."),
    "train": ("train.train_command.train", "Train an encoder on your own text."),
    "export": ("encoders.export_command.export", "Export MODEL for ONNX Runtime, which needs no PyTorch."),
    "templates": ("encoders.templates_command.templates", "List, inspect, check and search prompt templates."),
}
EVAL = {  # what may follow `eval`, as above
    "own": ("evaluate.own_command.own", "Measure an index with sentences of its own, without judgements."),
    "judged": ("evaluate.judged_command.judged", "Measure an index with the hits that you marked on the page Search."),
    "transfer": ("evaluate.transfer_command.transfer", "Measure encoders on SentEval's classification tasks."),
    "retrieval": ("evaluate.retrieval_command.retrieval", "Measure encoders on a retrieval collection in BEIR format."),
    "geometry": ("evaluate.geometry_command.geometry", "Measure the embedding space of an encoder or of an index."),
    "grid": ("evaluate.layer_commands.grid", "Score every layer of a model under every pooling (SG-OPT, figure 1)."),
    "tokens": ("evaluate.layer_commands.tokens", "Show how much each token contributes to a sentence's vector."),
    "table": ("evaluate.table_command.table", "Make Markdown tables from the runs that --report wrote."),
}


def with_values(args: Sequence[str]) -> Iterator[str]:
    """The arguments with the value of each option of OPTIONAL that has none: it is last, or an option follows.

    >>> list(with_values(["kettle", "--rerank", "-k", "3"]))
    ['kettle', '--rerank=default', '-k', '3']
    """
    plain = False
    for at, argument in enumerate(args):
        plain = plain or argument == "--"
        alone = args[at + 1 : at + 2] == [] or args[at + 1].startswith("-")
        yield f"{argument}={OPTIONAL[argument]}" if argument in OPTIONAL and alone and not plain else argument


class Root(TyperGroup):
    """`semsearch` itself."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        names: Any = dict.fromkeys(TABLE)
        self.commands = names  # what a misspelt name is compared with

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return build(cmd_name, TABLE) if cmd_name in TABLE else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in TABLE.items()])


class Command(TyperCommand):
    """A command that takes the global options too, and prints the library's warnings to stderr."""

    def get_params(self, ctx: Any) -> Any:
        own = super().get_params(ctx)
        for param in ctx.find_root().command.params:
            if param.name in GLOBAL:
                hidden = copy.copy(param)
                hidden.hidden = True
                own = [*own, hidden]
        return own

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options whose value is left out get it here, as typer has none of that kind."""
        return super().parse_args(ctx, list(with_values(args)))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Typer declares the help of an argument before click, from 8.5 on, sets it to None."""
        registered: Any = getattr(self.callback, "__wrapped__", self.callback)
        declared = get_params_from_function(registered)
        for param in self.params:
            known = declared.get(param.name or "")
            if known is not None and getattr(param, "help", "") is None:
                param.help = known.default.help
        super().format_options(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        import logging  # --help does without

        for name in GLOBAL:
            if value := ctx.params.pop(name, None):
                setattr(ctx.obj, name, Path(value) if name == "home" else value)
        if ctx.obj.quiet:
            os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
        if ctx.obj.offline:
            os.environ["SEMSEARCH_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
        log = logging.getLogger("semsearch")
        handler = logging.Handler(logging.CRITICAL + 1 if ctx.obj.quiet else logging.WARNING)
        handler.emit = lambda record: console.warn([record.getMessage()])  # type: ignore[method-assign]
        log.addHandler(handler)
        try:
            return super().invoke(ctx)
        finally:
            log.removeHandler(handler)


class EvalCommand(Command):
    """`eval`: the command of a task if the first word names one, else the measures of an index."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if args and args[0] in EVAL:
            return build(args[0], EVAL).make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Other measurements"):
            formatter.write_dl([(f"eval {name}", summary) for name, (_, summary) in EVAL.items()])


def build(name: str, table: Mapping[str, tuple[str, str]]) -> Any:
    """The command or the group of commands called `name`."""
    module, _, function = table[name][0].rpartition(".")
    found = getattr(import_module(f"semsearch.cli.{module}"), function)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=EvalCommand if name == "eval" else Command)(found)
    return typer.main.get_command(alone)
