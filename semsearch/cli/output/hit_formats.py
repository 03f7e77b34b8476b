"""Output formats of search results: JSON has all fields, the other formats have a line per hit.

In CSV and TSV a text that a spreadsheet could take for a formula begins with an apostrophe, unless it is asked for raw.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from semsearch.cli.output import console
from semsearch.documents.suffixes import page_name
from semsearch.search.results_json import hit_object, results_object
from semsearch.types import Hit, JsonObject, Results
from semsearch.utils.quantities import count, rounded_down
from semsearch.utils.untrusted import CONTROLS, cell, escaped

if TYPE_CHECKING:
    from semsearch.search.snippets import Snippet

Format: TypeAlias = Literal["auto", "table", "json", "jsonl", "csv", "tsv", "md", "paths", "trec"]
COLUMNS = ("query", "rank", "match", "strength", "score", "path", "line", "page", "heading", "document", "id", "text")
BOLD, DIM, WORD, PLACE, OFF = "\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[36m", "\x1b[0m"
READ_AGAIN = "rerank"  # the column after the strength where a reranker was asked for
HEADER = "  #  match   strength    score  (ranked by score)"
_GIT_ESCAPES = {ord(sign): f"\\{letter}" for sign, letter in zip("\a\b\t\n\v\f\r", "abtnvfr", strict=True)}
SNIPPET = 320  # characters of a snippet: three or four lines of a terminal


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one query, with its id in the batch file.

    `head` are JSON fields about index and encoder. `snippets` finds the best sentence of every hit.
    """

    id: str
    results: Results
    head: JsonObject
    snippets: Callable[[Results], Sequence[Snippet]]


