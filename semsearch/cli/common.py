"""What the commands share: global options, the choice of an index, the flags that several of them take.

Nothing here or in its neighbours imports numpy, faiss or an encoder at the top: `semsearch --help` and shell
completion have to answer at once.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from semsearch import settings
from semsearch.cli.output import text
from semsearch.cli.parameter_types import lightened
from semsearch.errors import NotFound, SemsearchError, UnknownName, UsageError

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.index import Index

EVERYWHERE = ("home", "offline", "quiet", "verbose")  # global options that may also follow the command


@dataclass(slots=True)
class Options:
    """The global options. They are given before the command or after it."""

    home: Path | None = None
    offline: bool = False
    quiet: bool = False
    verbose: bool = False

    def folder(self) -> Path:
        """The home of indexes that holds for this run."""
        return settings.home(self.home)


class Group(TyperGroup):
    """The commands together."""

    def get_params(self, ctx: Any) -> Any:
        return lightened(super().get_params(ctx))


class Command(TyperCommand):
    """A command that takes the global options too, so that `semsearch index -v` is not an error."""

    def get_params(self, ctx: Any) -> Any:
        mine = super().get_params(ctx)
        for param in ctx.find_root().command.params:
            if param.name in EVERYWHERE:
                hidden = copy.copy(param)
                hidden.hidden = True
                mine = [*mine, hidden]
        return lightened(mine)

    def invoke(self, ctx: Any) -> Any:
        for name in EVERYWHERE:
            value = ctx.params.pop(name, None)
            if value:
                setattr(ctx.obj, name, Path(value) if name == "home" else value)
        if ctx.obj.quiet:
            os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
        if ctx.obj.offline:
            os.environ["SEMSEARCH_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
        with _warnings(ctx.obj):
            return super().invoke(ctx)


@contextmanager
def _warnings(options: Options) -> Iterator[None]:
    """What the library has to say, as every other warning; nothing under -q."""
    import logging

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not options.quiet:
                text.warn([record.getMessage()])

    told, log = Told(logging.WARNING), logging.getLogger("semsearch")
    log.addHandler(told)
    try:
        yield
    finally:
        log.removeHandler(told)


def complete_index(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of the indexes, for shell completion."""
    home = ctx.find_root().params.get("home")
    return [name for name in settings.names(Path(home) if home else None) if name.startswith(incomplete)]


NameOption = Annotated[
    str | None,
    typer.Option("-n", "--name", metavar="NAME", help="The index; may be left out where only one exists.",
                 autocompletion=complete_index),
]  # fmt: skip
NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="The index; may be left out where only one exists.",
                   autocompletion=complete_index, show_default=False),
]  # fmt: skip
ModelOption = Annotated[
    str | None,
    typer.Option("-m", "--model", metavar="MODEL",
                 help="Encoder: a name of `models list`, a folder, or hf:owner/name; MODEL#TEMPLATE too."),
]  # fmt: skip
TemplateOption = Annotated[
    str | None,
    typer.Option("--template", metavar="T", help="How the model is read: a name of `templates list`, a TOML file, or a "
                 "text with [X]."),
]  # fmt: skip
DtypeOption = Annotated[
    str | None,
    typer.Option("--dtype", metavar="TYPE", help="Numbers of the model: fp32, bf16, fp16; nf4 for decoders."),
]
LayerOption = Annotated[
    int | None, typer.Option("--layer", metavar="N", help="The layer that is read: -1 the last, 0 the embeddings.")
]
TrustFlag = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the code that comes with the model. It can do anything.")
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", metavar="D", help="auto, cpu, cuda or cuda:N; an absent device is an error.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
YesFlag = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]


def pick(options: Options, *given: str | None) -> str:
    """The one index that is meant: the name given as argument or by -n, else the only one there is.

    Raises UsageError where two names disagree or none is given and there are several, NotFound where there is
    no index at all.
    """
    wanted = {name for name in given if name is not None}  # an empty -n "$NAME" must not mean another index
    if len(wanted) > 1:
        raise UsageError(f"two indexes were named: {' and '.join(sorted(wanted))}.", "Name one.")
    if wanted:
        return wanted.pop()
    known = settings.names(options.folder())
    if not known:
        raise NotFound(f"there is no index in {options.folder()} yet.", "Make one: semsearch index FOLDER")
    if len(known) > 1:
        raise UsageError("which index? There are several.", f"Say -n with one of: {', '.join(known)}.")
    return known[0]


def existing(options: Options, name: str) -> Path:
    """The folder of the index called `name`. Raises NotFound with the nearest name that exists."""
    folder = settings.index_folder(name, options.folder())
    if (folder / settings.STORE_FILE).is_file():
        return folder
    known = settings.names(options.folder())
    if not known or folder.parent != options.folder():
        raise NotFound(f"{folder} is not an index.", f"Make one: semsearch index FOLDER -n {name}")
    raise NotFound(f"{folder} is not an index.", UnknownName("index", name, known).fix)


def opened(options: Options, name: str, *, trust: bool = False) -> Index:
    """The index called `name`, for reading. Its encoder is loaded by the first call that needs it."""
    folder = existing(options, name)
    from semsearch.index import Index

    encoder = trusted(remembered(folder)) if trust else None
    return Index.open(name, home=options.folder(), encoder=encoder)


def remembered(folder: Path) -> str:
    """The encoder that the index in `folder` was built with."""
    from semsearch.index import Index

    with Index.open(folder) as index:
        return str(index.info()["recipe"].get("encoder", "default"))


def trusted(model: str) -> Encoder:
    """An encoder whose own code may run, with the embedding cache."""
    from semsearch.encoders.encoder import Encoder

    return Encoder.from_settings(model, trust_remote_code=True)


def loaded(
    options: Options,
    model: str | None,
    device: str | None = None,
    *,
    template: str | None = None,
    dtype: str | None = None,
    layer: int | None = None,
    trust: bool = False,
) -> Encoder:
    """The encoder that flags and settings ask for. Without the embedding cache, which rounds what it keeps."""
    chosen = settings.load({"model": model, "device": device, "home": options.home})
    from semsearch.encoders.encoder import Encoder

    return Encoder.load(
        chosen.model,
        device=chosen.device,
        threads=chosen.threads,
        template=template,
        dtype=dtype,
        layer=layer,
        trust_remote_code=trust,
    )


def end_with(failure: SemsearchError) -> NoReturn:
    """Say on stderr what failed, behind all that stdout was told, and end the command with its exit code."""
    sys.stdout.flush()
    text.trouble(failure)
    raise typer.Exit(failure.exit_code)


def use_device(device: str | None) -> None:
    """Make `device` the setting of this process and of those it starts."""
    if device:
        os.environ["SEMSEARCH_DEVICE"] = settings.load({"device": device}).device


def confirm(question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere -y has to say it. A no ends the command with exit 1."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is here to ask.", "Say -y to do it.")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def existing_paths(paths: Sequence[str]) -> list[Path]:
    """Each as a path that is there. Raises NotFound for the first that is not."""
    for path in paths:
        if not Path(path).exists():
            raise NotFound(f"{path} does not exist.", "Check the spelling, or the folder you are in.")
    return [Path(path) for path in paths]
