"""A small collection with titles, an encoder of random weights, and a program that adapts it, often killed.

python adapting.py HOME ENCODER FOLDER AT...: a process for each AT, killed before change number AT of a file below
FOLDER; then one that comes to the end. They are forks of this one, which has imported what they need and run nothing.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers.killing import heeding
from semsearch import Document, Index, admin

SENTENCE = (
    "cat sat mat near old bridge cost winter repair red car small house man plays music river stone bread salt time "
    "garden light water paper glass north road mill tower field wall horse ship sand fire wood iron cloud rain snow"
)
WORDS = SENTENCE.split()


def documents(count: int = 120, *, shuffled: bool = False) -> list[Document]:
    """Documents whose title has four words, and whose text is about those."""
    chance = random.Random(3)
    titles = [" ".join(chance.sample(WORDS, 4)) for _ in range(count)]
    texts = [" ".join(f"The {word} and the {chance.choice(WORDS)}." for word in title.split() * 3) for title in titles]
    if shuffled:
        chance.shuffle(titles)
    return [
        Document(f"{at}.txt", text, title=title) for at, (title, text) in enumerate(zip(titles, texts, strict=True))
    ]


def quickened(monkeypatch: Any = None) -> None:
    """Steps of eight rows that learn at once, and gates that random weights can pass."""
    from semsearch.export import parity, weights
    from semsearch.index.admin.adapting import adaptation, examples, trial
    from semsearch.training import adapting, loop
    from semsearch.training.adapting import objective, run

    recipe = replace(run.HYPERPARAMETERS, batch_size=8, learning_rate=3e-3, max_length=48, eval_every=4, frozen=())
    set_to: list[tuple[object, str, object]] = [
        (parity, "SPEARMAN", -1),
        (parity, "MEAN_COSINE", -1),
        (weights, "MEAN_COSINE", 0.5),
        (adaptation, "MEASURED_S", 0.01),
        (examples, "general", lambda: GENERAL),
        (trial, "general", lambda: GENERAL),
        (loop, "plot", SimpleNamespace(draw=lambda *_: None)),
        (run, "HYPERPARAMETERS", recipe),
        (adapting, "HYPERPARAMETERS", recipe),
        (objective, "KEEPING", 0.1),
        (trial, "MOST_LOST", 100.0),
    ]
    for module, name, value in set_to:
        monkeypatch.setattr(module, name, value) if monkeypatch else setattr(module, name, value)


GENERAL = {"texts": ["the sea is cold", "he sings"], "passages": ["a song", "the sea", "ice"], "queries": [["sea", 1]]}


def main() -> None:
    home, encoder, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    quickened()
    for at in map(int, sys.argv[4:]):
        if not (child := os.fork()):
            adapt(home, encoder, folder, at)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"it was not killed at {at}"
    adapt(home, encoder, folder)


def adapt(home: Path, encoder: str, folder: Path, at: int = 0) -> None:
    """Adapt the index until change number `at`; 0: to the end."""
    if not admin.exists("notes", home):
        Index.create("notes", encoder=encoder, home=home).close()
    with Index.open("notes", home=home) as index:
        index.add(documents())
        left = iter(range(1, at))
        if at:
            heeding(folder, lambda _: next(left, None) or os.kill(os.getpid(), signal.SIGKILL))
        admin.adapt(index, admin.AdaptOptions(force=True))


if __name__ == "__main__":
    main()
