"""Does an encoder adapted to its documents search better? Four collections, old and new encoder, several seeds.

    python -m scripts.bench.adapt                       all four, three seeds, eight hours each at most: days on a CPU
    python -m scripts.bench.adapt --hours 1 --seeds 0 pep
    python -m scripts.bench.adapt --share 0.1 --hours 0.1 --seeds 0 --force     a look at whether it runs
    python -m scripts.bench.adapt --shuffled            titles of other texts: has to be refused

Each collection goes into an index (--home keeps them, and what was trained), which is adapted with `keep`. `lost` is
what general text loses: nDCG@10 on SciFact (test) and Spearman on STS-B dev, in points. banking77 has labels as
judgements; of MedQuAD the questions are asked, of the others titles and headings.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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

JUDGED = 600  # questions of banking77


def medquad() -> Iterator[Document]:
    """Answers with their questions as titles."""
    for each in texts.records("medquad/medquad_qa.jsonl.xz"):
        if each["answer"]:
            yield Document(each["qid"], each["answer"], title=each["question"])


def arxiv() -> Iterator[Document]:
    """Abstracts with their titles."""
    seen = dict(texts.abstracts())
    return (Document(title, text.removeprefix(title).strip(), title=title) for title, text in seen.items())


def banking() -> Iterator[Document]:
    """Requests of banking77."""
    return (Document(str(at), row[0]) for at, row in enumerate(texts.table("banking77/banking_data/train.csv")))


COLLECTIONS: dict[str, Callable[[], Iterator[Document]] | Sequence[str]] = {
    "medquad": medquad,
    "manuals": ("docs_peps_rst", "docs_httpd_html"),
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


def indexed(name: str, place: Path, share: float, encoder: str, *, shuffled: bool) -> Index:
    """The index of a collection, made where `place` has none."""
    if admin.exists(name, place):
        return Index.open(name, home=place)
    index, source = Index.create(name, encoder=encoder, home=place), COLLECTIONS[name]
    if not callable(source):
        index.sync([DATA / folder for folder in source], SyncOptions(yes=True))
        return index
    documents = [each for each in source() if random.Random(each.id).random() < share]
    if shuffled:
        titles = [each.title for each in documents]
        random.Random(1).shuffle(titles)
        documents = [Document(one.id, one.text, title=title) for one, title in zip(documents, titles, strict=True)]
    index.add(documents)
    return index


def general(reference: str) -> dict[str, float]:
    """nDCG@10 on SciFact (test) and Spearman on STS-B dev, in percent."""
    scifact, encoder = Collection.read(DATA / "scifact"), Encoder.load(reference)
    with tempfile.TemporaryDirectory() as place, Index.create(Path(place) / "scifact", encoder=encoder) as index:
        index.add(list(scifact.documents()))
        found = retrieval.evaluate(retrieval.ranked(index.search, "semantic", 10), scifact.queries, scifact.qrels, 10)
    return {
        "SciFact": 100 * found["nDCG@10"],
        "STS-B": stsb_dev(lambda sentences: encoder.encode(sentences, role="passage")),
    }


def adapted(name: str, seed: int, place: Path, asked: Any) -> dict[str, Any]:
    """The report of one adaptation, with what it cost and what general text lost; or why it was refused."""
    home = place / f"seed-{seed}"
    file = judgements(place) if name == "banking77" else None
    began = time.monotonic()
    with indexed(name, home, asked.share, asked.encoder, shuffled=asked.shuffled) as index:
        options = AdaptOptions(asked.base, asked.hours, file, asked.method, seed, keep=True, force=asked.force)
        try:
            report = admin.adapt(index, options, lambda step: print(f"\r{name}: {step.item[:100]:100}", end=""))
        except GateFailed as error:
            return {"collection": name, "seed": seed, "refused": error.message}
    found = {"collection": name, "seed": seed, "hours": (time.monotonic() - began) / 3600, **report.as_json()}
    if asked.general:
        before, after = (general(each["reference"]) for each in (report.before, report.encoder))
        found["lost"] = {key: before[key] - after[key] for key in before}
    return found


def row(found: dict[str, Any]) -> list[object]:
    """A line of the table."""
    if "refused" in found:
        return [found["collection"], found["seed"], found["refused"], *[""] * 5]
    modes = [found["measured"][mode] for mode in ("semantic", "hybrid", "general")]
    changes = [f"{one['before']:.1f} → {one['after']:.1f} (p {one['p']:.3f})" for one in modes]
    lost = ", ".join(f"{key} {value:+.2f}" for key, value in found.get("lost", {}).items() if isinstance(value, float))
    return [found["collection"], found["seed"], *changes, lost, f"{found['hours']:.2f}", found["switched"]]


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("collections", nargs="*", choices=[*COLLECTIONS, []], help="some of them")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--method", default="cotbert")
    parser.add_argument("--encoder", default="default", help="the encoder of the index")
    parser.add_argument("--base", help="another model to train")
    parser.add_argument("--share", type=float, default=1.0, help="of the documents, but for the manuals")
    parser.add_argument("--home", type=Path, default=Path(tempfile.gettempdir()) / "semsearch-adapt")
    parser.add_argument("--shuffled", action="store_true", help="give each text the title of another")
    parser.add_argument("--force", action="store_true", help="train on however little")
    parser.add_argument("--no-general", dest="general", action="store_false", help="without SciFact and STS-B")
    asked = parser.parse_args()
    names = asked.collections or (["arxiv"] if asked.shuffled else list(COLLECTIONS))
    found = [adapted(name, int(seed), asked.home, asked) for name in names for seed in asked.seeds.split(",")]
    head = ("collection", "seed", "by meaning", "hybrid", "general set", "lost", "hours", "used")
    figures.show("\n" + figures.table(head, map(row, found)), "nDCG@10 in percent.", found, asked.output)


if __name__ == "__main__":
    main()