def as_object(answer: Answer, *, explain: bool = False) -> JsonObject:
    """The JSON object of one query."""
    return results_object(answer.results, answer.head, explain=explain, with_file=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """A format with its options.

    raw: cells that begin as a formula stay as they are, for programs. absolute: paths, all of them. null: a NUL after
    each path in place of a line break. given: names a file by the paths that were asked.
    """

    shape: Format
    raw: bool = False
    absolute: bool = False
    null: bool = False
    given: Callable[[str], str] | None = None


def write(answers: Iterable[Answer], layout: Layout, *, batch: bool, explain: bool) -> None:
    """Print the answers. With `batch` there may be several queries, so each line names its query."""
    shape, raw = layout.shape, layout.raw
    if layout.given is not None and shape != "paths":
        answers = (_with_given(answer, layout.given, as_text=shape in ("table", "md")) for answer in answers)
    if shape == "json":
        named = [(answer.id, as_object(answer, explain=explain)) for answer in answers]
        objects = [{"id": id_, **shown} if batch else shown for id_, shown in named]
        console.emit({"schema": 1, "queries": objects} if batch else objects[0])
    elif shape == "table":
        _table(answers, batch, explain)
    elif shape == "csv":
        _cells(answers, COLUMNS[not batch :], csv.writer(sys.stdout, lineterminator="\n").writerow, raw=raw)
    elif shape == "tsv":
        _cells(answers, COLUMNS[not batch :], lambda row: print(*row, sep="\t"), raw=raw)  # no cell has a tab
    elif shape == "paths":
        _paths(answers, layout)
    else:
        for answer in answers:
            {"jsonl": _jsonl, "md": _md, "trec": _trec}[shape](answer, batch)


def _with_given(answer: Answer, given: Callable[[str], str], *, as_text: bool) -> Answer:
    """The answer with the paths of its hits as they were asked; for programs, the ids of their documents stay."""
    found = answer.results
    hits = [as_given(hit, given) for hit in found]
    if not as_text:
        hits = [replace(hit, document=own.document) for hit, own in zip(hits, found, strict=True)]
    return replace(answer, results=replace(found, hits=tuple(hits)), snippets=lambda _: answer.snippets(found))


def as_given(hit: Hit, given: Callable[[str], str]) -> Hit:
    """A hit in a file, for people, who know it by the path that they asked."""
    if hit.file is None:
        return hit
    path = given(hit.file)
    return replace(hit, path=path, document=path + hit.document[len(hit.path) :] if _is_of_path(hit) else hit.document)


def _is_of_path(hit: Hit) -> bool:
    """Whether the id of a document is the path of its file, with the number or the name of a part."""
    return hit.document == hit.path or hit.document.startswith(f"{hit.path}#")


def _jsonl(answer: Answer, batch: bool) -> None:
    for shown in [{"id": answer.id, **as_object(answer)}] if batch else _objects(answer.results):
        print(console.dumps(shown))


def _objects(results: Results) -> list[JsonObject]:
    return [hit_object(hit, with_file=True) for hit in results]


def _paths(answers: Iterable[Answer], layout: Layout) -> None:
    """The file of each hit, once, as it is opened from the current folder; the id of a document without a file.

    Without `null`, a name that is not one line of text is quoted as git quotes it.
    """
    for hit in {hit.file or hit.path: hit for answer in answers for hit in answer.results}.values():
        path = hit.path if hit.file is None else _opened(hit.file, layout)
        sys.stdout.flush()
        line = os.fsencode(path) + b"\0" if layout.null else _quoted(path) + b"\n"
        sys.stdout.buffer.write(line)


def _quoted(path: str) -> bytes:
    r"""A path for a line of its own: quoted, with \n and \303, if it has control characters or begins with a quote.

    >>> _quoted("a b.md"), _quoted("two\nlines.md")
    (b'a b.md', b'"two\\nlines.md"')
    """
    if not path.startswith('"') and escaped(path) == path:
        return os.fsencode(path)
    quoted = path.replace("\\", r"\\").replace('"', r"\"").translate(_GIT_ESCAPES)
    octal = CONTROLS.sub(lambda sign: "".join(f"\\{byte:03o}" for byte in sign[0].encode()), quoted)
    return os.fsencode(f'"{octal}"')


def _opened(file: str, layout: Layout) -> str:
    """The path by which a file is opened: as it was given, or below the current folder relative to it, unless it is to
    be absolute.

    Bytes of its name that are not UTF-8 are written as \\xe9 in an index.

    >>> _opened("/" + "a" * 300, Layout("paths"))[:4]  # of which the system says nothing, as without permission
    '/aaa'
    """
    if layout.given is not None and not layout.absolute:
        file = layout.given(file)
    if not os.path.exists(file):  # noqa: PTH110 - Path.exists raises PermissionError
        named = re.sub(r"\\x([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), file)
        file = named if os.path.exists(named) else file  # noqa: PTH110
    here = Path.cwd()
    as_it_is = layout.absolute or layout.given is not None or not Path(file).is_relative_to(here)
    return file if as_it_is else str(Path(file).relative_to(here))


def _cells(
    answers: Iterable[Answer], columns: Sequence[str], writerow: Callable[[Sequence[str]], object], *, raw: bool
) -> None:
    named: Sequence[str] = ()
    for answer in answers:
        if not named:
            named = _with_reranking(columns, answer.results)
            writerow(named)
        for hit in answer.results:
            row = {READ_AGAIN: None, **hit_object(hit), "query": answer.id}
            writerow([_cell(row[name], raw) for name in named])


def _with_reranking(columns: Sequence[str], results: Results) -> list[str]:
    """The columns, with the one for a reranker's scores if the query asks for one."""
    at = columns.index("strength") + 1
    return [*columns[:at], *([READ_AGAIN] if results.query.rerank is not None else []), *columns[at:]]


def _cell(value: object, raw: bool) -> str:
    shown = "" if value is None else console.safe(str(value))
    return shown if raw or not isinstance(value, str) else cell(shown)


def _trec(answer: Answer, batch: bool) -> None:
    for hit in answer.results:
        name = hit.document
        if answer.results.query.group == "passage":
            name = f"{name}:{hit.start}-{hit.end}"  # trec_eval takes each name once
        print(f"{_word(answer.id)} Q0 {_word(name)} {hit.rank} {hit.score:.6f} semsearch")


def _word(text: str) -> str:
    """`text` without spaces, which separate the columns of a TREC file."""
    return console.safe(text).replace(" ", "%20")


def _md(answer: Answer, batch: bool) -> None:
    if batch:
        print(f"## {_markdown(answer.results.query.text)}\n")
    for hit in answer.results:
        heading = f" — {_markdown(hit.heading)}" if hit.heading else ""
        strength = "" if hit.strength is None else f", strength {rounded_down(hit.strength):.2f}"
        strength += "" if hit.rerank is None else f", rerank {rounded_down(hit.rerank):.2f}"
        print(f"{hit.rank}. **{_markdown(place(hit))}**{heading} ({hit.match}{strength})\n   > {_markdown(hit.text)}\n")


def _markdown(text: str) -> str:
    """`text` as one line, with everything escaped that Markdown would interpret."""
    return "".join("\\" + c if c in "\\`*_[]<>#|" else c for c in console.safe(text))


def place(hit: Hit) -> str:
    """The location of a hit: path:line, path p.N, or the path alone; of a record or a part also its number or id."""
    name = hit.document if _is_of_path(hit) else f"{hit.path} [{hit.document}]"
    if hit.page is not None:
        word = page_name(hit.document)
        return f"{name} p.{hit.page}" if word == "page" else f"{name} {word} {hit.page}"
    return f"{name}:{hit.line}" if hit.line is not None else name


def _table(answers: Iterable[Answer], batch: bool, explain: bool) -> None:
    width = max(40, min(shutil.get_terminal_size().columns, 120))
    colour = console.colours()
    for answer in answers:
        if batch:
            print(_styled(f"{console.safe(answer.id)}: {console.safe(answer.results.query.text)}", BOLD, colour))
        if answer.results.hits:
            print(_styled(_header(answer.results), DIM, colour))
        for hit, snippet in zip(answer.results, answer.snippets(answer.results), strict=True):
            print(_headline(snippet.placed(hit), colour, reranked=answer.results.query.rerank is not None))
            if explain:
                print(_styled("     " + "  ".join(f"{name} {v:.4f}" for name, v in hit.scores.items()), DIM, colour))
            for line in _snippet_lines(hit, snippet, width - 5, colour):
                print("     " + line)
        if not answer.results.hits:
            console.note("no hits")


def _header(results: Results) -> str:
    return HEADER if results.query.rerank is None else HEADER.replace("strength", "strength  rerank", 1)


def _headline(hit: Hit, colour: bool, *, reranked: bool) -> str:
    again = "-" if hit.rerank is None else f"{rounded_down(hit.rerank):.2f}"
    strength = "-" if hit.strength is None else f"{rounded_down(hit.strength):.2f}"
    heading = f"  {console.safe(hit.heading)}" if hit.heading else ""
    more = [f"+{hit.more_in_document} more in this document"] if hit.more_in_document else []
    if hit.near_copies:
        copies = count(len(hit.near_copies), "near copy", "near copies")
        more.append(f"+{copies}: {', '.join(map(console.safe, hit.near_copies[:3]))}")
    where = _styled(console.safe(place(hit)), PLACE, colour)
    rest = _styled(f"  ({'; '.join(more)})" if more else "", DIM, colour)
    judged = f"{strength:>8}  {again:>6}" if reranked else f"{strength:>8}"
    return f"{hit.rank:>3}  {hit.match:<6}  {judged}  {hit.score:7.4f}  {where}{heading}{rest}"


def _snippet_lines(hit: Hit, snippet: Snippet, width: int, colour: bool) -> Iterator[str]:
    """The matching sentence in bold, the text that follows it, and the matched words in colour."""
    styles = [DIM] * len(hit.text)
    styles[snippet.start : snippet.end] = [BOLD] * (snippet.end - snippet.start)
    for start, end in snippet.words:
        styles[start:end] = [WORD] * (end - start)
    first = snippet.start
    last = _word_start(hit.text, first + SNIPPET) if first + SNIPPET < len(hit.text) else len(hit.text)
    shown = [("… ", DIM)] if first else []
    shown += [(console.safe(c), style) for c, style in zip(hit.text[first:last], styles[first:last], strict=True)]
    shown += [(" …", DIM)] if last < len(hit.text) else []
    for line in _wrapped(shown, width):
        runs = groupby(line, lambda piece: piece[1])
        yield "".join(_styled("".join(text for text, _ in run), style, colour) for style, run in runs)


def _word_start(text: str, at: int) -> int:
    """The last word boundary shortly before `at`, else `at` itself, as in CJK text."""
    if at <= 0:
        return 0
    space = max(text.rfind(" ", max(0, at - 30), at), text.rfind("\n", max(0, at - 30), at))
    return space + 1 if space >= 0 else at


def _wrapped(pieces: Sequence[tuple[str, str]], width: int) -> Iterator[list[tuple[str, str]]]:
    """Lines of at most `width` columns, broken at spaces if there are any."""
    line: list[tuple[str, str]] = []
    used = 0
    for text, style in pieces:
        if text == " " and (not line or line[-1][0].endswith(" ")):
            continue
        line.append((text, style))
        used += console.columns(text)
        if used > width:
            at = next((i for i in range(len(line) - 1, 0, -1) if line[i][0] == " "), len(line) - 1)
            yield line[:at]
            line = line[at + 1 :] if line[at][0] == " " else line[at:]
            used = sum(console.columns(t) for t, _ in line)
    if line:
        yield line


def _styled(text: str, style: str, colour: bool) -> str:
    return f"{style}{text}{OFF}" if colour and text else text
