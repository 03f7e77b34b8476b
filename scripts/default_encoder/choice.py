"""The measure of every choice: STS-B dev, and train queries of SciFact."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from default_encoder.texts import DATA, answers, is_held_out
from semsearch.evaluation import retrieval, sts_benchmarks
from semsearch.training import SimilarityValidation

if TYPE_CHECKING:
    from semsearch.types import Vectors

QUERIES, DISTRACTORS = 200, 600  # of SciFact train: its queries, and documents beside the relevant ones
QUESTIONS = 400  # of MedQuAD


class Chosen:
    """The mean of STS-B dev (Spearman) and of SciFact train (nDCG@10, a fixed sample), in percent."""

    measure = "mean of Spearman on STS-B dev and nDCG@10 on SciFact train"

    def score(self, encode: Callable[[Sequence[str]], Vectors]) -> float:
        alike, found = scores(encode)
        print(f"STS-B dev {alike:.2f}, SciFact train {found:.2f}", file=sys.stderr, flush=True)
        return (alike + found) / 2


def scores(encode: Callable[[Sequence[str]], Vectors]) -> tuple[float, float]:
    """STS-B dev and SciFact train, in percent."""
    dev = sts_benchmarks.sts_pairs("stsb", DATA, "dev")["dev"]
    return SimilarityValidation(dev.pairs, dev.gold).score(encode), scifact(encode)


def scifact(encode: Callable[[Sequence[str]], Vectors]) -> float:
    """nDCG@10 of 200 train queries among their relevant documents and 600 others, whole documents up to the limit."""
    folder, chance = DATA / "scifact" / "beir", random.Random(1)
    documents, queries = list(retrieval.beir_corpus(folder)), retrieval.beir_queries(folder)
    qrels = retrieval.beir_qrels(folder, "train")
    chosen = dev_queries(chance)
    relevant = {document for query in chosen for document in qrels[query]}
    others = [each for each in documents if each.id not in relevant]
    sample = [each for each in documents if each.id in relevant] + chance.sample(others, DISTRACTORS)
    ranked = np.argsort(-(encode([queries[each] for each in chosen]) @ encode([each.text for each in sample]).T))
    gains = [
        retrieval.ndcg([sample[at].id for at in row[:10]], qrels[query])
        for query, row in zip(chosen, ranked, strict=True)
    ]
    return float(100 * np.mean(gains))


def dev_queries(chance: random.Random | None = None) -> list[str]:
    """The ids of the train queries of SciFact that choices are made on."""
    qrels = retrieval.beir_qrels(DATA / "scifact" / "beir", "train")
    return (chance or random.Random(1)).sample(sorted(qrels), QUERIES)


def figures(encode: Callable[[Sequence[str]], Vectors]) -> dict[str, float]:
    """STS-B dev, SciFact train and MedQuAD, in percent."""
    alike, found = scores(encode)
    return {"stsb_dev": alike, "scifact_train": found, "medquad": medquad(encode)}


def medquad(encode: Callable[[Sequence[str]], Vectors]) -> float:
    """nDCG@10 of 400 held-out questions of MedQuAD among their answers."""
    pairs = [(question, answer) for question, answer in answers() if is_held_out(question)]
    random.Random(2).shuffle(pairs)
    questions, found = zip(*pairs[:QUESTIONS], strict=True)
    cosines = encode(questions) @ encode(found).T
    ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
    return float(100 * np.mean(np.where(ranks < 10, 1 / np.log2(ranks + 2), 0)))
