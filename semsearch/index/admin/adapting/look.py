"""The look at an index before anything is trained: what there is to learn from, and whether that is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from semsearch.encoders.factory import HASHING
from semsearch.errors import SemsearchError
from semsearch.evaluation.judgements import Graded
from semsearch.index.admin.adapting import examples
from semsearch.index.admin.adapting.questions import Collection, Part, spread
from semsearch.index.admin.languages import languages_of_index, stated_languages
from semsearch.index.index import Index
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.types import JsonObject

LEAST_PASSAGES = 2_000
LEAST_PAIRS, LEAST_QUESTIONS = 300, 40  # in training, and in the test: fewer show no difference of a few points
MOST_UNREAD = 0.5  # share of the texts in languages that the encoder does not read
ASKED, AMONG = 100, 10  # pairs whose text is looked for among as many, and the ranks that count
LEAST_AGREEMENT = 0.25  # share of them that are found: 0.1 is chance, titles of their own texts reach 0.6 and more


@dataclass(frozen=True, slots=True)
class AdaptLook:
    """What an index offers. `pairs` to train on by kind, `questions` for choice and test, `judged` ones in all.

    `agreement` is the share of questions whose text the encoder finds among others, 0.1 by chance. `unread`: share of
    the passages in languages that the encoder does not read. `enough` without `reasons` against it. `seconds_per_step`
    and `hours` were measured on this machine; None where nothing was.
    """

    index: str
    encoder: str
    base: str
    documents: int
    passages: int
    pairs: Mapping[str, int]
    questions: Mapping[str, int]
    judged: int
    agreement: float | None
    unread: float
    reasons: tuple[str, ...] = ()
    steps: int = 0
    seconds_per_step: float | None = None
    hours: float | None = None

    @property
    def enough(self) -> bool:
        return not self.reasons

    def as_json(self) -> JsonObject:
        return {**asdict(self), "enough": self.enough}


def look(index: Index, base: str, parts: Mapping[Part, Collection], graded: Graded) -> AdaptLook:
    """What there is in these parts of an index, and the reasons why it is not enough, each a sentence."""
    state, train = index.store.reader.state(), parts["train"]
    kinds = Counter(pair.kind for pair in train.pairs)
    questions = {part: len(parts[part].names()) for part in ("choice", "test")}
    tested = sum(examples.part_of_judged(text, len(graded)) == "test" for text in graded)
    unread, agreement = languages_of_index(index).unread(stated_languages(index)), _agreement(index, train)
    pairs, asked = sum(kinds.values()) + len(graded) - tested, questions["test"] + tested
    reasons = []
    if state.passages < LEAST_PASSAGES:
        reasons.append(f"it has {state.passages:,} passages, and training needs about {LEAST_PASSAGES:,}")
    if pairs < LEAST_PAIRS:
        sources = "titles, headings and first sentences"
        reasons.append(f"its {sources} make {pairs:,} questions to train on, and {LEAST_PAIRS:,} are needed")
    if asked < LEAST_QUESTIONS:
        reasons.append(f"{asked:,} titles, headings and judged questions are for the test, of {LEAST_QUESTIONS} needed")
    if unread > MOST_UNREAD:
        change = f"change it first: semsearch reembed {index.name} -m multilingual"
        reasons.append(f"{unread:.0%} of its texts are in languages that its encoder does not read ({change})")
    if agreement is not None and agreement < LEAST_AGREEMENT:
        by_chance = f"the encoder finds {agreement:.0%} of the texts by them, and chance {AMONG / ASKED:.0%}"
        reasons.append(f"its titles and headings do not describe its texts: {by_chance}")
    return AdaptLook(
        index=index.name,
        encoder=index.store.space.name,
        base=base,
        documents=state.documents,
        passages=state.passages,
        pairs={str(kind): number for kind, number in kinds.items()},
        questions=questions,
        judged=len(graded),
        agreement=agreement,
        unread=round(unread, 3),
        reasons=tuple(reasons),
    )


def _agreement(index: Index, train: Collection) -> float | None:
    """The share of questions for whose text the encoder has a rank of AMONG or better; None for too few of them."""
    pairs = spread(train.pairs, ASKED)
    if len(pairs) < ASKED:
        return None
    texts = index.encoder.encode([pair.text for pair in pairs], role="passage")
    cosines = index.encoder.encode([pair.question for pair in pairs], role="query") @ texts.T
    ranks = (cosines >= np.diagonal(cosines)[:, None]).sum(axis=1)
    return float((ranks <= AMONG).mean())


def base_bundle(reference: str) -> Bundle | None:
    """The saved encoder of this name; None for a model without a manifest. Raises NotFound."""
    parsed = Reference.parse(reference)
    folder = model_folders.find(parsed.model, parsed.revision)
    return bundles.read(folder) if (folder / bundles.MANIFEST).is_file() else None


def cannot_train(reference: str) -> str:
    """Why an encoder has no weights to train; "" where it has."""
    if not reference or reference == HASHING:
        return f"the encoder {reference or 'of the index'} has no weights to train"
    try:
        base_bundle(reference)
    except SemsearchError as error:
        return error.message.rstrip(".")
    return ""
