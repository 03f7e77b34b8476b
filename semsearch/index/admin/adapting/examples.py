"""What an encoder is trained on, chosen by and tested by: rows of texts, and two sets of questions, in one JSON object.

rows     a question, its text, a text that the encoder takes for it, and a sentence: (anchor, positive, negative, …)
sources  for each row the documents that answer its question, and those of its text and of its negative
kept     general texts whose vectors are to stay
choice   queries, passages, and the places of the passages that answer each query
test     questions with the grade of each document, the documents among which they are asked, and what else is there
"""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.chunking.sentences import sentences
from semsearch.encoders import pair_similarity
from semsearch.errors import UsageError
from semsearch.evaluation.judged_queries import json_object
from semsearch.evaluation.judgements import Graded, Judgements
from semsearch.index.admin.adapting.questions import Collection, Pair, Part, keywords, part_of, spread
from semsearch.index.index import Index
from semsearch.models import model_folders
from semsearch.stores import null_queries
from semsearch.types import JsonObject
from semsearch.utils.vectors import row_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

GENERAL = model_folders.ASSETS / "general.json.xz"  # made by scripts/encoders/general_sample.py
MOST_PAIRS = 20_000  # that are trained on
CHARACTERS = 1_200  # of a text in training, which reads 128 tokens
NEAREST = 32  # of the passages nearest to a question, of which one becomes its negative
LIKE = 0.95  # cosine of a passage to the right one, and share of its cosine to the question: above, it may be right too
CHOICE_QUESTIONS, CHOICE_PASSAGES = 150, 400
TEST_QUESTIONS = 400
TEST_CHARACTERS, OTHER_CHARACTERS = 2_000_000, 1_000_000  # of the documents that answer, and of others beside them
ALL_TESTED = 200  # judged questions up to which all are for the test
JUDGED_ENOUGH = 100  # judged questions in the test from which on no others are asked


@cache
def general() -> JsonObject:
    """The packaged sample: `texts`, `passages` and `queries`, each with the place of its passage."""
    content: JsonObject = json.loads(lzma.decompress(GENERAL.read_bytes()))
    return content


def kept_texts(index: Index) -> list[str]:
    """General texts: those of the sample, everyday sentences, and questions in the languages of the index."""
    asked = [
        text for code in null_queries.languages_of(index.store.reader) for text in sum(null_queries.questions(code), ())
    ]
    return [*general()["texts"], *pair_similarity.unrelated_texts(), *asked]


def judged(index: Index, file: Path | None) -> Graded:
    """The judgements in a file, else those that were given on the index; only questions that a document in it answers.

    A file has an object {"text": question, "grades": {document: grade}} a line. Raises UsageError, Corrupt.
    """
    graded = Judgements(index.path).grades() if file is None else dict(_graded(file))
    known = set(index.store.reader.document_ids(None))
    right = {text: {name for name, grade in grades.items() if grade > 0} for text, grades in graded.items()}
    found = {text: grades for text, grades in graded.items() if right[text] & known}
    if file is not None and not found:
        raise UsageError(f"{file} names no document of {index.name} as an answer.", "Name documents as hits do.")
    return found


def _graded(file: Path) -> Sequence[tuple[str, dict[str, int]]]:
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.strip():
            one = json_object(line, file, number)
            try:
                grades = {str(document): int(grade) for document, grade in one["grades"].items()}
                found.append((" ".join(str(one["text"]).split()), grades))
            except (KeyError, TypeError, ValueError, AttributeError):
                example = 'Write {"text": "…", "grades": {"DOCUMENT": 1}}.'
                raise UsageError(f"{file}:{number}: not a judged question.", example) from None
    return found


def part_of_judged(question: str, count: int) -> Part:
    """The part of one of so many judged questions."""
    return "test" if count <= ALL_TESTED else part_of(f"judged: {question}")


def data(
    index: Index, parts: Mapping[Part, Collection], graded: Graded, seed: int, most: int = MOST_PAIRS
) -> JsonObject:
    """All of it, from at most so many pairs drawn with `seed`; choice and test are always the same."""
    train, chance = parts["train"], random.Random(seed)
    pairs = spread([*train.pairs, *_judged_pairs(index, train, "train", graded)], most, seed)
    negatives = _negatives(index, pairs, graded, chance)
    rows = {
        "anchor": in_turn([pair.question for pair in pairs]),
        "positive": [pair.text[:CHARACTERS] for pair in pairs],
        "negative": [pair.text[:CHARACTERS] for pair in negatives],
        "sentence": [pair.text[slice(*chance.choice(sentences(pair.text[:CHARACTERS])))] for pair in pairs],
    }
    sources = [
        (sorted(_right(pair, graded)), pair.document, negative.document)
        for pair, negative in zip(pairs, negatives, strict=True)
    ]
    choice = _choice(parts["choice"], _judged_pairs(index, parts["choice"], "choice", graded), graded)
    return {"rows": rows, "sources": sources, "kept": kept_texts(index), "choice": choice, "test": _test(parts, graded)}


def _right(pair: Pair, graded: Graded) -> set[str]:
    """The documents that answer the question of a pair."""
    return {pair.document} | {name for name, grade in graded.get(pair.question, {}).items() if grade > 0}


