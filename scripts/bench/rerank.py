"""Does a reranker help? nDCG@10 of hybrid search on SciFact, Cranfield and CACM, before and after reading hits again.

    python -m scripts.bench.rerank MODEL                    the table of docs/reranking.md
    python -m scripts.bench.rerank MODEL --choose           the weight, on SciFact's train queries and MedQuAD
    python -m scripts.bench.rerank MODEL --calibrate        temperature and offset, on the same, written into MODEL
    python -m scripts.bench.rerank MODEL --against OTHER    two forms of one model: for instance int8 and fp32

Each collection goes into an index (--home keeps them), and the first hits of a sample of its queries are read again:
title, heading and passage together with the query, as `query --rerank` does, or the whole document with --read.
`replaced` is their order by the reranker alone, `fused` by both with the weight of `Query`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from scripts.shared import figures
from scripts.shared.places import DATA
from semsearch import Encoder, Hit, Index, Query, Reranker, SemsearchError, admin
from semsearch.evaluation import report, retrieval, sts
from semsearch.export import calibrate
from semsearch.models.rerankers.manifest import Calibration
from semsearch.search import reranking
from semsearch.stores import drivers

TEST = ("scifact test", "cranfield test", "cacm test")
CHOICE = ("scifact train", "medquad test")  # the only ones that anything is chosen on
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
SEED = 15
READ = ("passage", "document")  # with title and heading; all of it


@dataclass
class Read:
    """A judged query, its hits by hybrid search, the texts of the first of them, and what the model says of each."""

    grades: retrieval.Grades
    query: str
    hits: Sequence[Hit]
    texts: list[str]
    logits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    ms: tuple[float, float] = (0.0, 0.0)  # of a pair: elapsed, and of processor time


def indexed(name: str, encoder: Encoder, home: Path) -> Index:
    """The index of a collection, made where `home` has none."""
    if name in admin.names(home):
        return Index.open(name, home=home, encoder=encoder)
    made = Index.create(name, encoder=encoder, home=home)
    made.add(retrieval.Collection.read(DATA / name).documents())
    return made


def texts_of(index: Index, hits: Sequence[Hit], read: str) -> list[str]:
    """What the reranker reads of each hit."""
    if read == "document":
        return [index.get(hit.document)["text"] for hit in hits]
    with closing(drivers.find(index.path).open_reader(index.path)) as reader, reader.snapshot():
        return list(reranking.passages(reader, hits))


def first_stage(what: str, encoder: Encoder, chosen: argparse.Namespace, home: Path) -> Iterator[Read]:
    """A sample of the judged queries of a collection's split, with their hits."""
    name, split = what.split()
    collection = retrieval.Collection.read(DATA / name, split)
    queries = sorted(collection.qrels)
    random.Random(SEED).shuffle(queries)
    with indexed(name, encoder, home) as index:
        for query in queries[: chosen.queries]:
            text = collection.queries[query]
            hits = index.search(Query(text, k=100, group="document"))
            yield Read(collection.qrels[query], text, hits[:], texts_of(index, hits[: chosen.depth], chosen.read))


def read_again(what: str, reranker: Reranker, encoder: Encoder, chosen: argparse.Namespace) -> list[Read]:
    """`first_stage` with the logits of the reranker, and the milliseconds of a pair."""
    reads = []
    for each in first_stage(what, encoder, chosen, chosen.home):
        began, used = time.perf_counter(), time.process_time()
        logits = np.array(reranker.logits(each.query, each.texts).values, np.float64)
        ms = [1000 * each / len(logits) for each in (time.perf_counter() - began, time.process_time() - used)]
        reads.append(replace(each, logits=logits, ms=(ms[0], ms[1])))
        if len(reads) % 10 == 0:
            print(f"{what}: {len(reads)} queries", file=sys.stderr)
    return reads


def ndcg(reads: Sequence[Read], weight: float) -> float:
    """The mean of nDCG@10 in percent, with this weight of the reranker's judgement."""
    values = []
    for each in reads:
        hits = reranking.ordered(each.hits, Calibration().scores(each.logits), weight, "cosine")
        ranking = [name for hit in hits for name in (hit.document, *hit.near_copies)]
        values.append(retrieval.ndcg(ranking, each.grades))
    return 100 * fmean(values)


def quality(results: dict[str, list[Read]], weight: float) -> str:
    """nDCG@10 before, replaced and fused, a row each."""
    rows = []
    for label, each in (("hybrid", 0.0), ("replaced", 1.0), (f"fused, weight {weight}", weight)):
        values = [ndcg(reads, each) for reads in results.values()]
        rows.append([label, *(f"{value:.1f}" for value in [*values, fmean(values)])])
    return report.markdown(["nDCG@10", *results, "mean"], rows)


