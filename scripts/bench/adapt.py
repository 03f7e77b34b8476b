"""Does an encoder adapted to its documents search better? Four collections, old and new encoder, several seeds.

    python -m scripts.bench.adapt                       all four, three seeds, eight hours each at most: days on a CPU
    python -m scripts.bench.adapt --hours 1 --seeds 0 arxiv
    python -m scripts.bench.adapt --loss simcse         a baseline: the same texts, without questions
    python -m scripts.bench.adapt --shuffled            titles of other texts: has to be refused; with --force, not used
    python -m scripts.bench.adapt --choice --rate 1e-4  training alone: what a rate comes to on the choice

Several at once: first --index, then a process for each collection and seed, all with the same --home, and at last
--table. What is done is a line of HOME/rows.jsonl at once.

Each collection goes into an index, which is adapted. `lost` is what general text loses: nDCG@10 on SciFact (test) and
Spearman on STS-B dev, in points. banking77 has labels as judgements; of MedQuAD the questions are asked, and documents
of some sources are trained on and of others tested; of the rest titles and headings are asked.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from scripts.encoders import texts
from scripts.encoders.choice import stsb_dev
from scripts.shared import figures
from scripts.shared.places import DATA
from semsearch import Document, Encoder, GateFailed, Index, SyncOptions, admin
from semsearch.evaluation import retrieval
from semsearch.evaluation.retrieval import Collection
from semsearch.index.admin import AdaptOptions
from semsearch.index.admin.adapting.questions import Part, part_of
from semsearch.training import runs
from semsearch.training.adapting import objective, run
from semsearch.types import Progress

JUDGED = 600  # questions of banking77
SOURCES: dict[str, Part] = {  # of MedQuAD; the others are trained on
    "CDC": "choice",
    "MPlusHealthTopics": "choice",
    "NHLBI": "test",
    "NIHSeniorHealth": "test",
    "NINDS": "test",
}
LOSSES = {"adapt": (objective.PAIRS, objective.SENTENCES, objective.KEEPING), "simcse": (0.0, 1.0, 0.0)}
KEY = ("collection", "seed", "loss", "rate")
ROWS = "rows.jsonl"


class Trained(Exception):
    """What is trained does not have to be exported and tried."""


def medquad() -> Iterator[Document]:
    """Answers with their questions as titles; those of a source have ids of the same part."""
    for each in texts.records("medquad/medquad_qa.jsonl.xz"):
        if each["answer"]:
            names, part = (f"{each['qid']}/{at}" for at in count()), SOURCES.get(each["source"], "train")
            yield Document(
                next(name for name in names if part_of(name) == part), each["answer"], title=each["question"]
            )


def arxiv() -> Iterator[Document]:
    """Abstracts with their titles."""
    seen = dict(texts.abstracts())
    return (Document(title, text.removeprefix(title).strip(), title=title) for title, text in seen.items())


def banking() -> Iterator[Document]:
    """Requests of banking77."""
    return (Document(str(at), row[0]) for at, row in enumerate(texts.table("banking77/banking_data/train.csv")))


def manuals() -> Iterator[Path]:
    """Files of the PEPs and of the manual of httpd."""
    folders = (DATA / name for name in ("docs_peps_rst", "docs_httpd_html"))
    return (file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file())


COLLECTIONS: dict[str, Callable[[], Iterator[Any]]] = {
    "medquad": medquad,
    "manuals": manuals,
    "arxiv": arxiv,
    "banking77": banking,
}


def judgements(place: Path) -> Path:
    """Requests of the test set of banking77, answered by those of the same label."""
    by_label: dict[str, list[str]] = {}
    for at, (_, label) in enumerate(texts.table("banking77/banking_data/train.csv")):
        by_label.setdefault(label, []).append(str(at))
    rows = random.Random(0).sample(list(texts.table("banking77/banking_data/test.csv")), JUDGED)
    lines = [json.dumps({"text": text, "grades": dict.fromkeys(by_label[label], 1)}) for text, label in rows]
    (place / "banking77.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place / "banking77.jsonl"


def some(name: str, characters: float) -> list[Any]:
    """Documents, or files, of a collection, at random, of so many characters at most."""
    every, size = list(COLLECTIONS[name]()), 0.0
    chosen: list[Any] = []
    for each in random.Random(0).sample(every, len(every)):
        size += each.stat().st_size if isinstance(each, Path) else len(each.text)
        if size > characters:
            break
        chosen.append(each)
    return chosen


def make(name: str, home: Path, asked: Any) -> None:
    """The index of a collection in `home`, where there is none."""
    if admin.exists(name, home):
        return
    content = some(name, asked.characters)
    with Index.create(name, encoder=asked.encoder, home=home) as index:
        if isinstance(content[0], Path):
            index.sync(content, SyncOptions(yes=True))
            return
        titles = [each.title for each in content]
        if asked.shuffled:
            random.Random(1).shuffle(titles)
        index.add([Document(one.id, one.text, title=title) for one, title in zip(content, titles, strict=True)])


def general(reference: str, home: Path) -> dict[str, float]:
    """nDCG@10 on SciFact (test) and Spearman on STS-B dev, in percent; of an encoder by name, measured once."""
    file = home / f"general-{reference}.json" if "/" not in reference else None
    if file is not None and (measured := runs.read_json(file)):
        return measured
    scifact, encoder = Collection.read(DATA / "scifact"), Encoder.from_settings(reference)
    with tempfile.TemporaryDirectory() as place, Index.create(Path(place) / "scifact", encoder=encoder) as index:
        index.add(list(scifact.documents()))
        scores = retrieval.evaluate(retrieval.ranked(index.search, "semantic", 10), scifact.queries, scifact.qrels, 10)
    measured = {
        "SciFact": 100 * scores["nDCG@10"],
        "STS-B": stsb_dev(lambda sentences: encoder.encode(sentences, role="passage")),
    }
    if file is not None:
        file.write_text(json.dumps(measured), encoding="utf-8")
    return measured


def adapted(name: str, seed: int, asked: Any) -> Iterator[dict[str, Any]]:
    """The report of one adaptation, with its cost, then what general text lost; or why it was refused."""
    indexes = asked.home / ("shuffled" if asked.shuffled else "indexes")
    own = {"collection": name + " (shuffled)" * asked.shuffled, "seed": seed, "loss": asked.loss, "rate": asked.rate}
    place = asked.home / "-".join(map(str, own.values()))
    make(name, indexes, asked)
    if not admin.exists(name, place):
        shutil.copytree(indexes / name, place / name)
    file = judgements(place) if name == "banking77" else None
    options = AdaptOptions(asked.base, asked.hours, file, asked.method, seed, keep=asked.keep, force=asked.force)
    began, shown = time.monotonic(), ""

    def tell(step: Progress) -> None:
        nonlocal shown
        if (what := step.item.partition(",")[0].rstrip(" .0123456789")) != shown:
            shown = what
            print(f"{name} {seed} {time.monotonic() - began:.0f} s: {step.item}", flush=True)
        if asked.choice and step.item.startswith("exporting"):
            raise Trained

    with Index.open(name, home=place) as index:
        try:
            report = admin.adapt(index, options, tell)
        except GateFailed as error:
            yield own | {"refused": error.message}
            return
        except Trained:
            home = place / "models" / f"{name}-adapted" / runs.RUN
            scores = [line["dev"] for line in runs.read_metrics(home) if "dev" in line]
            yield own | {"choice": [scores[0], max(scores)], **(runs.read_json(home / runs.RESULT) or {})}
            return
    yield own | {"hours": (time.monotonic() - began) / 3600, **report.as_json()}
    if asked.general:
        before = general(asked.encoder, asked.home)
        after = general(report.encoder["reference"], asked.home)
        yield own | {"general_loss": {key: before[key] - after[key] for key in before}}


def written(home: Path) -> list[dict[str, Any]]:
    """What is in HOME/rows.jsonl, an object for each adaptation."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in (home / ROWS).read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        merged.setdefault(tuple(each[key] for key in KEY), {}).update(each)
    return list(merged.values())