def _judged_pairs(index: Index, collection: Collection, part: Part, graded: Graded) -> list[Pair]:
    """Pairs of the judged questions of a part, with up to three of their documents there."""
    found = []
    for question, grades in graded.items():
        if part_of_judged(question, len(graded)) == part:
            relevant = [name for name, grade in grades.items() if grade > 0 and collection.documents.get(name)]
            for name in random.Random(question).sample(relevant, min(3, len(relevant))):
                first = int(next(iter(index.store.reader.passage_ids([name])), 0))
                found.append(Pair(question, collection.documents[name], name, "judged", first))
    return found


def _negatives(index: Index, pairs: Sequence[Pair], graded: Graded, chance: random.Random) -> list[Pair]:
    """For each pair one of another document, whose text the encoder finds for the question though it is unlike the
    right one; any other where there is none."""
    passages = {pair.passage: pair for pair in pairs if pair.passage}
    stored = _stored(index, sorted(passages))
    places = {passage: at for at, passage in enumerate(stored)}
    rows = np.stack(list(stored.values())) if stored else np.zeros((0, index.encoder.dim), np.float32)
    ids, numbers = list(stored), {pair.document: at for at, pair in enumerate(pairs)}
    owners = np.array([numbers[passages[passage].document] for passage in stored], dtype=np.int64)
    found: list[Pair] = []
    for start in range(0, len(pairs), 256):
        some = pairs[start : start + 256]
        asked = index.encoder.encode([pair.question for pair in some], role="query")
        for pair, cosines in zip(some, asked @ rows.T, strict=True):
            own = places.get(pair.passage)
            right = _right(pair, graded)
            allowed = ~np.isin(owners, [numbers[name] for name in right if name in numbers])
            if own is not None:
                allowed &= (rows @ rows[own] < LIKE) & (cosines < LIKE * max(float(cosines[own]), 0.0))
            near = _nearest(np.where(allowed, cosines, -np.inf))
            some_others = chance.sample(pairs, min(NEAREST, len(pairs)))
            others = [passages[ids[at]] for at in near] or [one for one in some_others if one.document not in right]
            found.append(chance.choice(others or some_others))
    return found


def _nearest(cosines: NDArray[np.float32]) -> list[int]:
    best = np.argpartition(-cosines, min(NEAREST, len(cosines) - 1))[:NEAREST] if len(cosines) else np.array([], int)
    return [int(at) for at in best if np.isfinite(cosines[at])]


def _stored(index: Index, passages: Sequence[int]) -> dict[int, Vectors]:
    """The stored vectors of passages, by id; one that is deleted meanwhile is left out."""
    pieces = index.store.reader.vectors(index.store.space.id, ids=row_ids(passages))
    return {number: row for ids, rows in pieces for number, row in zip(ids.tolist(), rows, strict=True)}


def _choice(part: Collection, judged_pairs: Sequence[Pair], graded: Graded) -> JsonObject:
    """Questions by which the best weights are chosen, and the places of the passages that answer each."""
    asked = spread([*judged_pairs, *(part.names() or part.pairs)], CHOICE_QUESTIONS)
    others = spread(part.pairs, CHOICE_PASSAGES)
    owners = {pair.text[:CHARACTERS]: pair.document for pair in (*asked, *others)}
    passages = list(owners)[:CHOICE_PASSAGES]
    place = {text: at for at, text in enumerate(passages)}
    kept = list({pair.question: pair for pair in asked if pair.text[:CHARACTERS] in place}.values())
    return {
        "queries": in_turn([pair.question for pair in kept]),
        "passages": passages,
        "relevant": [
            sorted(
                {place[pair.text[:CHARACTERS]]}
                | {at for text, at in place.items() if graded.get(pair.question, {}).get(owners[text], 0) > 0}
            )
            for pair in kept
        ],
    }


def in_turn(questions: Sequence[str]) -> list[str]:
    """Every second one as keywords: one form of each, so that no two of them say the same."""
    return [keywords(text) if at % 2 else text for at, text in enumerate(questions)]


def _test(parts: Mapping[Part, Collection], graded: Graded) -> JsonObject:
    """Judged questions of the test part, and titles and headings where these are few."""
    part, room = parts["test"], [TEST_CHARACTERS]
    questions: list[JsonObject] = []
    tested = {text: grades for text, grades in graded.items() if part_of_judged(text, len(graded)) == "test"}
    everywhere = {name: text for one in parts.values() for name, text in one.documents.items()}
    searched = part.documents if len(graded) > ALL_TESTED else everywhere
    chosen: dict[str, str] = {}

    def fits(names: Sequence[str]) -> bool:
        new = {name: searched[name] for name in names if name not in chosen}
        if (size := sum(map(len, new.values()))) > room[0]:
            return False
        room[0] -= size
        chosen.update(new)
        return True

    for text, grades in list(tested.items())[:TEST_QUESTIONS]:
        here = {name: grade for name, grade in grades.items() if name in searched}
        if any(grade > 0 for grade in here.values()) and fits(list(here)):
            questions.append({"text": text, "grades": here, "kind": "judged"})
    if len(questions) < JUDGED_ENOUGH:
        asked = [pair for pair in spread(part.names(), TEST_QUESTIONS) if fits([pair.document])]
        for text, pair in zip(in_turn([pair.question for pair in asked]), asked, strict=True):
            questions.append({"text": text, "grades": {pair.document: 1}, "kind": pair.kind})
    unsure = {name for grades in tested.values() for name, grade in grades.items() if grade > 0}
    others, left = [], OTHER_CHARACTERS
    for name, text in everywhere.items():
        if text and name not in chosen and name not in unsure and len(text) <= left:
            others.append(name)
            left -= len(text)
    return {"questions": questions, "documents": chosen | {name: everywhere[name] for name in others}}