def weights(results: dict[str, list[Read]]) -> str:
    """nDCG@10 by weight."""
    rows = []
    for weight in WEIGHTS:
        values = [ndcg(reads, weight) for reads in results.values()]
        rows.append([f"{weight}", *(f"{value:.1f}" for value in [*values, fmean(values)])])
    return report.markdown(["weight", *results, "mean"], rows)


def calibration(results: dict[str, list[Read]]) -> Calibration:
    """Temperature and offset that make a chance of a logit, on the judged hits of every collection alike.

    Platt 1999, "Probabilistic Outputs for Support Vector Machines", with his targets instead of 0 and 1.
    """
    logits = np.concatenate([each.logits for reads in results.values() for each in reads])
    grades = [
        each.grades.get(hit.document, 0) > 0
        for reads in results.values()
        for each in reads
        for hit in each.hits[: len(each.logits)]
    ]
    relevant = np.array(grades)
    yes, no = int(relevant.sum()), int((~relevant).sum())
    target = np.where(relevant, (yes + 1) / (yes + 2), 1 / (no + 2))
    both = np.repeat([True, False], len(logits))  # each pair once as either, with the weight of that
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    model.fit(np.tile(logits, 2)[:, None], both, sample_weight=np.concatenate([target, 1 - target]))
    slope, intercept = float(model.coef_[0, 0]), float(model.intercept_[0])
    fitted = {"on": list(results), "pairs": len(relevant), "relevant": yes}
    return Calibration(round(1 / slope, 4), round(-intercept / slope, 4), fitted)


def agreement(ours: dict[str, list[Read]], theirs: dict[str, list[Read]]) -> str:
    """Two forms of a model on the same pairs: how far their logits differ, and what each order is worth."""
    rows = []
    for name, reads in ours.items():
        one, other = (np.concatenate([each.logits for each in some]) for some in (reads, theirs[name]))
        cells = [np.abs(one - other).mean(), np.abs(one - other).max(), sts.spearman(one, other)]
        values = [ndcg(some, weight) for weight in (1.0, Query().rerank_weight) for some in (reads, theirs[name])]
        rows.append([name, *(f"{cell:.3f}" for cell in cells), *(f"{value:.1f}" for value in values)])
    head = ["", "mean difference", "largest", "Spearman", *(f"{w}, {m}" for w in ("replaced", "fused") for m in "12")]
    return report.markdown(head, rows)


def arguments() -> argparse.Namespace:
    parser = figures.arguments(__doc__)
    parser.add_argument("model", help="reranker: a name, a folder or hf:owner/name")
    parser.add_argument("--choose", action="store_true", help="table of weights, on choosing data only")
    parser.add_argument("--calibrate", action="store_true", help="fit temperature and offset, on choosing data only")
    parser.add_argument("--against", metavar="MODEL", help="the same model in another form")
    parser.add_argument("-m", "--encoder", default="default", help="encoder of the first stage")
    parser.add_argument("--queries", type=int, default=100, metavar="N", help="sample of each collection")
    parser.add_argument("--depth", type=int, default=Query().rerank_depth, metavar="N", help="hits that are read again")
    parser.add_argument("--read", choices=READ, default=READ[0], help="what is read of a hit (passage)")
    parser.add_argument("--cache", type=Path, help="keep vectors in this file between runs")
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder between runs")
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    names = CHOICE if chosen.choose or chosen.calibrate else TEST
    with tempfile.TemporaryDirectory() as scratch:
        chosen.home = chosen.home or Path(scratch)
        encoder = Encoder.load(chosen.encoder, cache=chosen.cache or Path(scratch, "vectors.db"))
        reranker = Reranker.load(chosen.model)
        results = {name: read_again(name, reranker, encoder, chosen) for name in names}
        if chosen.against:
            other = Reranker.load(chosen.against)
            theirs = {name: read_again(name, other, encoder, chosen) for name in names}
            text = agreement(results, theirs)
        elif chosen.calibrate:
            fitted = calibration(results)
            text = f"temperature {fitted.temperature}, offset {fitted.offset}: {fitted.fitted}"
            calibrate(chosen.model, temperature=fitted.temperature, offset=fitted.offset, fitted=fitted.fitted)
        else:
            text = weights(results) if chosen.choose else quality(results, Query().rerank_weight)
    elapsed, used = (median(each.ms[at] for reads in results.values() for each in reads) for at in (0, 1))
    note = (
        f"Reranker {reranker.name} ({reranker.fingerprint}), {chosen.depth} hits of each query; {elapsed:.1f} ms "
        f"a pair, {used:.1f} ms of processor time (medians). Encoder {encoder.name} ({encoder.fingerprint})."
    )
    figures.show(text, note, {"queries": {name: len(reads) for name, reads in results.items()}}, chosen.output)


if __name__ == "__main__":
    try:
        main()
    except SemsearchError as error:
        sys.exit(f"error: {error}")
