"""`templates`: the library, what is off with a template, and the search for one."""

from __future__ import annotations

import math
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch import settings
from semsearch.cli import show
from semsearch.cli.batch import read_lines, read_pairs
from semsearch.cli.common import (
    Command,
    DeviceOption,
    DtypeOption,
    Group,
    JsonFlag,
    LayerOption,
    ModelOption,
    Options,
    TemplateOption,
    TrustFlag,
    YesFlag,
    end_with,
)
from semsearch.errors import GateFailed, GuardRail, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from semsearch.batching import Tokenizer
    from semsearch.evaluation.sts import Subset
    from semsearch.evaluation.template_search import Candidate, Grid
    from semsearch.prompts.library import Template
    from semsearch.prompts.lint import Finding
    from semsearch.reference import Reference

SENTENCE = "A man is playing a guitar."
WHICH = "A name of `templates list`, a TOML file (FILE:NAME for one of several), or a text with [X]."
PIECES = "a piece, or a file with one a line; repeatable."
WIDEST = 100  # columns of a text in a table
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
        from semsearch.errors import UnknownName

        raise UnknownName("method with templates", method, methods)
    fitting = [one for one in known if kind is None or {kind, "any"} & set(one.kinds)]
    found = [one for one in fitting if method in (None, one.method)]
    if as_json:
        show.emit({"schema": 1, "templates": [one.as_dict() for one in found]})
        return
    show.table([[one.name, _method(one), " ".join(one.kinds), _short(one.text["passage"])] for one in found],
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
    from semsearch.prompts import library
    from semsearch.prompts.lint import family

    tokenizer = _tokenizer(model, trust) if model else None
    template = library.resolve(which, causal=tokenizer is not None and family(tokenizer) == "causal")
    known = {**template.as_dict(), "sample": _sample(template, sentence, tokenizer)}
    if as_json:
        show.emit({"schema": 1, "template": known})
        return
    sample = known.pop("sample")
    shown = {key: value for key, value in known.items() if value} | {"becomes": sample["text"]}
    if tokenizer is not None:
        shown["tokens"] = " ".join(_marked(**each) for each in sample["tokens"])
        shown["cost"] = f"{sample['cost']} of {sample['max_tokens']} tokens, in [ ]; {sample['left']} for the sentence"
    show.pairs(shown)


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
    from semsearch.prompts.lint import family
    from semsearch.prompts.lint import lint as findings_of

    tokenizer = _tokenizer(model, trust) if model else None
    kind = family(tokenizer) if tokenizer else ""
    given = [one for each in which for one in library.named(each, causal=kind == "causal")]
    read = [replace(one, method=_known(method)) if method else one for one in given]
    found = [(one, findings_of(one, kind=kind, tokenizer=tokenizer)) for one in read]
    faulty = sum(any(finding.severity == "error" for finding in findings) for _, findings in found)
    if as_json:
        show.emit({"schema": 1, "templates": [_linted(one, findings) for one, findings in found], "faulty": faulty})
    else:
        for one, findings in found:
            _tell(one, findings)
    if faulty:
        end_with(GateFailed(f"{faulty} of {show.count(len(found), 'template')} cannot be used as it is.",
                            "See the lines that begin with error."))  # fmt: skip


@templates.command("search", cls=Command)
def search(
    ctx: typer.Context,
    model: ModelOption = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|DIR", help="Scored pairs: a<TAB>b<TAB>score, SentEval's sts-dev.csv, or its folder."
        ),
    ] = None,
    prefixes: Annotated[list[str] | None, typer.Option(metavar="P", help=f"What wraps [X]: {PIECES}")] = None,
    relations: Annotated[
        list[str] | None, typer.Option(metavar="R", help=f"What relates it to [MASK]: {PIECES}")
    ] = None,
    endings: Annotated[list[str] | None, typer.Option(metavar="E", help=f"What ends it: {PIECES}")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Score the whole grid instead of one part after the other.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Score on N pairs, evenly spread over the file.")
    ] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the best one as a TOML file.")
    ] = None,
    trust: TrustFlag = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the template under which a model orders sentence pairs best (PromptBERT, section 4.2).

    Greedily: first the relation, then the prefix, then the ending, each the best of its list. Without lists, those
    of the paper. --template, or MODEL#TEMPLATE, says whose method, options and rules hold. Choose on a dev set.
    """
    from semsearch import engines
    from semsearch.evaluation import template_search

    if data is None:
        raise UsageError("there are no pairs to score templates on.", "Say --data FILE, for example: sts-dev.csv")
    subset = _subset(data, yes=yes)
    subset = subset if limit is None else template_search.thinned(subset, limit)
    chosen = settings.load({"model": model, "device": device, "home": ctx.obj.home})
    reference = _reference(chosen.model).with_(template=template, dtype=dtype, layer=layer)
    base, grid = _base(reference, trust, (prefixes, relations, endings))
    reference = reference if reference.template else reference.with_(template=base.text["passage"])
    started = time.perf_counter()
    engine, lasting = engines.opened(reference, device=chosen.device, threads=chosen.threads, trust=trust)
    with _reported(ctx.obj, len(subset.pairs)) as report:
        score = template_search.scorer(engine, base, subset)
        ranked = template_search.search(grid, score, full=full, report=report)
    told = {
        "model": str(lasting).partition("#")[0],
        "method": base.method,
        "pairs": len(subset.pairs),
        "took_s": round(time.perf_counter() - started, 3),
    }
    _tell_ranked(ranked, told, as_json)
    if output is not None:
        _write(
            ranked[0], base, f"{told['pairs']} pairs, the best of a search with {engine.name.partition('#')[0]}", output
        )


def _known(method: str) -> str:
    """`method`, once there is one of that name. Raises UnknownName."""
    from semsearch import methods, plugins
    from semsearch.errors import UnknownName

    if method and method not in plugins.names(methods):
        raise UnknownName("method", method, plugins.names(methods))
    return method


def _reference(model: str) -> Reference:
    from semsearch.reference import Reference

    return Reference.parse(model)


def _tokenizer(model: str, trust: bool) -> Tokenizer:
    """The tokenizer of a model, whose weights are not loaded."""
    from semsearch import bundle as bundles
    from semsearch import engines
    from semsearch.batching import Tokenizer

    reference = _reference(model)
    if reference.model == engines.HASHING:
        raise UsageError("the encoder hashing has no tokenizer and reads no template.", "Name another: -m MODEL")
    if not (bundles.find(reference.model, reference.revision) / bundles.MANIFEST).is_file():
        reference = replace(reference, template="mean", options={})  # whatever reads it, the tokenizer is the same
    bundle, _ = engines.described(reference, trust=trust)
    return Tokenizer(bundle.path("tokenizer"), bundle.max_tokens, bundle.tokens)


def _sample(template: Template, sentence: str, tokenizer: Tokenizer | None) -> dict[str, Any]:
    prompt = template.prompts["passage"]
    body, ending = prompt.sentence(sentence)
    told: dict[str, Any] = {"sentence": sentence, "text": prompt.before + body + ending + prompt.after}
    if tokenizer is None:
        return told
    cost = len(tokenizer.frame(prompt))
    tokens = [{"token": token, "part": part} for token, part in tokenizer.parts(sentence, prompt)]
    left = max(0, tokenizer.max_tokens - cost)
    return {**told, "tokens": tokens, "cost": cost, "max_tokens": tokenizer.max_tokens, "left": left}


def _marked(token: str, part: str) -> str:
    """The sentence's own tokens bare, the prompt's in brackets."""
    return token if part == "sentence" else f"[{token}]"


def _linted(template: Template, findings: Sequence[Finding]) -> dict[str, Any]:
    told = template.as_dict()
    return {key: told[key] for key in ("name", "text", "method")} | {"findings": [asdict(each) for each in findings]}


def _tell(template: Template, findings: Sequence[Finding]) -> None:
    show.out(show.safe(template.name or template.text["passage"]))
    if not findings:
        show.out("  ok")
    for finding in findings:
        show.out(f"  {show.safe(f'{finding.severity}: {finding.message} {finding.fix}').rstrip()}")


def _method(template: Template) -> str:
    """The method, with its options."""
    options = ",".join(f"{key}={value}" for key, value in template.options.items())
    return f"{template.method} {options}".rstrip()


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _subset(data: Path, *, yes: bool) -> Subset:
    """Scored pairs of a file, or of STS-B's dev split below a folder. Refuses a test split, unless `yes`."""
    from semsearch.evaluation import sts

    if data.is_dir() and not (data / "sts-dev.csv").is_file():
        return sts.task_pairs("stsb", data, "dev")["dev"]
    path = data / "sts-dev.csv" if data.is_dir() else data
    if re.search(r"(?<![a-z])test(?![a-z])", path.name.lower()):
        if not yes:
            raise GuardRail(f"{path.name} looks like a test set: a template that is chosen on it has no honest score.",
                            "Choose on the dev set; or say -y.")  # fmt: skip
        show.warn([f"{path.name} looks like a test set: do not report scores on it for this template."])
    triples = _senteval(path) or read_pairs(str(path))
    unscored = sum(score is None for _, _, score in triples)
    if unscored or len(triples) < 2:
        told = f"{unscored} of {len(triples)} pairs have no score" if unscored else "two pairs or more are needed"
        raise UsageError(f"{path}: {told}.", "Write `text<TAB>text<TAB>score` a line.")
    return sts.Subset(tuple((a, b) for a, b, _ in triples), tuple(score for *_, score in triples if score is not None))


