"""LIMIT-small: what no vector of 384 numbers can hold, hybrid search still finds by its words.

Forty-six people like 45 things each, and every two of them share one that nobody else likes: "Who likes X?" has
two answers, and all 1,035 pairs are asked for. Made anew from the tokenizer's words, as the data set is elsewhere.

Source: Weller et al. 2025, "On the Theoretical Limitations of Embedding-Based Retrieval", arXiv 2508.21038.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import combinations

import pytest

from semsearch import Document, Encoder, Index
from semsearch.models.model_folders import ASSETS

PEOPLE = 46
ASKED = 150  # of the 1,035 questions
NAMES = [
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gwen",
    "Hugo",
    "Ida",
    "Jon",
    "Kim",
    "Leo",
    "Mia",
    "Ned",
    "Olga",
    "Paul",
    "Quinn",
    "Rosa",
    "Sam",
    "Tess",
    "Uma",
    "Vera",
    "Walt",
    "Xena",
    "Yuri",
    "Zoe",
    "Abel",
    "Beth",
    "Carl",
    "Dora",
    "Emil",
    "Faye",
    "Glen",
    "Hope",
    "Ivan",
    "June",
    "Kurt",
    "Lena",
    "Mark",
    "Nora",
    "Otto",
    "Pia",
    "Rolf",
    "Sara",
    "Theo",
    "Ursula",
]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Index, dict[str, set[str]]]]:
    """An index of the people, and of each thing the two who like it."""
    tokenizer = json.loads((ASSETS / "minilm" / "tokenizer.json").read_text(encoding="utf-8"))
    words = sorted(word for word in tokenizer["model"]["vocab"] if word.isalpha() and word.isascii() and len(word) > 6)
    pairs = list(combinations(NAMES, 2))
    things = dict(zip(random.Random(0).sample(words, len(pairs)), pairs, strict=True))
    likes = {name: [thing for thing, pair in things.items() if name in pair] for name in NAMES}
    folder = tmp_path_factory.mktemp("limit") / "people"
    with Index.create(folder, encoder=Encoder.load("minilm")) as index:
        index.add([Document(name, f"{name} likes {', '.join(liked)}.") for name, liked in likes.items()])
        yield index, {thing: set(pair) for thing, pair in things.items()}


def recall(index: Index, things: dict[str, set[str]], mode: str) -> float:
    """The share of the two who like a thing that are the first two hits, over some of the things."""
    asked = random.Random(1).sample(sorted(things), ASKED)
    answers = index.search([f"Who likes {thing}?" for thing in asked], k=2, mode=mode)
    shares = [
        len(things[thing] & {hit.document for hit in hits}) / 2 for thing, hits in zip(asked, answers, strict=True)
    ]
    return sum(shares) / len(shares)


def test_hybrid_search_finds_every_pair_of_forty_six(people: tuple[Index, dict[str, set[str]]]) -> None:
    assert len(NAMES) == len(set(NAMES)) == PEOPLE
    assert recall(*people, "semantic") < 0.5  # else this is no test of it
    assert recall(*people, "hybrid") > 0.9


def test_its_answers_are_good_matches(people: tuple[Index, dict[str, set[str]]]) -> None:
    index, things = people
    answers = index.search([f"Who likes {thing}?" for thing in sorted(things)[:40]], k=2)
    assert sum(answer.good_match for answer in answers) >= 38
