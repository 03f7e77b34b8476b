"""Makes semsearch/models/assets/general.json.xz: general text that `semsearch adapt` must not unlearn.

    texts      whose old vectors are kept: sentences of abstracts, as they are
    passages   parts of other abstracts: their beginnings (SciFact), their ends (arXiv), which repeat less of a title
    queries    [query, place of its passage]: claims (SciFact, train), and titles of papers (arXiv)

The query and its passage are in no other part. SciFact: claims CC BY 4.0, abstracts ODC-By 1.0; arXiv metadata: CC0.
"""

from __future__ import annotations

import json
import lzma
import random

from scripts.encoders import texts
from scripts.shared.places import CHECKOUT, DATA
from semsearch.chunking.sentences import sentences
from semsearch.evaluation import retrieval

FILE = CHECKOUT / "semsearch" / "models" / "assets" / "general.json.xz"
# Of each of the two sets; of 150 questions rounding to int8 moved the mean by 0.5
QUERIES, PASSAGES, TEXTS = 450, 600, 600
WORDS = 100  # of a passage
MIN_WORDS, MAX_WORDS = 6, 40  # of a text


def main() -> None:
    chance = random.Random(7)
    parts = [(*scifact(chance), slice(WORDS)), (*arxiv(chance), slice(-WORDS // 2, None))]
    content: dict[str, list[object]] = {"texts": [], "passages": [], "queries": []}
    for queries, abstracts, part in parts:
        start = len(content["passages"])
        content["queries"] += [[query, start + at] for at, query in enumerate(queries)]
        content["passages"] += [" ".join(text.split()[part]) for text in abstracts[:PASSAGES]]
        rest = [" ".join(text[a:b].split()) for text in abstracts[PASSAGES:] for a, b in sentences(text)]
        chance.shuffle(rest)
        content["texts"] += [text for text in rest if MIN_WORDS <= len(text.split()) <= MAX_WORDS][:TEXTS]
    FILE.write_bytes(lzma.compress(json.dumps(content, ensure_ascii=False).encode(), preset=9 | lzma.PRESET_EXTREME))
    print({name: len(items) for name, items in content.items()}, f"{FILE.stat().st_size:,} bytes")


def scifact(chance: random.Random) -> tuple[list[str], list[str]]:
    """Claims, and abstracts, the first of which are theirs."""
    folder = DATA / "scifact" / "beir"
    documents = {each.id: each.text for each in retrieval.beir_corpus(folder)}
    queries, qrels = retrieval.beir_queries(folder), retrieval.beir_qrels(folder, "train")
    first = {next(iter(grades)): query for query, grades in sorted(qrels.items()) if len(grades) == 1}
    chosen = chance.sample(sorted(first), QUERIES)
    others = [name for name in documents if name not in first]
    chance.shuffle(others)
    return [queries[first[name]] for name in chosen], [documents[name] for name in (*chosen, *others[:900])]


def arxiv(chance: random.Random) -> tuple[list[str], list[str]]:
    """Titles, and abstracts, the first of which are theirs."""
    papers = [(title, text.removeprefix(title).strip()) for title, text in texts.abstracts()]
    chance.shuffle(papers)
    return [title for title, _ in papers[:QUERIES]], [text for _, text in papers]


if __name__ == "__main__":
    main()
