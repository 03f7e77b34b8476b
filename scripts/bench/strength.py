"""How well strength tells answers from foreign questions: the table and the diagram of docs/strength.md.

    python -m scripts.bench.strength                       all seven collections
    python -m scripts.bench.strength scifact peps          some of them
    python -m scripts.bench.strength --home DIR            keep the indexes there for the next run
    python -m scripts.bench.strength --languages           man pages in thirteen languages, with multilingual
    python -m scripts.bench.strength --few                 folders of a dozen notes or pages; daily life

Each collection is indexed with default settings and searched in hybrid mode. Its questions are its test queries; for
PEPs and the httpd manual those of tests/fixtures/questions, and the titles of the documents. Foreign questions are 200
from collections on other subjects. What the rule needs was chosen on SciFact's train queries, MedQuAD and PEPs; the
other figures are reports. Man pages are those of scripts.bench.languages: the line that names a page asks for it, and
the twenty questions on daily life of tests/fixtures/questions/unanswerable.tsv have no answer in any of them. `--few`
deals the sample's 55 answering notes into five folders, whose foreign questions are those of the other notes, and 36
man pages of each of eight languages into three, which are asked the twenty, and the lines of the next folder's pages.
Folders of a dozen notes in five languages are asked what they answer, and what is near their subjects, in their own
language and in English (tests/fixtures/questions/notes.tsv, which nothing was chosen on). The twenty are asked of four
collections as well.

"At best" says what no level of strength can better: the least share of own questions without a good match over all
levels that accept at most so many of the foreign ones, chosen on these very questions. The area under the ROC curve is
the chance that an own question has a stronger hit than a foreign one. Intervals: 95 % of 1,000 bootstrap samples.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scripts.bench import languages
from scripts.shared import figures
from scripts.shared.places import CHECKOUT, DATA, SAMPLE
from semsearch import Document, Encoder, Index, Results, SemsearchError, admin
from semsearch.evaluation import report, retrieval

SUBJECTS = {
    "scifact": "medicine",
    "medquad": "medicine",
    "peps": "computing",
    "cacm": "computing",
    "httpd": "computing",
    "cranfield": "aeronautics",
    "sample": "daily life",
}
FILES = {"peps": DATA / "docs_peps_rst", "httpd": DATA / "docs_httpd_html", "sample": SAMPLE}
ASKED = CHECKOUT / "tests" / "fixtures" / "questions"
QUESTIONS = {"peps": ASKED / "peps.tsv", "httpd": ASKED / "httpd.tsv", "sample": SAMPLE / "queries.tsv"}
CHOSEN_ON = ("scifact train", "medquad", "peps")
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "ru", "zh", "ja", "ko", "ar")
DEALT = ("ar", "zh", "fr", "de", "ja", "ko", "ru", "es")  # into folders
DAILY = ("sample", "medquad", "scifact", "httpd")  # asked the questions on daily life
FOREIGN = 200
MOST_ACCEPTED, MOST_IN_LANGUAGES = 0.1, 0.12  # the goals for foreign questions
DEPTH = 50  # hits of a question: the strongest one may be none of the first ten where it is weak
SHOWN = 10
SAMPLES = 1000
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999, 1.0)


Best: TypeAlias = tuple[float, ...]  # the strength of the strongest hit of each question


@dataclass(frozen=True)
class Questions:
    """Questions that belong to a collection, and the documents judged relevant to each; {} without judgements."""

    collection: str
    split: str
    texts: Mapping[str, str]
    qrels: retrieval.Qrels

    @property
    def name(self) -> str:
        return f"{self.collection} {self.split}".strip()


@dataclass(frozen=True)
class Row:
    """What was measured on one set of questions."""

    name: str
    passages: int
    own: int
    refused: int
    right: int
    right_refused: int
    wrong_strong: int  # first hits that are not judged relevant, and called strong
    foreign: int
    accepted: int
    foreign_strong: int
    weak_above_strong: int  # answers to own and foreign questions with such a pair among their ten hits
    own_best: Best
    foreign_best: Best


def index(name: str, encoder: Encoder, home: Path) -> Index:
    """The index of a collection; made where `home` has none."""
    if name in admin.names(home):
        return Index.open(name, home=home, encoder=encoder)
    opened = Index.create(name, encoder=encoder, home=home)
    if name in FILES:
        opened.sync(FILES[name])
    else:
        opened.add(retrieval.Collection.read(DATA / name).documents())
    return opened


def questions(name: str, opened: Index) -> Iterator[Questions]:
    """The sets of questions of a collection: one for each split, and its titles where it is made of files."""
    if name in FILES:
        lines = QUESTIONS[name].read_text(encoding="utf-8").splitlines()[1:]
        pairs = {text: paths.split() for text, paths in (line.split("\t") for line in lines)}
        judged = {text: dict.fromkeys(paths, 1) for text, paths in pairs.items()}
        yield Questions(name, "questions", {text: text for text in pairs}, judged)
    if name in ("peps", "httpd"):
        titles = {one["id"]: one["title"] or "" for one in opened.documents()}
        titles = {document: title for document, title in titles.items() if len(title.split()) > 1}
        yield Questions(name, "titles", titles, {document: {document: 1} for document in titles})
    if name not in FILES:
        for split in ("train", "test") if name == "scifact" else ("test",):
            collection = retrieval.Collection.read(DATA / name, split)
            texts = {query: collection.queries[query] for query in collection.qrels}
            yield Questions(name, split if name == "scifact" else "", texts, collection.qrels)


def measure(opened: Index, own: Questions, foreign: Sequence[str], hits: list[tuple[float, bool]]) -> Row:
    """Search for own and foreign questions; judged hits are added to `hits` as (strength, relevant)."""
    refused = right = right_refused = wrong_strong = upside_down = 0
    own_best = []
    for query, text in own.texts.items():
        results = opened.search(text, k=DEPTH)
        relevant = {document for document, grade in own.qrels.get(query, {}).items() if grade > 0}
        first = bool(results) and results[0].document in relevant
        refused += not results.good_match
        right += first
        right_refused += first and not results.good_match
        wrong_strong += not first and _is_strong(results)
        upside_down += _has_weak_above_strong(results)
        own_best.append(_best(results))
        if own.split != "titles":
            hits += [(hit.strength or 0.0, hit.document in relevant) for hit in results[:SHOWN]]
    answers = [opened.search(text, k=DEPTH) for text in foreign]
    return Row(
        own.name,
        opened.info()["passages"],
        len(own.texts),
        refused,
        right,
        right_refused,
        wrong_strong,
        len(foreign),
        sum(results.good_match for results in answers),
        sum(map(_is_strong, answers)),
        upside_down + sum(map(_has_weak_above_strong, answers)),
        tuple(own_best),
        tuple(map(_best, answers)),
    )


def _best(results: Results) -> float:
    return max((hit.strength or 0.0 for hit in results), default=0.0)


def _is_strong(results: Results) -> bool:
    return bool(results) and results[0].match == "strong"


def _has_weak_above_strong(results: Results) -> bool:
    words = [hit.match for hit in results[:SHOWN]]
    return "weak" in words and "strong" in words[words.index("weak") :]


def in_language(language: str, encoder: Encoder, home: Path) -> Iterator[Row]:
    """Man pages of a language, their own lines and the questions without an answer, in that language."""
    pages = languages.drawn(language)
    name = f"man-{language}"
    if name in admin.names(home):
        opened = Index.open(name, home=home, encoder=encoder)
    else:
        opened = Index.create(name, encoder=encoder, home=home)
        opened.add([Document(str(at), page.answers) for at, page in enumerate(pages)])
    texts = {str(at): page.asks for at, page in enumerate(pages)}
    own = Questions(f"man pages {language}", "titles", texts, {at: {at: 1} for at in texts})
    with opened:
        row = measure(opened, own, daily(language), [])
    print(row, file=sys.stderr)
    yield replace(row, name=own.collection)


def daily(language: str) -> list[str]:
    """Twenty questions on daily life."""
    head, *lines = (ASKED / "unanswerable.tsv").read_text(encoding="utf-8").splitlines()
    column = head.split("\t").index(language)
    return [line.split("\t")[column] for line in lines]


def in_few(encoder: Encoder, home: Path) -> Iterator[Row]:
    """Folders of a dozen notes and of pages, those of a kind together; then larger collections and daily life."""
    with index("sample", encoder, home) as opened:
        (asked,) = questions("sample", opened)
        answering = sorted({document for relevant in asked.qrels.values() for document in relevant})
        random.Random(0).shuffle(answering)
        notes = [Document(one["document"], one["text"], title=one["title"]) for one in map(opened.get, answering)]
    dealt = []
    for folder in range(5):
        there = set(answering[folder::5])
        qrels = {query: relevant for query, relevant in asked.qrels.items() if there & set(relevant)}
        others = [query for query in asked.texts if query not in qrels]
        own = Questions("eleven notes", "", {query: query for query in qrels}, qrels)
        dealt += _dealt(notes[folder::5], encoder, (own, others))
    yield _together(dealt)
    multilingual = Encoder.load("multilingual")
    strangers, neighbours = [], []
    for language in DEALT:
        pages = languages.drawn(language)[:36]
        documents = [Document(str(at), page.answers) for at, page in enumerate(pages)]
        lines = [
            {one.id: page.asks for one, page in zip(documents[at::3], pages[at::3], strict=True)} for at in range(3)
        ]
        for folder, texts in enumerate(lines):
            own = Questions("twelve pages", "", texts, {at: {at: 1} for at in texts})
            nothing = Questions("twelve pages, lines of others", "", {}, {})
            others = list(lines[(folder + 1) % 3].values())
            both = _dealt(documents[folder::3], multilingual, (own, daily(language)), (nothing, others))
            strangers.append(both[0])
            neighbours.append(both[1])
    yield from (_together(strangers), _together(neighbours))
    by_folder = [_dealt(documents, multilingual, *asked) for documents, *asked in written()]
    yield from map(_together, zip(*by_folder, strict=True))
    for name in DAILY:
        with index(name, encoder, home) as opened:
            *_, own = questions(name, opened)
            yield replace(measure(opened, own, daily("en"), []), name=f"{name}, daily life")


def written() -> Iterator[tuple[list[Document], tuple[Questions, list[str]], tuple[Questions, list[str]]]]:
    """Folders of twelve notes, one a language, with own and foreign questions in that language, and in English."""
    lines = [line.split("\t") for line in (ASKED / "notes.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    for language in dict.fromkeys(line[0] for line in lines):
        there = [line[1:] for line in lines if line[0] == language]
        documents = [Document(note, text, title=title) for asked_in, note, title, text in there if not asked_in]
        own, in_english = (_asked(there, asked_in) for asked_in in (language, "en"))
        yield documents, own, in_english


def _asked(lines: Sequence[Sequence[str]], language: str) -> tuple[Questions, list[str]]:
    """The questions in a language that a note answers, and those that none does."""
    asked = {text: note for asked_in, note, _, text in lines if asked_in == language}
    qrels = {text: {note: 1} for text, note in asked.items() if note}
    name = "twelve notes" + ", asked in English" * (language == "en")
    return Questions(name, "", {text: text for text in qrels}, qrels), [one for one in asked if one not in qrels]


def _dealt(documents: Sequence[Document], encoder: Encoder, *asked: tuple[Questions, Sequence[str]]) -> list[Row]:
    """A row for each pair of own and foreign questions, of one index of these documents."""
    with tempfile.TemporaryDirectory() as folder, Index.create(Path(folder) / "few", encoder=encoder) as opened:
        opened.add(documents)
        return [measure(opened, own, foreign, []) for own, foreign in asked]


def _together(rows: Sequence[Row]) -> Row:
    """The sums of all figures, and the strengths of all questions."""
    name, *columns = zip(*(astuple(row) for row in rows), strict=True)
    return Row(name[0], *(sum(column, type(column[0])()) for column in columns))


def separation(own: Best, foreign: Best, accepted: float) -> NDArray[np.float64]:
    """The share of own questions lost at best with so large a share of foreign ones accepted, and the area under the
    ROC curve: (2, 3), each with the bounds of its interval.
    """
    draw = np.random.default_rng(0).choice
    both = np.array(own), np.array(foreign)
    samples = [_separated(draw(both[0], len(own)), draw(both[1], len(foreign)), accepted) for _ in range(SAMPLES)]
    return np.vstack([_separated(*both, accepted), *np.quantile(samples, (0.025, 0.975), axis=0)]).T


def _separated(own: NDArray[np.float64], foreign: NDArray[np.float64], accepted: float) -> tuple[float, float]:
    ascending = np.sort(foreign)
    lost = own <= ascending[-1 - int(accepted * len(foreign))]
    below, not_above = (np.searchsorted(ascending, own, side) for side in ("left", "right"))
    return float(lost.mean()), float((below + not_above).mean() / 2 / len(foreign))


def diagram(hits: Sequence[tuple[float, bool]], file: Path) -> None:
    """Precision of hits by strength, each bin with its number of hits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    shares, labels = [], []
    for low, high in pairwise(BINS):
        inside = [relevant for strength, relevant in hits if low <= strength < high or strength == high == 1.0]
        shares.append(sum(inside) / len(inside) if inside else 0.0)
        labels.append(f"{low:g} to {high:g}\n{len(inside):,} hits")
    axes.bar(range(len(shares)), shares, color="#4a6fa5")
    axes.set_xticks(range(len(shares)), labels, fontsize=6)
    axes.set_ylabel("share of hits that are judged relevant")
    axes.set_xlabel("strength")
    axes.set_ylim(0, 1)
    figure.savefig(file, dpi=150)


