"""`query` and `similar`: search, and show what was found."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch import settings
from semsearch.cli.common import DeviceOption, JsonFlag, NameOption, TrustFlag, opened, pick, use_device
from semsearch.cli.output import hits
from semsearch.cli.output import text as show
from semsearch.cli.search.batch import Asked, read_queries
from semsearch.errors import UsageError
from semsearch.types import Group, Mode, Query, Results

if TYPE_CHECKING:
    from semsearch.index import Index

AT_ONCE = 64  # queries of a batch that are encoded together; the answers to the first need not wait for all
Count = Annotated[int | None, typer.Option("-k", metavar="N", help="How many hits.  [default: 10]")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="E", help="Only where this holds: \"year > 2020 and lang = 'en'\".")
]
Within = Annotated[str | None, typer.Option("--path", metavar="G", help="Only paths that match: 'notes/**/*.md'.")]
Least = Annotated[float, typer.Option("--min-strength", metavar="S", help="Only hits at least this strong, 0 to 1.")]
Grouped = Annotated[Group, typer.Option("--group", help="One hit a document, or every passage.")]
Exactly = Annotated[bool, typer.Option("--exact", help="Compare with every vector.")]
Explained = Annotated[bool, typer.Option("--explain", help="Scores of each channel, plan, filters and times.")]
Shape = Annotated[
    hits.Format,
    typer.Option("--format", help="auto: a table on a terminal, else JSON lines. CSV cells are not altered: import "
                 "them as text."),
]  # fmt: skip
FailEmpty = Annotated[bool, typer.Option("--fail-empty", help="Exit 1 when there are no hits.")]


def query(
    ctx: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT|-", help="What to look for; - reads it from stdin.")
    ] = None,
    name: NameOption = None,
    k: Count = None,
    mode: Annotated[
        Mode | None, typer.Option("--mode", help="By meaning, by words, or both.  [default: hybrid]")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="Weight of meaning against words, 0 to 1, instead of rank fusion.")
    ] = None,
    where: Where = None,
    path: Within = None,
    more: Annotated[
        list[str] | None, typer.Option("--more", metavar="TEXT[^W]", help="Pull towards this meaning, W times.")
    ] = None,
    less: Annotated[
        list[str] | None, typer.Option("--less", metavar="TEXT[^W]", help="Push away from this meaning, W times.")
    ] = None,
    must: Annotated[
        list[str] | None, typer.Option("--must", metavar="WORD", help="Only passages with this word.")
    ] = None,
    like: Annotated[
        list[str] | None, typer.Option("--like", metavar="ID|FILE", help="Like this passage, document or file.")
    ] = None,
    min_strength: Least = 0.0,
    group: Grouped = "document",
    exact: Exactly = False,
    explain: Explained = False,
    as_json: JsonFlag = False,
    shape: Shape = "auto",
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="FILE", help="Many queries: one a line, id<TAB>text, or JSON lines."),
    ] = None,
    fail_empty: FailEmpty = False,
    device: DeviceOption = None,
    trust: TrustFlag = False,
) -> None:
    """Find the passages closest in meaning to TEXT."""
    use_device(device)
    chosen = settings.load({"k": k if k is None or k > 0 else None, "mode": mode})
    plain = Query(
        k=chosen.k if k is None else k,
        mode=chosen.mode,  # type: ignore[arg-type]  # settings checked it
        alpha=alpha,
        where=where,
        path=path,
        more=tuple(_weighted(one, "--more") for one in more or ()),
        less=tuple(_weighted(one, "--less") for one in less or ()),
        must=tuple(must or ()),
        like=tuple(target(one) for one in like or ()),
        min_strength=min_strength,
        group=group,
        exact=exact,
    )
    asked = _asked(text, batch, plain)
    shape = _shape(shape, as_json)
    with opened(ctx.obj, pick(ctx.obj, name), trust=trust) as index:
        _answer(index, asked, shape, batch=batch is not None, explain=explain, fail_empty=fail_empty)


def similar(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID|FILE", help="A passage's id, a document's id, or a file.")],
    name: NameOption = None,
    k: Count = None,
    where: Where = None,
    path: Within = None,
    min_strength: Least = 0.0,
    group: Grouped = "document",
    exact: Exactly = False,
    explain: Explained = False,
    as_json: JsonFlag = False,
    shape: Shape = "auto",
    fail_empty: FailEmpty = False,
    device: DeviceOption = None,
    trust: TrustFlag = False,
) -> None:
    """Find what is closest to a passage, a document or a file.

    Digits are a passage's id. Where documents are named by numbers, write document:12.
    """
    use_device(device)
    plain = Query(
        k=settings.load().k if k is None else k,
        mode="semantic",
        where=where,
        path=path,
        like=(target(what),),
        min_strength=min_strength,
        group=group,
        exact=exact,
    )
    shape = _shape(shape, as_json)
    with opened(ctx.obj, pick(ctx.obj, name), trust=trust) as index:
        _answer(index, [("1", plain)], shape, batch=False, explain=explain, fail_empty=fail_empty)


def target(text: str) -> int | str:
    """What an ID argument means: passage:42 and 42 a passage, document:42 and anything else a document or file.

    >>> target("42"), target("document:42"), target("notes/a.md")
    (42, '42', 'notes/a.md')
    """
    kind, _, rest = text.partition(":")
    if kind == "document" and rest:
        return rest
    number = rest if kind == "passage" else text
    return int(number) if number.isascii() and number.isdigit() and int(number) < 2**63 else text


def _answer(
    index: Index, asked: Sequence[Asked], shape: hits.Format,
    *, batch: bool, explain: bool, fail_empty: bool,
) -> None:  # fmt: skip
    head = _head(index) if shape in ("json", "jsonl") else {}
    found = 0

    def answers() -> Iterator[hits.Answer]:
        nonlocal found
        for id_, results in _searched(index, asked):
            found += len(results)
            yield hits.Answer(id_, results, head, index.snippets)
            show.warn(results.warnings)
            if explain and shape != "json":
                for part, told in hits.explanation(results).items():
                    show.note(f"{part}: {show.dumps(told)}")

    hits.write(answers(), shape, batch=batch, explain=explain)
    if fail_empty and not found:
        sys.stdout.flush()
        raise typer.Exit(1)


def _searched(index: Index, asked: Sequence[Asked]) -> Iterator[tuple[str, Results]]:
    """Query by query what was found, under its id."""
    for first in range(0, len(asked), AT_ONCE):
        some = asked[first : first + AT_ONCE]
        yield from zip((id_ for id_, _ in some), index.search([one for _, one in some]), strict=True)


def _head(index: Index) -> dict[str, Any]:
    encoder = index.info()["spaces"][0]["encoder"]
    return {"index": index.name, "encoder": {"name": encoder["name"], "fingerprint": encoder["fingerprint"]}}


def _asked(text: str | None, batch: str | None, plain: Query) -> Sequence[Asked]:
    """The queries of this each with its id. Raises UsageError where there is none, or one too many."""
    from dataclasses import replace

    if batch is not None:
        if text is not None:
            raise UsageError("TEXT and --batch cannot be given together.", "Put the text into the file.")
        return [(id_, replace(plain, text=one)) for id_, one in read_queries(batch)]
    if text == "-":
        text = sys.stdin.read()
    if text is None and not (plain.like or plain.more):
        raise UsageError("there is no TEXT to look for.", 'Say what: semsearch query "how do I …", or --like ID.')
    return [("1", replace(plain, text=text or ""))]


def _weighted(text: str, flag: str) -> tuple[str, float]:
    """TEXT^W as text and weight; without a number at its end the text weighs 1."""
    before, caret, weight = text.rpartition("^")
    try:
        pulled = float(weight) if caret else None
    except ValueError:
        pulled = None
    text, pulled = (text, 1.0) if pulled is None else (before, pulled)
    if not text.strip() or not 0 < pulled < 1000:
        raise UsageError(f"{flag} needs a text, and a weight above 0.", f'Write {flag} "diesel^0.5".')
    return text, pulled


def _shape(asked: hits.Format, as_json: bool) -> hits.Format:
    if as_json and asked not in ("auto", "json"):
        raise UsageError(f"--json and --format {asked} cannot be given together.", "Choose one.")
    if as_json:
        return "json"
    if asked != "auto":
        return asked
    return "table" if sys.stdout.isatty() else "jsonl"
