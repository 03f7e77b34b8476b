"""Public test sets of sentence pairs as programs ask for them: which are there, and how an encoder does on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound
from semsearch.evaluation import sts
from semsearch.settings import data_folder
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.evaluation.sts import Subset, TaskResult
    from semsearch.types import EncoderProtocol, Vectors

WINDOW = 128  # texts between two steps: seconds of a large model on a CPU
Step = Callable[[Progress], None]
Embed = Callable[[Sequence[str]], "Vectors"]


def sts_tasks(data: Path | None = None, split: str = "test") -> list[str]:
    """The tasks of sts12 … sts16, stsb, sickr whose files all lie at or below `data`, else below SEMSEARCH_DATA.

    Raises UsageError where neither is said, NotFound where no task is there at all.
    """
    folder = data_folder(data)
    found = [
        name
        for name in sts.TASKS
        if (split == "test" or name not in sts.SUBSETS)
        and all(file.is_file() for file in sts.task_files(name, folder, split))
    ]
    if not found:
        raise NotFound(f"no STS tasks are at {folder}.", "Give the folder that holds STS/ and SICK/: --data DIR.")
    return found


def sts_pairs(task: str, data: Path | None = None, split: str = "test") -> dict[str, Subset]:
    """The pairs of a task with their gold scores, 0 … 5, by the name of the subset.

    Raises UnknownName, UsageError, NotFound.
    """
    return sts.task_pairs(task, data_folder(data), split)


def sts_task(
    task: str, encoder: EncoderProtocol, data: Path | None = None, split: str = "test", step: Step | None = None
) -> TaskResult:
    """How well the cosines of `encoder` follow the scores of people on a task; `spearman.all` is what papers print.

    `step` hears before every 128 texts how many are done, and may raise to end it. Raises UnknownName, UsageError,
    NotFound.
    """
    subsets = sts_pairs(task, data, split)
    counts = {key: len({text for pair in subset.pairs for text in pair}) for key, subset in subsets.items()}
    values, done = {}, 0
    for key, subset in subsets.items():
        embed = watched(encoder, step, task, done, sum(counts.values()))
        values[key] = sts.compared(subset.pairs, embed)
        done += counts[key]
    return sts.aggregate(task, values, {key: subset.gold for key, subset in subsets.items()})


def watched(encoder: EncoderProtocol, step: Step | None, item: str, before: int, total: int) -> Embed:
    """What embeds passages with `encoder`; `step` hears of `total` texts, `before` of which were done before."""

    def tell(done: int) -> None:
        if step is not None:
            step(Progress(before + done, total, "texts", item))

    return lambda texts: in_windows(lambda some: encoder.encode(some, role="passage"), texts, tell)


def in_windows(embed: Embed, texts: Sequence[str], tell: Callable[[int], None]) -> Vectors:
    """What `embed` gives for n texts, (n, d); `tell` hears before every window of 128 how many are done."""
    parts = []
    for start in range(0, len(texts) or 1, WINDOW):
        tell(start)
        parts.append(embed(texts[start : start + WINDOW]))
    return np.concatenate(parts)