def _senteval(path: Path) -> list[tuple[str, str, float | None]]:
    """Pairs of a file as STS-B's: score and sentences in columns 5 to 7; [] where it is another."""
    rows = [line.split("\t") for _, line in read_lines(str(path)) if line.strip()]
    try:
        return [(row[5], row[6], float(row[4])) for row in rows]
    except (IndexError, ValueError):
        return []


def _base(reference: Reference, trust: bool, lists: tuple[Sequence[str] | None, ...]) -> tuple[Template, Grid]:
    """The template whose method and rules hold, and the grid. Raises UsageError where they do not go together."""
    from semsearch.evaluation.template_search import GRIDS, Grid
    from semsearch.prompts import MASK, library
    from semsearch.prompts.lint import family

    kind = family(_tokenizer(str(reference), trust))
    usual = GRIDS[kind]
    given = [_pieces(values) for values in lists]
    base = library.resolve(reference.template, causal=kind == "causal") if reference.template else None
    grid = Grid(
        prefixes=given[0] or usual.prefixes,
        relations=given[1] or usual.relations,
        endings=given[2] or usual.endings,
        masks=base.masks > 0 if base else usual.masks,
    )
    texts = list(grid.all())
    base = base or library.resolve(texts[0], causal=kind == "causal")
    for text in texts:
        if text.count(MASK) != base.masks:
            raise UsageError(
                f"method {base.method} reads {base.masks} {MASK}s, and {text!r} has {text.count(MASK)}.",
                "Search among templates with one number of [MASK]s, or name a --template with as many.",
            )
    return base, grid