def arguments() -> argparse.Namespace:
    parser = figures.arguments(__doc__)
    parser.add_argument("collections", nargs="*", default=list(SUBJECTS), metavar="COLLECTION")
    parser.add_argument("--languages", action="store_true", help="man pages in thirteen languages instead")
    parser.add_argument("--few", action="store_true", help="folders of a dozen notes and pages instead")
    parser.add_argument("-m", "--model", help="encoder: a name or a folder (default, or multilingual for --languages)")
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--diagram", type=Path, help="write the reliability diagram to this PNG file")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    encoder = Encoder.load(chosen.model or ("multilingual" if chosen.languages else "default"))
    rows: list[Row] = []
    hits: list[tuple[float, bool]] = []
    with tempfile.TemporaryDirectory() as scratch:
        home = chosen.home or Path(scratch)
        if chosen.languages:
            rows = [row for each in LANGUAGES for row in in_language(each, encoder, home)]
        elif chosen.few:
            rows = list(in_few(encoder, home))
        if rows:
            chosen.collections = []
        pool = {name: _foreign_pool(name, encoder, home) for name in SUBJECTS if name in chosen.collections}
        for name in chosen.collections:
            others = [text for other, texts in pool.items() if SUBJECTS[other] != SUBJECTS[name] for text in texts]
            foreign = random.Random(0).sample(others, min(FOREIGN, len(others)))
            with index(name, encoder, home) as opened:
                for own in questions(name, opened):
                    rows.append(measure(opened, own, foreign, hits))
                    print(rows[-1], file=sys.stderr)
    head = ["questions", "passages", "own", "told no good match", "right first", "of those", "wrong first, strong"]
    head += ["foreign", "accepted", "strong", "weak above strong"]
    note = f"Chosen on {', '.join(CHOSEN_ON)}. Encoder {encoder.name} ({encoder.fingerprint})."
    most = MOST_IN_LANGUAGES if chosen.languages else MOST_ACCEPTED
    text = report.markdown(head, [_shown(row) for row in rows])
    head = ["questions", "told no good match", "accepted", f"told at best with {most:.0%} accepted", "area under ROC"]
    text += "\n\n" + report.markdown(head, [_trade_off(row, most) for row in rows if row.own and row.foreign])
    figures.show(text, note, {"encoder": encoder.info, "rows": [vars(row) for row in rows]}, chosen.output)
    if chosen.diagram:
        diagram(hits, chosen.diagram)


