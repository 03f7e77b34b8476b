"""Judgements of hits, as a person gives them while searching: for each index a set of questions with judged documents.

They are kept beside the index in `.judgements/NAME.json`, for their owner alone, and follow the index when it is
renamed. They outlive its removal: the same documents under another encoder can be measured with them. A change replaces
the file as a whole once it is on disk, under a lock, so that nothing is lost by a kill or by several processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semsearch import settings
from semsearch.errors import Corrupt, Locked, NotFound, UsageError
from semsearch.evaluation.judged_queries import read_qrels, read_queries
from semsearch.evaluation.retrieval import Qrels, check_texts
from semsearch.types import JsonObject
from semsearch.utils import atomic_write

QUERIES, QRELS = "queries.jsonl", "qrels.txt"  # the files of `export`
PATIENCE = 10.0  # seconds to wait for another process that writes
Graded = dict[str, dict[str, int]]  # question -> document id -> grade
Strengths = dict[str, dict[str, float]]  # question -> document id -> the strength of the hit that was judged


@dataclass(frozen=True, slots=True)
class JudgedQuestions:
    """Questions by id with their judgements, as `evaluate` takes them.

    `left_out` are questions without a relevant document: every search would score 0 with them.
    """

    queries: Mapping[str, str]
    qrels: Qrels
    left_out: tuple[str, ...]


class Judgements:
    """The judgements of the index called `index` (below the home of indexes), or at the path `index`.

    A grade says how well a document answers a question: 0 and below not at all, 1 and above that it does. White space
    at the ends of a question, and how much there is between its words, does not count.
    """

    def __init__(self, index: str | Path, home: Path | None = None) -> None:
        self.file = settings.judgements_file(settings.index_folder(index, home))

    def grades(self) -> Graded:
        """The grade of each judged document, by question, the oldest question first. Raises Corrupt."""
        return self._read()[0]

    def rejected(self) -> list[float]:
        """Of every question with judged hits of which none helps, the strength of the strongest. Raises Corrupt."""
        graded, strengths = self._read()
        unhelped = (text for text, of in graded.items() if all(grade <= 0 for grade in of.values()))
        return [max(strengths[text].values()) for text in unhelped if strengths.get(text)]

    def _read(self) -> tuple[Graded, Strengths]:
        try:
            questions = json.loads(self.file.read_text(encoding="utf-8"))["questions"]
            graded = {
                str(each["text"]): {str(one): int(grade) for one, grade in each["grades"].items()} for each in questions
            }
            return graded, {
                str(each["text"]): {str(one): float(value) for one, value in each.get("strengths", {}).items()}
                for each in questions
            }
        except FileNotFoundError:
            return {}, {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            fix = "Repair the file, or move it away to begin anew."
            raise Corrupt(f"the judgements in {self.file} cannot be read: {error}.", fix) from error

    def of(self, question: str) -> dict[str, int]:
        """The grade of each document that was judged for this question. Raises Corrupt."""
        return self.grades().get(_normal(question), {})

    def judge(self, question: str, document: str, grade: int | None, strength: float | None = None) -> None:
        """Keep the grade of a document for a question; None takes it back. `strength` is that of the hit.

        Raises UsageError for a question without a word, Locked, Corrupt, OSError.
        """
        text = _normal(question)
        if not text:
            raise UsageError("a judgement needs a question.", "Search for something, then judge its hits.")
        with self._changed() as (graded, strengths):
            graded.setdefault(text, {}).pop(document, None)
            strengths.setdefault(text, {}).pop(document, None)
            if grade is not None:
                graded[text][document] = grade
                if strength is not None:
                    strengths[text][document] = round(strength, 4)
            if not graded[text]:
                del graded[text]

    def forget(self, question: str | None = None) -> None:
        """Drop a question with its judgements; without one, all of them. Raises Locked, Corrupt, OSError."""
        with self._changed() as (graded, _):
            for text in list(graded) if question is None else [_normal(question)]:
                graded.pop(text, None)

    def add(self, queries: Mapping[str, str], qrels: Qrels) -> int:
        """Add judgements of files, which replace those that are there for the same document; returns how many they are.

        Raises UsageError for a judged query without text, and Locked, Corrupt, OSError.
        """
        check_texts(queries, qrels)
        with self._changed() as (graded, _):
            for query, grades in qrels.items():
                graded.setdefault(_normal(queries[query]), {}).update(grades)
        return sum(map(len, qrels.values()))

    def test_set(self) -> JudgedQuestions:
        """The questions with a relevant document, numbered from q1, and those that are left out. Raises Corrupt."""
        graded = self.grades()
        usable = {text: of for text, of in graded.items() if any(grade > 0 for grade in of.values())}
        named = {f"q{number}": text for number, text in enumerate(usable, 1)}
        left_out = tuple(text for text in graded if text not in usable)
        return JudgedQuestions(named, {name: usable[text] for name, text in named.items()}, left_out)

    def written(self) -> tuple[str, str]:
        """All judgements as two files: queries as JSON lines, and qrels of TREC, as `semsearch eval` reads both.

        Columns are separated by tabs, so that ids may contain spaces. Raises UsageError for an id with a tab or a line
        break, Corrupt.
        """
        queries, qrels = "", ""
        for number, (text, of) in enumerate(self.grades().items(), 1):
            queries += json.dumps({"_id": f"q{number}", "text": text}, ensure_ascii=False) + "\n"
            for document, grade in of.items():
                qrels += f"q{number}\t0\t{_one_cell(document)}\t{grade}\n"
        return queries, qrels

    def export(self, folder: str | Path) -> list[Path]:
        """Write the files of `written` into a folder, queries.jsonl and qrels.txt; their paths.

        Raises NotFound where nothing was judged, UsageError, Corrupt, OSError.
        """
        queries, qrels = self.written()
        if not qrels:
            raise NotFound(f"{self.file.stem} has no judgements.", "Mark hits on the page Search, or import some.")
        files = [Path(folder) / QUERIES, Path(folder) / QRELS]
        Path(folder).mkdir(parents=True, exist_ok=True)
        for file, content in zip(files, (queries, qrels), strict=True):
            atomic_write.write_text(file, content)
        return files

    def renamed(self, new: str) -> None:
        """Follow the index to its new name. Judgements that are there already stay as they are. Raises OSError."""
        target = self.file.with_stem(new)
        if self.file.exists() and not target.exists():
            self.file.rename(target)

    @contextmanager
    def _changed(self) -> Iterator[tuple[Graded, Strengths]]:
        """The judgements, to be changed; they are on disk at the end."""
        from filelock import FileLock, Timeout  # 90 ms to import, and readers need no lock

        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.parent.chmod(0o700)
        try:
            with FileLock(self.file.with_suffix(".lock"), timeout=PATIENCE):
                graded, strengths = self._read()
                yield graded, strengths
                questions: list[JsonObject] = [
                    {"text": text, "grades": of, "strengths": strengths.get(text, {})} for text, of in graded.items()
                ]
                content = json.dumps({"schema": 1, "questions": questions}, ensure_ascii=False, indent=1)
                atomic_write.write_text(self.file, content + "\n")
        except Timeout:
            raise Locked(f"{self.file} is being written to by another process.", "Try again.") from None


def read_judgements(
    queries: str, qrels: str, names: tuple[str, str] = (QUERIES, QRELS)
) -> tuple[dict[str, str], Graded]:
    """The content of two files, queries and qrels, as `Judgements.add` takes it; `names` are those in errors.

    Raises UsageError with file and line.
    """
    lines = [
        [(number, line.removesuffix("\r")) for number, line in enumerate(content.split("\n"), 1)]
        for content in (queries, qrels)
    ]
    return dict(read_queries(lines[0], names[0])), read_qrels(lines[1], names[1])


def _normal(question: str) -> str:
    return " ".join(question.split())


def _one_cell(document: str) -> str:
    if any(sign in document for sign in "\t\n\r"):
        problem = f"the id {document!r} has a tab or a line break, which qrels of TREC cannot contain."
        raise UsageError(problem, "Take back its judgement, or rename the document.")
    return document
