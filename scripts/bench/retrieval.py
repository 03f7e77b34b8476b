"""Retrieval quality of semsearch on SciFact, Cranfield and CACM, for keyword, semantic and hybrid search.

    python -m scripts.bench.retrieval                 the table of the README
    python -m scripts.bench.retrieval --windows       the table of docs/choices.md, which compares window sizes
    python -m scripts.bench.retrieval --questions     the table of docs/ranking.md: our own questions; manuals are
                                                      fetched from Debian

Each collection goes into a temporary index, one document per record, and is searched with
`Query(k=100, group="document")`. Windows are chosen on SciFact's train queries and Cranfield, never on SciFact's test.
With `--cache`, vectors are kept for the next run or another window with the same passages.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean

from scripts.shared import debian, figures
from scripts.shared.places import CHECKOUT, DATA, SAMPLE
from semsearch import Encoder, Index, admin
from semsearch.chunking.splitter import Splitter
from semsearch.errors import SemsearchError
from semsearch.evaluation import report, retrieval
from semsearch.types import Mode

MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
MEASURES = ("nDCG@10", "recall@100")
TEST = {"scifact": "test", "cranfield": "test", "cacm": "test"}
CHOICE = {"scifact": "train", "cranfield": "test"}
WINDOWS = (
    *(Splitter("sentences", size, overlap) for size, overlap in ((64, 0), (96, 0), (128, 0), (128, 32))),
    *(Splitter("sentences", size, 0) for size in (192, 256)),
    Splitter("none"),
)
# Published or measured over whole documents, nDCG@10: README of the data folder
REFERENCE = {
    "BM25 (reference)": {"scifact": 0.669, "cranfield": 0.339, "cacm": 0.447},
    "all-MiniLM-L6-v2, fp32, first 256 tokens (reference)": {"scifact": 0.645, "cranfield": 0.368, "cacm": 0.409},
}
# Files with questions of our own; of each list every second question was used to choose the ranking
FOLDERS = {"peps": DATA / "docs_peps_rst", "httpd": DATA / "docs_httpd_html", "sample": SAMPLE, "manuals": None}
ASKED = CHECKOUT / "tests" / "fixtures" / "questions"
QUESTIONS = {name: SAMPLE / "queries.tsv" if name == "sample" else ASKED / f"{name}.tsv" for name in FOLDERS}
HALVES = {"choosing": 0, "reporting": 1}
# Of the pages of these packages of Debian, those that a question names and every sixth of the others
PACKAGES = {
    "git": ("git-doc", r"usr/share/doc/git-doc/(.+\.html)"),
    "postgresql": ("postgresql-doc-15", r"usr/share/doc/postgresql-doc-15/html/(.+\.html)"),
    "sqlite": ("sqlite3-doc", r"usr/share/doc/sqlite3/([^/]+\.html)"),
    "python": ("python3.11-doc", r"usr/share/doc/python3.11/html/(faq/.+\.html)"),
    "debian-faq": ("debian-faq", r"usr/share/doc/debian/FAQ/(.+\.en\.html)"),
}
EVERY = 6


@dataclass(frozen=True)
class Run:
    """One collection under one window: measures by mode, and what the index was."""

    collection: str
    window: str
    passages: int
    index_s: float
    scores: dict[str, dict[str, float]]


def measure(name: str, split: str, encoder: Encoder, splitter: Splitter | None, modes: Sequence[Mode] = MODES) -> Run:
    """Index the collection `name` in a temporary home and search it in every mode."""
    collection = retrieval.Collection.read(DATA / name, split)
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        with Index.create(name, encoder=encoder, home=Path(home), splitter=splitter) as index:
            added = index.add(collection.documents())
            took = time.perf_counter() - began
            scores: dict[str, dict[str, float]] = {}
            for mode in modes:
                found = retrieval.evaluate(retrieval.ranked(index.search, mode), collection.queries, collection.qrels)
                scores[mode] = {measure: found[measure] for measure in (*MEASURES, "MRR@10", "MAP@100")}
    window = words(splitter) if splitter else "default"
    print(f"{name} {split}, {window}: {added.passages} passages, {took:.0f} s, {scores}", file=sys.stderr)
    return Run(name, window, added.passages, took, scores)


def words(splitter: Splitter) -> str:
    if splitter.kind == "none":
        return "whole document"
    return f"{splitter.size} tokens" + (f", overlap {splitter.overlap}" if splitter.overlap else "")


def quality(encoder: Encoder, collections: Sequence[str]) -> tuple[list[Run], str]:
    """The README's table: a row a mode, then the references, in percent."""
    runs = [measure(name, TEST[name], encoder, None) for name in collections]
    head = ["nDCG@10 / recall@100", *(run.collection for run in runs), "mean"]
    rows = []
    for mode in MODES:
        pairs = [[run.scores[mode][measure] for measure in MEASURES] for run in runs]
        pairs.append([fmean(column) for column in zip(*pairs, strict=True)])
        rows.append([mode, *(" / ".join(f"{100 * value:.1f}" for value in pair) for pair in pairs)])
    for title, published in REFERENCE.items():
        values = [published[run.collection] for run in runs]
        rows.append([title, *(f"{100 * value:.1f}" for value in [*values, fmean(values)])])
    return runs, report.markdown(head, rows)