def _foreign_pool(name: str, encoder: Encoder, home: Path) -> list[str]:
    """At most 200 of the questions of a collection, drawn at random."""
    with index(name, encoder, home) as opened:
        texts = [text for own in questions(name, opened) for text in own.texts.values()]
    return random.Random(name).sample(texts, min(FOREIGN, len(texts)))


def _shown(row: Row) -> list[str]:
    return [
        row.name,
        f"{row.passages:,}",
        str(row.own),
        _percent(row.refused, row.own),
        str(row.right),
        _percent(row.right_refused, row.right),
        _percent(row.wrong_strong, row.own),
        str(row.foreign),
        _percent(row.accepted, row.foreign),
        _percent(row.foreign_strong, row.foreign),
        str(row.weak_above_strong),
    ]


def _trade_off(row: Row, most: float) -> list[str]:
    shares = [_wilson(row.refused, row.own), _wilson(row.accepted, row.foreign)]
    at_best, area = separation(row.own_best, row.foreign_best, most)
    intervals = (
        f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})" for share, low, high in (*shares, at_best, area)
    )
    return [row.name, *intervals]


def _wilson(part: int, whole: int) -> tuple[float, float, float]:
    """A share and its interval of 95 % (Wilson 1927)."""
    z, share = 1.96, part / whole
    middle, half = share + z**2 / 2 / whole, z * math.sqrt(share * (1 - share) / whole + z**2 / 4 / whole**2)
    return share, max(0.0, middle - half) / (1 + z**2 / whole), (middle + half) / (1 + z**2 / whole)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


if __name__ == "__main__":
    try:
        main()
    except SemsearchError as error:
        sys.exit(f"error: {error}")
