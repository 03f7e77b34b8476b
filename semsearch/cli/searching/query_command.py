"""`query` and `similar`: search an index and print the hits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.lookup import open_index, parse_id, use_device
from semsearch.cli.options import (
    PATHS,
    RERANKERS,
    DeviceOption,
    JsonFlag,
    NameOption,
    Options,
    TrustFlag,
    complete_reranker,
    flag,
    late,
    value,
)
from semsearch.cli.output import console, hit_formats
from semsearch.errors import UsageError
from semsearch.search import query_check
from semsearch.search.results_json import explanation
from semsearch.types import Group, JsonObject, Mode, Query, Results

MOST_READ = 10_000_000  # characters from stdin, which is more than a query may have: the rest is left
BATCH_SIZE = 64  # queries of a batch file that are searched together; the first answers need not wait for all
MEANING, SELECTION, OUTPUT = "Meaning of the query", "Selection of hits", "Output"  # headings of --help
FORMATS = "auto: a table on a terminal, else JSON lines."


@dataclass(frozen=True, slots=True)
class HitOptions:
    """The options of `query` and `similar` that select hits and print them."""

    name: NameOption = None
    k: Annotated[int | None, value("N", "Number of hits.  [default: 10]", "-k")] = None
    where: Annotated[str | None, value("E", "Metadata filter: \"year > 2020 and lang = 'en'\".")] = None
    path: Annotated[str | None, value("G", PATHS)] = None
    min_strength: Annotated[float, value("S", "Only hits of this strength, 0 to 1.", heading=SELECTION)] = 0.0
    abstain: Annotated[
        float,
        value("A", "Of questions without an answer here, the share that may get a good match.", heading=SELECTION),
    ] = 0.1
    group: Annotated[Group, value(None, "One hit per document, per copy, or per passage.")] = "document"
    exact: Annotated[
        bool, flag("--exact", "Compare with every vector, without the approximate index.", heading=SELECTION)
    ] = False
    explain: Annotated[
        bool, flag("--explain", "Also print how the search ran: scores per search method, plan, filters, times.")
    ] = False
    as_json: JsonFlag = False
    shape: Annotated[hit_formats.Format, value(None, FORMATS, "--format")] = "auto"
    raw: Annotated[
        bool,
        flag("--raw", "CSV and TSV for programs: without the ' before a text that could be a formula.", heading=OUTPUT),
    ] = False
    absolute: Annotated[
        bool, flag("--absolute", "Paths: absolute, not as seen from the current folder.", heading=OUTPUT)
    ] = False
    null: Annotated[
        bool,
        flag("--null", "Paths: a NUL after each, not a line break, for xargs -0.", "-0", heading=OUTPUT),
    ] = False
    fail_empty: Annotated[bool, flag("--fail-empty", "Exit 1 if there are no hits.", heading=OUTPUT)] = False
    device: DeviceOption = None
    trust: TrustFlag = False

    def query(self) -> Query:
        """A query with these options."""
        k = settings.load().k if self.k is None else self.k
        names = ("where", "path", "min_strength", "abstain", "group", "exact")
        return Query(k=k, **{name: getattr(self, name) for name in names})

    def output_format(self) -> hit_formats.Format:
        """The format, which is never auto. Raises UsageError where --json and --format disagree."""
        if self.as_json and self.shape not in ("auto", "json"):
            raise UsageError(f"--json and --format {self.shape} exclude each other.", "Choose one.")
        if (self.absolute or self.null) and self.shape != "paths":
            raise UsageError("--absolute and -0 are options of --format paths.", "Add it; JSON has both paths.")
        if self.shape != "auto":
            return self.shape
        return "json" if self.as_json else "table" if sys.stdout.isatty() else "jsonl"

    def answer(
        self,
        options: Options,
        queries: Sequence[tuple[str, Query]],
        *,
        batch: bool = False,
        paths: Sequence[str] = (),
        update: bool = True,
    ) -> None:
        """Search, and print the answers as they come, each followed by its warnings. Each query has an id.

        With `paths` the index is that of these files and folders, which is made or brought up to date first.
        """
        use_device(self.device)
        shape, hits = self.output_format(), 0

        def answers(asked: Asked) -> Iterator[hit_formats.Answer]:
            nonlocal hits
            index = asked.index
            encoder = index.info()["spaces"][0]["encoder"] if shape in ("json", "jsonl") else {}
            head = {"index": index.name, "encoder": {key: encoder.get(key) for key in ("name", "fingerprint")}}
            for id_, results in _searched(index, queries):
                hits += len(results)
                shown = replace(results, warnings=(*asked.warnings, *results.warnings))
                yield hit_formats.Answer(id_, shown, {**head, **asked.fields}, index.snippets)
                console.warn(results.warnings)
                for part, shown in explanation(results).items() if self.explain and shape != "json" else ():
                    console.note(f"{part}: {console.dumps(shown)}")

        with self._asked(options, [one for _, one in queries], paths, update=update) as asked:
            layout = hit_formats.Layout(shape, self.raw, self.absolute, self.null, asked.given)
            hit_formats.write(answers(asked), layout, batch=batch, explain=self.explain)
        if self.fail_empty and not hits:
            sys.stdout.flush()
            raise typer.Exit(1)

    @contextmanager
    def _asked(
        self, options: Options, queries: Sequence[Query], paths: Sequence[str], *, update: bool
    ) -> Iterator[Asked]:
        if paths and self.name is not None:
            raise UsageError("-n and PATH exclude each other.", "Name the index, or what it is to be made of.")
        if not (paths or update or self.name):  # an index by its name is not updated
            raise UsageError("--no-update is an option of PATH.", "Leave it out: nothing is updated without PATH.")
        if paths:
            opened = late("searching.asked_paths.opened")
            with opened(options, paths, queries, update=update, trust=self.trust) as asked:
                yield asked
        else:
            with open_index(options, self.name, trust=self.trust) as index:
                yield Asked(index)


PLAIN = Query()


@dataclass(frozen=True, slots=True)
class Asked:
    """The index that answers, with what its answers say in addition: warnings, and fields of their JSON object.

    `given` names a file by the paths that were given in place of an index.
    """

    index: semsearch.Index
    warnings: tuple[str, ...] = ()
    fields: JsonObject = field(default_factory=dict)
    given: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The options of reading the first hits again."""

    rerank: Annotated[
        str | None,
        value(
            "[MODEL]",
            f"Read the first hits again with a reranker: {RERANKERS}  [default: of the settings]",
            autocompletion=complete_reranker,
        ),
    ] = None
    depth: Annotated[int, value("N", "Hits that the reranker reads.", "--rerank-depth", heading=SELECTION)] = (
        PLAIN.rerank_depth
    )
    weight: Annotated[
        float,
        value(
            "W", "Weight of its judgement: 1 orders by it alone, 0 not at all.", "--rerank-weight", heading=SELECTION
        ),
    ] = PLAIN.rerank_weight

    def fields(self) -> JsonObject:
        """The fields of a query. Raises UsageError for a depth or a weight without a reranker."""
        if self.rerank is None and (self.depth, self.weight) != (PLAIN.rerank_depth, PLAIN.rerank_weight):
            raise UsageError("--rerank-depth and --rerank-weight are options of --rerank.", "Pass --rerank [MODEL].")
        return {"rerank": self.rerank, "rerank_depth": self.depth, "rerank_weight": self.weight}


