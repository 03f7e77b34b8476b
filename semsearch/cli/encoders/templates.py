"""`templates`: the library, what is off with a template, and the search for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch.cli.common import Command, Group, JsonFlag, ModelOption, TrustFlag, end_with
from semsearch.cli.encoders.template_search import search, short, tokenizer_of
from semsearch.cli.output import text
from semsearch.errors import GateFailed, UnknownName

if TYPE_CHECKING:
    from semsearch.prompts.library import Template
    from semsearch.prompts.lint import Finding

SENTENCE = "A man is playing a guitar."
WHICH = "A name of `templates list`, a TOML file (FILE:NAME for one of several), or a text with [X]."
templates = typer.Typer(cls=Group, help="Prompt templates: the papers' and your own.", add_completion=False,
                        rich_markup_mode=None)  # fmt: skip


@templates.command("list", cls=Command)
def list_(
    ctx: typer.Context,
    kind: Annotated[
        Literal["bert", "roberta", "causal"] | None, typer.Option("--kind", help="Only those for such models.")
    ] = None,
    method: Annotated[str | None, typer.Option("--method", metavar="M", help="Only those that it reads.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """The templates of the papers: name, method, kinds of model, text."""
    from semsearch.prompts import library

    known = library.templates().values()
    if method is not None and method not in (methods := {one.method for one in known}):
        raise UnknownName("method with templates", method, methods)
    fitting = [one for one in known if kind is None or {kind, "any"} & set(one.kinds)]
    found = [one for one in fitting if method in (None, one.method)]
    if as_json:
        text.emit({"schema": 1, "templates": [one.as_dict() for one in found]})
        return
    text.table([[one.name, _method(one), " ".join(one.kinds), short(one.text["passage"])] for one in found],
               ("name", "method", "for", "text"))  # fmt: skip


@templates.command("show", cls=Command)
def show_(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="NAME|FILE|TEXT", help=WHICH)],
    model: ModelOption = None,
    sentence: Annotated[str, typer.Option(metavar="TEXT", help="What to put into it.")] = SENTENCE,
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Everything about a template; with -m also its tokens around a sentence, and how many it takes up."""
    from semsearch.evaluation.templates.check import sample as sample_of
    from semsearch.prompts import library

    tokenizer, kind = tokenizer_of(model, trust) if model else (None, "")
    template = library.resolve(which, causal=kind == "causal")
    known = {**template.as_dict(), "sample": sample_of(template, sentence, tokenizer)}
    if as_json:
        text.emit({"schema": 1, "template": known})
        return
    sample = known.pop("sample")
    shown = {key: value for key, value in known.items() if value} | {"becomes": sample["text"]}
    if tokenizer is not None:
        shown["tokens"] = " ".join(_marked(**each) for each in sample["tokens"])
        shown["cost"] = f"{sample['cost']} of {sample['max_tokens']} tokens, in [ ]; {sample['left']} for the sentence"
    text.pairs(shown)


@templates.command("lint", cls=Command)
def lint(
    ctx: typer.Context,
    which: Annotated[list[str], typer.Argument(metavar="TEXT|FILE|NAME…", help=WHICH)],
    model: ModelOption = None,
    method: Annotated[str, typer.Option("--method", metavar="M", help="The method that is to read it.")] = "",
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Find what is likely to spoil a template. Exit 5 where something is an error.

    A missing or doubled slot, masks that do not fit, full stops, quotes, blanks; with -m also how many tokens it
    takes up, and what fits this model.
    """
    from semsearch.prompts import library
    from semsearch.prompts.lint import lint as findings_of

    tokenizer, kind = tokenizer_of(model, trust) if model else (None, "")
    given = [one for each in which for one in library.named(each, causal=kind == "causal")]
    read = [replace(one, method=_known(method)) if method else one for one in given]
    found = [(one, findings_of(one, kind=kind, tokenizer=tokenizer)) for one in read]
    faulty = sum(any(finding.severity == "error" for finding in findings) for _, findings in found)
    if as_json:
        text.emit({"schema": 1, "templates": [_linted(one, findings) for one, findings in found], "faulty": faulty})
    else:
        for one, findings in found:
            _tell(one, findings)
    if faulty:
        end_with(GateFailed(f"{faulty} of {text.count(len(found), 'template')} cannot be used as it is.",
                            "See the lines that begin with error."))  # fmt: skip


templates.command("search", cls=Command)(search)


def _known(method: str) -> str:
    """`method`, once there is one of that name. Raises UnknownName."""
    from semsearch.models import methods
    from semsearch.utils import plugins

    if method and method not in plugins.names(methods):
        raise UnknownName("method", method, plugins.names(methods))
    return method


def _marked(token: str, part: str) -> str:
    """The sentence's own tokens bare, the prompt's in brackets."""
    return token if part == "sentence" else f"[{token}]"


def _linted(template: Template, findings: Sequence[Finding]) -> dict[str, Any]:
    told = template.as_dict()
    return {key: told[key] for key in ("name", "text", "method")} | {"findings": [asdict(each) for each in findings]}


def _tell(template: Template, findings: Sequence[Finding]) -> None:
    text.out(text.safe(template.name or template.text["passage"]))
    if not findings:
        text.out("  ok")
    for finding in findings:
        text.out(f"  {text.safe(f'{finding.severity}: {finding.message} {finding.fix}').rstrip()}")


def _method(template: Template) -> str:
    """The method, with its options."""
    options = ",".join(f"{key}={value}" for key, value in template.options.items())
    return f"{template.method} {options}".rstrip()