def windows(encoder: Encoder, collections: Sequence[str]) -> tuple[list[Run], str]:
    """The table of docs/choices.md: a row a window, nDCG@10 in percent."""
    chosen = [name for name in collections if name in CHOICE]
    head = ["window", *(f"{name} {mode}" for name in chosen for mode in MODES), "mean semantic", "mean hybrid"]
    runs, rows = [], []
    for splitter in WINDOWS:
        own = [measure(name, CHOICE[name], encoder, splitter) for name in chosen]
        scores = [[run.scores[mode]["nDCG@10"] for mode in MODES] for run in own]
        means = [fmean(column) for column in zip(*scores, strict=True)][1:]
        rows.append([words(splitter), *(f"{100 * value:.1f}" for value in [*chain(*scores), *means])])
        runs += own
    return runs, report.markdown(head, rows)


def questions(encoder: Encoder, home: Path) -> tuple[list[Run], str]:
    """The table of docs/ranking.md: nDCG@10, and the share of questions with a right document first and in the first 3.

    In percent, by half and mode. Indexes that `home` has are used as they are.
    """
    runs, rows = [], []
    for name in FOLDERS:
        lines = QUESTIONS[name].read_text(encoding="utf-8").splitlines()
        judged = [(text, documents.split()) for text, documents in (line.split("\t") for line in lines[1:])]
        began = time.perf_counter()
        with indexed(name, encoder, home, {page for _, documents in judged for page in documents}) as index:
            passages, took = index.info()["passages"], time.perf_counter() - began
            for half, first in HALVES.items():
                scores: dict[str, dict[str, float]]
                scores = {mode: answered(index, judged[first::2], mode) for mode in MODES}
                runs.append(Run(name, half, passages, took, scores))
                cells = [" / ".join(f"{100 * value:.1f}" for value in scores[mode].values()) for mode in MODES]
                rows.append([f"{name}, {half} half", *cells])
    return runs, report.markdown(["nDCG@10 / hit@1 / hit@3", *MODES], rows)


def indexed(name: str, encoder: Encoder, home: Path, named: set[str]) -> Index:
    """The index of a collection, with the pages that its questions name."""
    if name in admin.names(home):
        return Index.open(name, encoder=encoder, home=home)
    index = Index.create(name, encoder=encoder, home=home)
    if folder := FOLDERS[name]:
        index.sync(folder)
        return index
    with tempfile.TemporaryDirectory() as pages:
        for part, (package, pattern) in PACKAGES.items():
            matched = ((re.fullmatch(pattern, path), content) for path, content in debian.contents(package))
            read = sorted((f"{part}/{match[1]}", content) for match, content in matched if match)
            for at, (page, content) in enumerate(read):
                if page in named or at % EVERY == 0:
                    file = Path(pages, page)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        index.sync(pages)
    return index


def answered(index: Index, judged: Sequence[tuple[str, list[str]]], mode: Mode) -> dict[str, float]:
    """Means over the questions, in 0 … 1."""
    found: list[tuple[float, float, float]] = []
    search = retrieval.ranked(index.search, mode)
    for (_, documents), ranking in zip(judged, search([text for text, _ in judged]), strict=True):
        first, first_3 = (float(bool(set(documents).intersection(ranking[:k]))) for k in (1, 3))
        found.append((retrieval.ndcg(ranking, dict.fromkeys(documents, 1)), first, first_3))
    return dict(zip(("nDCG@10", "hit@1", "hit@3"), map(fmean, zip(*found, strict=True)), strict=True))


def arguments() -> argparse.Namespace:
    parser = figures.arguments(__doc__)
    parser.add_argument("collections", nargs="*", default=list(TEST), metavar="COLLECTION", help=", ".join(TEST))
    parser.add_argument("-m", "--model", default="default", help="encoder: a name or a folder")
    parser.add_argument("--windows", action="store_true", help="compare windows instead (choosing data only)")
    parser.add_argument("--questions", action="store_true", help="ask our own questions instead")
    parser.add_argument("--home", type=Path, help="keep the indexes of --questions there for the next run")
    parser.add_argument("--cache", type=Path, help="keep vectors in this file between runs")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.collections if name not in TEST]
    if unknown:
        parser.error(f"no collection is called {unknown[0]!r}. Choose from: {', '.join(TEST)}.")
    return chosen


def main() -> None:
    chosen = arguments()
    with tempfile.TemporaryDirectory() as scratch:
        encoder = Encoder.load(chosen.model, cache=chosen.cache or Path(scratch, "vectors.db"))
        if chosen.questions:
            runs, shown = questions(encoder, chosen.home or Path(scratch))
        else:
            runs, shown = (windows if chosen.windows else quality)(encoder, chosen.collections)
    measured = {"encoder": encoder.info, "runs": [vars(run) for run in runs]}
    figures.show(shown, f"Encoder {encoder.name} ({encoder.fingerprint}).", measured, chosen.output)


if __name__ == "__main__":
    try:
        main()
    except SemsearchError as error:
        sys.exit(f"error: {error}")