def query(
    ctx: typer.Context,
    *,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|-", help='Text to search for, with "what has to be there" in quotes; - reads stdin.'
        ),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files and folders to search, in place of -n."),
    ] = None,
    hits: HitOptions,
    mode: Annotated[Mode | None, value(None, "Search by meaning, by words, or both.  [default: hybrid]")] = None,
    alpha: Annotated[
        float | None, value("A", "Weight of meaning against words in hybrid search (0.5).", heading=MEANING)
    ] = None,
    more: Annotated[
        list[str] | None, value("TEXT[^W]", "Move the query towards this meaning, with weight W.", heading=MEANING)
    ] = None,
    less: Annotated[
        list[str] | None, value("TEXT[^W]", "Move the query away from this meaning, with weight W.", heading=MEANING)
    ] = None,
    must: Annotated[
        list[str] | None, value("WORD", "Only passages that contain this word; repeatable.", heading=MEANING)
    ] = None,
    grep: Annotated[
        str | None,
        value("RE", "Only passages that match this regular expression (RE2: docs/filters.md).", heading=MEANING),
    ] = None,
    like: Annotated[
        list[str] | None, value("ID|FILE", "Search for text like this passage, document or file.", heading=MEANING)
    ] = None,
    batch: Annotated[str | None, value("FILE", "File of queries: one per line, id<TAB>text, or JSON lines.")] = None,
    no_update: Annotated[bool, flag("--no-update", "PATH: answer from its index as it is, as -n does.")] = False,
    again: RerankOptions,
) -> None:
    """Find the passages closest in meaning to TEXT.

    With PATH, in these files and folders: their index is made, or brought up to date, on the way.
    """
    places = list(paths or ())
    if batch is not None and text is not None and Path(text).exists():
        places, text = [text, *places], None
    if text and not (places or hits.name or ctx.obj.quiet) and os.path.exists(text):  # noqa: PTH110 - text may be long
        console.note(f"{text!r} is the TEXT to search for. To search in that path: semsearch query TEXT {text}")
    plain = replace(
        hits.query(),
        mode=settings.load({"mode": mode}).mode,
        alpha=alpha,
        more=tuple(_weighted(one) for one in more or ()),
        less=tuple(_weighted(one) for one in less or ()),
        must=tuple(must or ()),
        grep=grep,
        like=tuple(parse_id(one) for one in like or ()),
        **again.fields(),
    )
    if places and plain.path:
        plain = replace(plain, path=late("searching.asked_paths.below")(plain.path, places))
    query_check.check_parts(plain)
    hits.answer(ctx.obj, _queries(text, batch, plain), batch=batch is not None, paths=places, update=not no_update)