def _pieces(values: Sequence[str] | None) -> tuple[str, ...]:
    """Each value, or the lines of the file that it names; an empty one is a piece too, as Table 4's first relation."""
    found: list[str] = []
    for value in values or ():
        path = Path(value)
        if not value or "[X]" in value or not path.is_file():
            if value.endswith((".txt", ".tsv")):
                raise NotFound(f"{value} does not exist.", "Check the spelling, or the folder you are in.")
            found.append(value)
            continue
        lines = [line.strip() for _, line in read_lines(value)]
        found += lines[:-1] if not lines[-1] else lines
    if values and not found:
        raise UsageError(f"{', '.join(values)} holds no piece of a template.", "Write one a line.")
    return tuple(dict.fromkeys(found))


@contextmanager
def _reported(options: Options, pairs: int) -> Iterator[Callable[[int, int, str], None]]:
    from semsearch.cli.progress import reported
    from semsearch.types import Progress

    with reported(options, "searching templates") as step:
        yield lambda done, total, text: step(Progress(done, total, "templates", text, 2 * pairs * done))


def _tell_ranked(ranked: Sequence[Candidate], told: dict[str, Any], as_json: bool) -> None:
    best = ranked[0]
    if as_json:
        shown = [
            {"rank": rank, "spearman": None if math.isnan(one.spearman) else round(one.spearman, 4),
             "stage": one.stage, "template": one.text}
            for rank, one in enumerate(ranked, 1)
        ]  # fmt: skip
        show.emit({"schema": 1, **told, "best": best.text, "candidates": shown})
        return
    rows = [[str(rank), "-" if math.isnan(one.spearman) else f"{one.spearman:.2f}", one.stage, _short(one.text)]
            for rank, one in enumerate(ranked, 1)]  # fmt: skip
    show.table(rows, ("rank", "spearman", "stage", "template"))
    show.out()
    show.out(f"--template {shlex.quote(show.safe(best.text))}")


def _write(best: Candidate, base: Template, where: str, output: Path) -> None:
    """The best template as a file of its own, with where it comes from."""
    from semsearch.prompts import library

    found = replace(
        base,
        text={"query": best.text, "passage": best.text},
        description=f"Spearman {best.spearman:.2f} on {where}",
        source="",
        note="",
    )
    output.write_text(library.to_toml(found), encoding="utf-8")
    show.note(f"wrote {output}")
