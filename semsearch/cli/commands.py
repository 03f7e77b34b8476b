"""The table of commands, the groups that import a command when it is called, and the base class of commands.

Summaries stand here as well as in the commands' docstrings (a test compares them): `semsearch --help` prints all of
them, and importing every command for that took longer than the rest of it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from semsearch.cli.options import late, option_groups
from semsearch.cli.output import console

if TYPE_CHECKING:  # Typer brings a click of its own
    from click import Command as ClickCommand
    from click import Context, HelpFormatter, Parameter

Table: TypeAlias = Mapping[str, tuple["str | Table", str]]  # name: (module.function or a group, first line of help)

OPTIONAL = {"--rerank": "default"}  # options whose value may be left out, and the value that they then have
WIDEST = 24  # columns of a help page that names of options have; longer ones have lines of their own
MOST_TOGETHER = 16  # arguments and options that need no headings
GLOBAL = ("home", "offline", "quiet", "verbose")  # global options that may also follow the command
MODELS: Table = {
    "list": (
        "encoders.models_command.models_list",
        "List the encoders and rerankers of the catalogue, which of them are here, and your own.",
    ),
    "info": (
        "encoders.models_command.models_info",
        "Load an encoder or a reranker and show its dimensions, precision and actual device.",
    ),
    "pull": (
        "encoders.models_command.models_pull",
        "Download an encoder or a reranker from the hub, or update one that is on this machine.",
    ),
    "rm": (
        "encoders.models_command.models_rm",
        "Remove a hub model from this machine. Other programs may share it.",
    ),
}
TEMPLATES: Table = {
    "list": (
        "encoders.templates_command.list_",
        "List the templates of the papers: name, method, kinds of model and text.",
    ),
    "show": (
        "encoders.templates_command.show_",
        "Show a template in full; with -m also a sentence in it as tokens, and its cost.",
    ),
    "lint": ("encoders.templates_command.lint", "Check templates for mistakes. Exit 5 if one has an error."),
    "search": ("encoders.template_search.search", "Find the template under which a model ranks sentence pairs best."),
}
HEADINGS: Mapping[str, Table] = {  # of `semsearch --help`
    "First steps": {
        "index": ("indexes.index_command.index", "Index files, or update an index."),
        "query": ("searching.query_command.query", "Find the passages closest in meaning to TEXT."),
        "ui": ("serving.ui_command.ui", "Open the browser pages: search, compare, inspect indexes."),
        "similar": ("searching.query_command.similar", "Find what is closest to a passage, a document or a file."),
        "list": ("indexes.listing.list_", "List indexes."),
        "info": ("indexes.listing.info", "Show what an index contains and how it was built."),
    },
    "Work on an index": {
        "watch": ("indexes.index_command.watch", "Update an index whenever its files change."),
        "get": ("indexes.listing.get", "Print a passage or a document."),
        "delete": ("indexes.maintenance.delete", "Delete documents from an index; the files remain."),
        "sql": ("searching.sql_command.sql", "Answer a SELECT over documents, passages and metadata."),
        "cluster": ("searching.cluster_command.cluster", "Group the documents of an index by what they are about."),
        "dedup": ("searching.dedup_command.dedup", "Find documents that repeat others, and what to keep."),
        "label": ("searching.label_command.label", "Label documents or texts, as in examples."),
        "reembed": ("indexes.reembed_command.reembed", "Encode an index again, in place, with another encoder."),
        "rename": ("indexes.maintenance.rename", "Rename an index."),
        "rm": ("indexes.maintenance.rm", "Remove a whole index; the indexed files remain."),
        "compact": ("indexes.maintenance.compact", "Free the disk space of deleted documents."),
        "verify": ("indexes.maintenance.verify", "Check an index against its checksums."),
        "salvage": ("indexes.maintenance.salvage", "Copy what is sound of a damaged index into a new one."),
        "dump": ("indexes.maintenance.dump", "Write an index to one file."),
        "restore": ("indexes.maintenance.restore", "Create an index from a dump."),
        "trust": ("indexes.maintenance.trust", "Trust a restored index: follow its folders, load its encoder."),
    },
    "Compare and measure": {
        "sts": ("evaluate.sts_command.sts", "Compare texts: cosine, and strength against unrelated texts."),
        "embed": ("encoders.embed_command.embed", "Print the vectors of texts."),
        "eval": ("evaluate.eval_command.eval_", "Measure an index on your queries and relevance judgements."),
        "audit": ("evaluate.audit_command.audit", "Compare the vector index with exact search: recall, speed."),
        "bench": ("evaluate.bench_command.bench", "Race encoder engines and vector indexes on this machine."),
    },
    "Train": {
        "adapt": (
            "train.adapt_command.adapt",
            "Train the encoder of an index on its documents, if that helps.",
        ),
        "train": ("train.train_command.train", "Train an encoder on your own text."),
        "export": ("encoders.export_command.export", "Export MODEL for ONNX Runtime, which needs no PyTorch."),
        "templates": (TEMPLATES, "List, inspect, check and search prompt templates."),
    },
    "Serve": {
        "serve": ("serving.serve_command.serve", "Answer HTTP requests: search, write, encode, compare."),
        "mcp": ("serving.mcp_command.mcp", "Let assistants search your indexes (Model Context Protocol)."),
    },
    "Look after": {
        "models": (MODELS, "List, inspect, download and remove encoders and rerankers."),
        "doctor": ("doctor.doctor_command.doctor", "Check this installation. Exit 1 if something is broken."),
        "config": ("doctor.config_command.config", "Show every setting, its value and its origin."),
    },
}
TABLE: Table = {name: entry for table in HEADINGS.values() for name, entry in table.items()}
EVAL: Table = {  # what may follow `eval`
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


class Group(TyperGroup):
    """Commands of a table, each of which is imported when it is called."""

    table: Table = MappingProxyType({})

    def __init__(self, *, table: Table | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.table = self.table if table is None else table
        names: Any = dict.fromkeys(self.table)
        self.commands = names  # what a misspelt name is compared with

    def get_command(self, ctx: Context, cmd_name: str) -> ClickCommand | None:
        return build(cmd_name, self.table) if cmd_name in self.table else None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        write_section(formatter, "Commands", ((name, summary) for name, (_, summary) in self.table.items()))


class Root(Group):
    """`semsearch` itself."""

    table = TABLE

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        width = max(map(len, TABLE))  # one column over all headings
        for heading, table in HEADINGS.items():
            rows = ((name.ljust(width), summary) for name, (_, summary) in table.items())
            write_section(formatter, heading, rows)


class Command(TyperCommand):
    """A command that takes the global options too, and prints the library's warnings to stderr."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        own = super().get_params(ctx)
        for param in ctx.find_root().command.params:
            if isinstance(param, TyperOption) and param.name in GLOBAL:
                hidden = copy.copy(param)
                hidden.hidden = True
                own = [*own, hidden]
        return own

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Options whose value is left out get it here, as typer has none of that kind."""
        return super().parse_args(ctx, list(with_values(args)))

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The options, under headings where there are more than a few.

        Typer declares the help of an argument before click, from 8.5 on, sets it to None.
        """
        declared = signature(self.callback).parameters if self.callback else {}
        sections: dict[str, list[tuple[str, str]]] = {}
        params = self.get_params(ctx)
        few = len(params) - len(GLOBAL) <= MOST_TOGETHER
        for param in params:
            if param.param_type_name == "argument" and not param.help:
                param.help = declared[param.name].annotation.__metadata__[0].help
            heading = (not few and getattr(param, "rich_help_panel", None)) or f"{param.param_type_name.title()}s"
            if record := param.get_help_record(ctx):
                sections.setdefault(heading, []).append(record)
        width = min(WIDEST, max(len(name) for rows in sections.values() for name, _ in rows))  # one over all sections
        for heading, rows in sections.items():
            write_section(formatter, heading, ((name.ljust(width), text) for name, text in rows))

    def invoke(self, ctx: Context) -> object:
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

    def make_context(
        self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any
    ) -> Context:
        if args and args[0] in EVAL:
            return build(args[0], EVAL).make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        rows = ((f"eval {name}", summary) for name, (_, summary) in EVAL.items())
        write_section(formatter, "Other measurements", rows)


def write_section(formatter: HelpFormatter, heading: str, rows: Iterable[tuple[str, str]]) -> None:
    """Two columns of a help page under a heading."""
    with formatter.section(heading):
        formatter.write_dl(list(rows), col_max=WIDEST)


def build(name: str, table: Table) -> ClickCommand:
    """The command or the group of commands called `name`."""
    place, summary = table[name]
    if not isinstance(place, str):
        return Group(name=name, table=place, help=summary, no_args_is_help=False, rich_markup_mode=None)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    registered = alone.command(name, cls=EvalCommand if name == "eval" else Command)
    registered(option_groups(late(place)))
    return typer.main.get_command(alone)