def similar(
    ctx: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="ID|FILE", help="Id of a passage or a document, or a file.")],
    hits: HitOptions,
) -> None:
    """Find what is closest to a passage, a document or a file.

    A number is a passage's id. If a document's id is a number, write document:12.
    """
    hits.answer(ctx.obj, [("1", replace(hits.query(), mode="semantic", like=(parse_id(what),)))])


def _searched(index: semsearch.Index, queries: Sequence[tuple[str, Query]]) -> Iterator[tuple[str, Results]]:
    """Id and results of each query."""
    for first in range(0, len(queries), BATCH_SIZE):
        some = queries[first : first + BATCH_SIZE]
        for (id_, _), results in zip(some, index.search([one for _, one in some]), strict=True):
            yield id_, results


def _queries(text: str | None, batch: str | None, plain: Query) -> Sequence[tuple[str, Query]]:
    """`plain` with each text to search for. Raises UsageError where there is none, or both TEXT and --batch."""
    if batch is not None:
        if text is not None:
            raise UsageError("TEXT and --batch exclude each other.", "Put the text into the file.")
        from semsearch.cli.input_files import read_queries  # 10 ms that a single query does not need

        return [(id_, replace(plain, text=one)) for id_, one in read_queries(batch)]
    if text == "-":
        text = sys.stdin.read(MOST_READ)
    if text is None and not (plain.like or plain.more):
        if plain.rerank is not None and not Path(str(plain.rerank)).exists():
            raise UsageError(
                f"there is no TEXT to search for: --rerank took {plain.rerank!r} as the name of its model.",
                'Write the text first: semsearch query "how do I …" --rerank',
            )
        raise UsageError(
            "there is no TEXT to search for.", 'For example: semsearch query "how do I …"; or pass --like ID.'
        )
    return [("1", replace(plain, text=text or ""))]


def _weighted(argument: str) -> tuple[str, float]:
    """Text and weight of TEXT^W; the weight is 1 where no number follows a caret.

    >>> _weighted("diesel^0.5"), _weighted("x^y")
    (('diesel', 0.5), ('x^y', 1.0))
    """
    text, caret, number = argument.rpartition("^")
    try:
        return text, float(number if caret else "none")
    except ValueError:
        return argument.strip(" ^") and argument, 1.0
