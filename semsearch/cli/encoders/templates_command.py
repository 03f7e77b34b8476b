"""`templates`: list, inspect, check and search prompt templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Literal

import typer

from semsearch.cli.encoders.template_search import shorten
from semsearch.cli.options import JsonFlag, ModelOption, TrustFlag, complete_template, value
from semsearch.cli.output import console
from semsearch.errors import GateFailed, UnknownName
from semsearch.evaluation import templates
from semsearch.models import methods
from semsearch.prompts import library, linter
from semsearch.prompts.library import Template
from semsearch.prompts.linter import Finding
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

SENTENCE = "A man is playing a guitar."
WHICH = "A name from `templates list`, a TOML file (FILE:NAME for one of several), or a text that contains [X]."


def list_(
    ctx: typer.Context,
    kind: Annotated[
        Literal["bert", "roberta", "causal"] | None, typer.Option(help="Only templates for this kind of model.")
    ] = None,
    method: Annotated[str | None, value("M", "Only templates of this method.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the templates of the papers: name, method, kinds of model and text."""
    library_templates = library.templates().values()
    if method is not None and method not in (methods := {one.method for one in library_templates}):
        raise UnknownName("method with templates", method, methods)
    fitting = [one for one in library_templates if kind is None or {kind, "any"} & set(one.kinds)]
    listed = [one for one in fitting if method in (None, one.method)]
    rows = [[one.name, shorten(_method(one)), " ".join(one.kinds), shorten(one.text["passage"])] for one in listed]
    heads = ("name", "method", "models", "text")
    shown = {"templates": [one.as_dict() for one in listed]}
    console.result(shown, lambda: console.table(rows, heads), as_json=as_json)


def show_(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="NAME|FILE|TEXT", help=WHICH, autocompletion=complete_template)],
    model: ModelOption = None,
    sentence: Annotated[str, value("TEXT", "Sentence to insert.")] = SENTENCE,
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a template in full; with -m also a sentence in it as tokens, and its cost."""
    tokenizer, kind = templates.check.tokenizer_of(model, trust) if model else (None, "")
    template = library.resolve(which, causal=kind == "causal")
    described, sample = template.as_dict(), templates.check.sample(template, sentence, tokenizer)
    methods.check_name(template.method)
    shown = {key: content for key, content in described.items() if content} | {"example": sample["text"]}
    if tokenizer is not None:
        tokens = ((each["token"], each["part"]) for each in sample["tokens"])
        shown["tokens"] = " ".join(token if part == "sentence" else f"[{token}]" for token, part in tokens)
        cost = f"{sample['cost']} of {sample['max_tokens']} tokens (in brackets)"
        shown["cost"] = f"{cost}; {sample['left']} remain for the sentence"
    console.result({"template": {**described, "sample": sample}}, shown, as_json=as_json)


def lint(
    ctx: typer.Context,
    which: Annotated[list[str], typer.Argument(metavar="TEXT|FILE|NAME…", help=WHICH)],
    model: ModelOption = None,
    method: Annotated[str, value("M", "Check it for this method.")] = "",
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Check templates for mistakes. Exit 5 if one has an error.

    Missing or repeated slots, unsuitable masks, full stops, quotes and spaces; with -m also the cost in tokens, and
    whether the template suits the model.
    """
    tokenizer, kind = None, ""
    if model:
        tokenizer, kind = templates.check.tokenizer_of(model, trust)
    named = [one for each in which for one in library.resolve_all(each, causal=kind == "causal")]
    checked = [replace(one, method=methods.check_name(method or one.method)) for one in named]
    linted = [(one, linter.lint(one, kind=kind, tokenizer=tokenizer, check_options=methods.make)) for one in checked]
    faulty = sum(any(finding.severity == "error" for finding in findings) for _, findings in linted)
    message = f"{count(faulty, 'template')} {'has' if faulty == 1 else 'have'} an error (see above)."
    failed = GateFailed(message) if faulty else None
    shown = {"templates": [_linted(one, findings) for one, findings in linted], "faulty": faulty}
    console.result(shown, lambda: _print(linted), as_json=as_json, failed=failed)


def _linted(template: Template, findings: Sequence[Finding]) -> JsonObject:
    described = template.as_dict()
    return {key: described[key] for key in ("name", "text", "method")} | {
        "findings": [asdict(each) for each in findings]
    }


def _print(linted: Sequence[tuple[Template, Sequence[Finding]]]) -> None:
    for template, findings in linted:
        console.out(console.safe(template.name or template.text["passage"]))
        for line in [f"{each.severity}: {each.message} {each.fix}".rstrip() for each in findings] or ["ok"]:
            console.out(f"  {console.safe(line)}")


def _method(template: Template) -> str:
    """The method of a template, with its options."""
    options = ",".join(f"{key}={value}" for key, value in template.options.items())
    return f"{template.method} {options}".rstrip()
