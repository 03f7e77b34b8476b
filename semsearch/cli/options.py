"""Global options, and the parameters that several commands take.

Nothing here imports numpy, faiss or an encoder: `semsearch --help` and shell completion have to answer at once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from semsearch import settings
from semsearch.errors import UsageError


@dataclass(slots=True)
class Options:
    """The global options. They may stand before the command or after it."""

    home: Path | None = None
    offline: bool = False
    quiet: bool = False
    verbose: bool = False

    def folder(self) -> Path:
        """The folder of indexes that this run uses. Raises UsageError for a file."""
        folder = settings.home(self.home)
        if folder.is_file():
            raise UsageError(f"{folder} is a file, not a folder of indexes.", "Choose another home: --home DIR.")
        return folder


def late(place: str) -> Any:
    """The function of semsearch.cli at `module.function`, which is imported now: most commands need few modules."""
    module, _, function = place.rpartition(".")
    return getattr(import_module(f"semsearch.cli.{module}"), function)


def completer(name: str) -> Callable[[typer.Context, str], list[str]]:
    """The function of that name in `completion`, which is imported when the shell asks."""

    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        names: list[str] = late(f"completion.{name}")(ctx, incomplete)
        return names

    return offered


complete_index, complete_encoder, complete_reranker = completer("index"), completer("encoder"), completer("reranker")
complete_model, complete_template = completer("model"), completer("template")


def value(metavar: str | None, text: str, *names: str, heading: str | None = None, **details: Any) -> Any:
    """An option with a value: `metavar` stands for it in the help `text`, which `--help` shows under the heading.

    By default the parameter names the option, and a value is shown as the words that it may be.
    """
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=heading, **details)


def flag(name: str, text: str, *more: str, heading: str | None = None) -> Any:
    """An option without a value, or `--on/--off`, and its help `text`; `more` are its short names."""
    return typer.Option(*more, name, help=text, rich_help_panel=heading)


ENCODER = "Encoder"  # a heading of `--help`
WHICH_INDEX = "Name or path of the index; optional where only one exists."
PATHS = "Only documents whose path matches this glob, as 'notes/**/*.md': * stops at /, ** does not."
ENCODERS = "a name from `models list`, a folder or hf:owner/name, each also with #TEMPLATE."
RERANKERS = "a name from `models list`, a folder or hf:owner/name."
TEMPLATES = "a name from `templates list`, a TOML file, or a text that contains [X]."
NameOption = Annotated[str | None, value("NAME", WHICH_INDEX, "-n", "--name", autocompletion=complete_index)]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help=WHICH_INDEX, autocompletion=complete_index, show_default=False)
]
ModelOption = Annotated[
    str | None, value("MODEL", f"Encoder: {ENCODERS}", "-m", "--model", autocompletion=complete_encoder)
]
ModelsOption = Annotated[
    list[str] | None,
    value("MODEL", "Encoder, or MODEL#TEMPLATE; repeatable.", "-m", "--model", autocompletion=complete_encoder),
]
TemplateOption = Annotated[
    str | None,
    value("T", f"Prompt template: {TEMPLATES}", "--template", heading=ENCODER, autocompletion=complete_template),
]
DtypeOption = Annotated[
    str | None,
    value("TYPE", "Weights in fp32, bf16 or fp16; decoders in nf4.", "--dtype", heading=ENCODER),
]
LayerOption = Annotated[
    int | None, value("N", "Layer to read: -1 is the last, 0 the embeddings.", "--layer", heading=ENCODER)
]
TrustFlag = Annotated[
    bool, flag("--trust-remote-code", "Run code that comes with the model. It can do anything.", heading=ENCODER)
]
DeviceOption = Annotated[
    str | None, value("D", "auto, cpu, cuda or cuda:N, which has to be there.", "--device", heading=ENCODER)
]
PrecisionOption = Annotated[
    Literal["float32", "float16"], typer.Option(help="Numbers of the vectors in .npy and .parquet.")
]
JsonFlag = Annotated[bool, flag("--json", "Print one JSON object to stdout.")]
YesFlag = Annotated[bool, flag("--yes", "Do not ask for confirmation.", "-y")]


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """The options, besides its name, with which an encoder is loaded."""

    template: TemplateOption = None
    dtype: DtypeOption = None
    layer: LayerOption = None
    device: DeviceOption = None
    trust: TrustFlag = False


def option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with an option for each field of its dataclass parameters, whose instances it receives.

    The fields declare the options, as Annotated parameters do, so that several commands share them. `--help` shows
    those of a class with a HEADING under it.
    """
    groups: dict[str, tuple[type, list[str]]] = {}  # class and field names by parameter
    expanded: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        fields, group = [parameter], parameter.annotation
        if is_dataclass(group) and isinstance(group, type):
            heading = getattr(group, "HEADING", None)
            fields = [_under(heading, each) for each in signature(group, eval_str=True).parameters.values()]
            groups[parameter.name] = group, [field.name for field in fields]
        expanded += [field.replace(kind=Parameter.KEYWORD_ONLY) for field in fields]

    def run(**values: object) -> None:
        for name, (group, fields) in groups.items():
            values[name] = group(**{field: values.pop(field) for field in fields})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__dict__["__signature__"] = Signature(expanded)  # all that typer asks for, several times
    run.__annotations__ = {}
    return run


def _under(heading: str | None, field: Parameter) -> Parameter:
    """The parameter with its option under a heading of `--help`."""
    if heading is None:
        return field
    base, declared = get_args(field.annotation)
    declared = copy(declared)
    declared.rich_help_panel = heading
    return field.replace(annotation=Annotated[base, declared])