def row(each: dict[str, Any]) -> list[object]:
    """A line of the table."""
    key = [each[name] for name in KEY]
    if "measured" not in each:
        before, after = each.get("choice", (0.0, 0.0))
        return [*key, each.get("refused") or f"choice {before:.1f} → {after:.1f}, step {each['step']}", *[""] * 5]
    modes = [each["measured"][mode] for mode in ("semantic", "hybrid", "general")]
    changes = [
        f"{one['before']:.1f} → {one['after']:.1f} ({one['difference']:+.2f}, p {one['p']:.3f})" for one in modes
    ]
    lost = ", ".join(f"{key} {value:+.2f}" for key, value in each.get("general_loss", {}).items())
    return [*key, *changes, lost, f"{each['hours']:.2f}", "yes" if each["switched"] else "no"]


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("collections", nargs="*", choices=[*COLLECTIONS, []], help="some of them")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--method", default="cotbert")
    parser.add_argument("--encoder", default="minilm", help="the encoder of the index")
    parser.add_argument("--base", help="another model to train")
    parser.add_argument("--loss", choices=LOSSES, default="adapt")
    parser.add_argument("--rate", type=float, default=run.HYPERPARAMETERS.learning_rate, help="the learning rate")
    parser.add_argument("--characters", type=float, default=float("inf"), help="of each collection, at most")
    parser.add_argument("--home", type=Path, default=Path(tempfile.gettempdir()) / "semsearch-adapt")
    parser.add_argument("--shuffled", action="store_true", help="give each text the title of another")
    parser.add_argument("--force", action="store_true", help="train on however little")
    parser.add_argument("--keep", action="store_true", help="encode the collection anew though nothing is better")
    parser.add_argument("--no-general", dest="general", action="store_false", help="without SciFact and STS-B")
    parser.add_argument("--choice", action="store_true", help="only train, and tell the score on the choice")
    parser.add_argument("--index", action="store_true", help="only make the indexes, and measure the encoder itself")
    parser.add_argument("--table", action="store_true", help="only show what is there")
    asked = parser.parse_args()
    asked.home.mkdir(parents=True, exist_ok=True)
    objective.PAIRS, objective.SENTENCES, objective.KEEPING = LOSSES[asked.loss]
    run.HYPERPARAMETERS = replace(run.HYPERPARAMETERS, learning_rate=asked.rate)
    names: Sequence[str] = asked.collections or (["arxiv"] if asked.shuffled else list(COLLECTIONS))
    if asked.index:
        for name in names:
            make(name, asked.home / ("shuffled" if asked.shuffled else "indexes"), asked)
        if asked.general:
            general(asked.encoder, asked.home)
        return
    for name, seed in [] if asked.table else [(name, int(seed)) for name in names for seed in asked.seeds.split(",")]:
        for each in adapted(name, seed, asked):
            with (asked.home / ROWS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(each) + "\n")
    head = (*KEY, "by meaning", "hybrid", "general set", "lost", "hours", "used")
    done = written(asked.home)
    figures.show("\n" + figures.table(head, map(row, done)), "nDCG@10 in percent.", done, asked.output)


if __name__ == "__main__":
    main()
