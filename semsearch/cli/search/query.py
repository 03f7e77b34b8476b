"""`query` and `similar`: search an index and print the hits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.lookup import choose_index, open_index, parse_id, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, NameOption, TrustFlag, option_groups
from semsearch.cli.output import console, hit_formats
from semsearch.errors import UsageError
from semsearch.types import Group, JsonObject, Mode, Query, Results

BATCH_SIZE = 64  # queries of a batch file that are searched together; the first answers need not wait for all
Count = Annotated[int | None, typer.Option("-k", metavar="N", help="Number of hits.  [default: 10]")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="E", help="Metadata filter: \"year > 2020 and lang = 'en'\".")
]
PathGlob = Annotated[
    str | None, typer.Option("--path", metavar="G", help="Only paths that match this glob: 'notes/**/*.md'.")
]
FailEmpty = Annotated[bool, typer.Option("--fail-empty", help="Exit 1 if there are no hits.")]


@dataclass(frozen=True, slots=True)
class HitOptions:
    """The options of `query` and `similar` that select hits and print them."""

    min_strength: Annotated[float, typer.Option(metavar="S", help="Only hits of this strength, 0 to 1.")] = 0.0
    group: Annotated[Group, typer.Option(help="One hit per document, or every passage.")] = "document"
    exact: Annotated[
        bool, typer.Option("--exact", help="Compare with every vector, without the approximate index.")
    ] = False
    explain: Annotated[
        bool, typer.Option("--explain", help="Also print scores per channel, plan, filters and times.")
    ] = False
    as_json: JsonFlag = False
    shape: Annotated[
        hit_formats.Format,
        typer.Option(
            "--format",
            help="auto: a table on a terminal, else JSON lines. "
            "CSV and TSV cells may begin with =: import them as text.",
        ),
    ] = "auto"

    def output_format(self) -> hit_formats.Format:
        """The format, which is never auto. Raises UsageError where --json and --format disagree."""
        if self.as_json and self.shape not in ("auto", "json"):
            raise UsageError(f"--json and --format {self.shape} exclude each other.", "Choose one.")
        if self.as_json:
            return "json"
        if self.shape != "auto":
            return self.shape
        return "table" if sys.stdout.isatty() else "jsonl"


@option_groups
def query(
    ctx: typer.Context,
    *,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT|-", help="Text to search for; - reads it from stdin.")
    ] = None,
    name: NameOption = None,
    k: Count = None,
    mode: Annotated[Mode | None, typer.Option(help="Search by meaning, by words, or both.  [default: hybrid]")] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="Weight of meaning against words, 0 to 1; replaces rank fusion.")
    ] = None,
    where: Where = None,
    path: PathGlob = None,
    more: Annotated[
        list[str] | None, typer.Option(metavar="TEXT[^W]", help="Move the query towards this meaning, with weight W.")
    ] = None,
    less: Annotated[
        list[str] | None, typer.Option(metavar="TEXT[^W]", help="Move the query away from this meaning, with weight W.")
    ] = None,
    must: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Only passages that contain this word; repeatable.")
    ] = None,
    like: Annotated[
        list[str] | None, typer.Option(metavar="ID|FILE", help="Search for text like this passage, document or file.")
    ] = None,
    hits: HitOptions,
    batch: Annotated[
        str | None, typer.Option(metavar="FILE", help="File of queries: one per line, id<TAB>text, or JSON lines.")
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
        like=tuple(parse_id(one) for one in like or ()),
        min_strength=hits.min_strength,
        group=hits.group,
        exact=hits.exact,
    )
    queries = _queries(text, batch, plain)
    shape = hits.output_format()
    with open_index(ctx.obj, choose_index(ctx.obj, name), trust=trust) as index:
        _answer(index, queries, shape, batch=batch is not None, explain=hits.explain, fail_empty=fail_empty)


@option_groups
def similar(
    ctx: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="ID|FILE", help="Id of a passage or a document, or a file.")],
    name: NameOption = None,
    k: Count = None,
    where: Where = None,
    path: PathGlob = None,
    hits: HitOptions,
    fail_empty: FailEmpty = False,
    device: DeviceOption = None,
    trust: TrustFlag = False,
) -> None:
    """Find what is closest to a passage, a document or a file.

    A number is a passage's id. If a document's id is a number, write document:12.
    """
    use_device(device)
    plain = Query(
        k=settings.load().k if k is None else k,
        mode="semantic",
        where=where,
        path=path,
        like=(parse_id(what),),
        min_strength=hits.min_strength,
        group=hits.group,
        exact=hits.exact,
    )
    shape = hits.output_format()
    with open_index(ctx.obj, choose_index(ctx.obj, name), trust=trust) as index:
        _answer(index, [("1", plain)], shape, batch=False, explain=hits.explain, fail_empty=fail_empty)


def _answer(
    index: semsearch.Index,
    queries: Sequence[tuple[str, Query]],
    shape: hit_formats.Format,
    *,
    batch: bool,
    explain: bool,
    fail_empty: bool,
) -> None:
    """Search and print the answers as they come, each followed by its warnings."""
    head = _head(index) if shape in ("json", "jsonl") else {}
    found = 0

    def answers() -> Iterator[hit_formats.Answer]:
        nonlocal found
        for id_, results in _searched(index, queries):
            found += len(results)
            yield hit_formats.Answer(id_, results, head, index.snippets)
            console.warn(results.warnings)
            if explain and shape != "json":
                for part, value in hit_formats.explanation(results).items():
                    console.note(f"{part}: {console.dumps(value)}")

    hit_formats.write(answers(), shape, batch=batch, explain=explain)
    if fail_empty and not found:
        sys.stdout.flush()
        raise typer.Exit(1)


def _searched(index: semsearch.Index, queries: Sequence[tuple[str, Query]]) -> Iterator[tuple[str, Results]]:
    """Id and results of each query."""
    for first in range(0, len(queries), BATCH_SIZE):
        some = queries[first : first + BATCH_SIZE]
        yield from zip((id_ for id_, _ in some), index.search([one for _, one in some]), strict=True)


def _head(index: semsearch.Index) -> JsonObject:
    encoder = index.info()["spaces"][0]["encoder"]
    return {"index": index.name, "encoder": {"name": encoder["name"], "fingerprint": encoder["fingerprint"]}}


def _queries(text: str | None, batch: str | None, plain: Query) -> Sequence[tuple[str, Query]]:
    """`plain` with each text to search for. Raises UsageError where there is none, or both TEXT and --batch."""
    if batch is not None:
        if text is not None:
            raise UsageError("TEXT and --batch exclude each other.", "Put the text into the file.")
        from semsearch.cli.input_files import read_queries  # 10 ms that a single query does not need

        return [(id_, replace(plain, text=one)) for id_, one in read_queries(batch)]
    if text == "-":
        text = sys.stdin.read()
    if text is None and not (plain.like or plain.more):
        raise UsageError(
            "there is no TEXT to search for.", 'For example: semsearch query "how do I …"; or pass --like ID.'
        )
    return [("1", replace(plain, text=text or ""))]


def _weighted(argument: str, flag: str) -> tuple[str, float]:
    """Text and weight of TEXT^W; the weight is 1 where no number follows a caret.

    >>> _weighted("diesel^0.5", "--more"), _weighted("x^y", "--more")
    (('diesel', 0.5), ('x^y', 1.0))
    """
    text, caret, number = argument.rpartition("^")
    try:
        weight = float(number if caret else "none")
    except ValueError:
        text, weight = argument, 1.0
    if not text.strip(" ^") or not 0 < weight < 1000:
        raise UsageError(f"{flag} needs a text, and a weight above 0 and below 1000.", f'Write {flag} "diesel^0.5".')
    return text, weight
