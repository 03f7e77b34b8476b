"""`eval --spaces`: the encoders of an index side by side, over the same passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

import semsearch
from semsearch.cli.evaluate.tasks import check_report, save
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.evaluation import report as reports
from semsearch.evaluation.known_item import evaluate_known_items, own_sentences
from semsearch.evaluation.report import Measurement, Run
from semsearch.evaluation.retrieval import Qrels, evaluate, ranked
from semsearch.evaluation.significance import PairedDifference, difference
from semsearch.types import JsonObject, Mode
from semsearch.utils.quantities import count

MODES: tuple[Mode, ...] = ("hybrid", "semantic")  # keyword search reads no vectors
MEASURE = "nDCG@10"
SAMPLE = 200  # sentences

Scores: TypeAlias = dict[Mode, list[JsonObject]]  # of every space, the current one first
Evaluate: TypeAlias = Callable[[semsearch.Index, Mode], JsonObject]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the spaces of an index are compared. Without `queries`, by sentences of its own."""

    queries: Mapping[str, str]
    qrels: Qrels
    files: Sequence[Path]
    k: int
    mode: Mode | None
    report: Path | None
    as_json: bool

    def run(self, index: semsearch.Index) -> None:
        """Measure every space, and print the scores and their differences."""
        if self.mode == "keyword":
            raise UsageError(
                "keyword search uses no vectors, so it is the same in every space.", "Choose another --mode."
            )
        info = index.info()
        spaces: list[JsonObject] = info["spaces"]
        if len(spaces) < 2:
            raise UsageError(
                f"index {index.name} has one space, of {spaces[0]['encoder']['name']}: there is nothing to compare.",
                "Make another one: Index.reembed(ENCODER, keep_old=True).",
                f"Make another one: semsearch reembed {index.name} -m MODEL --keep-old",
            )
        modes = (self.mode,) if self.mode else MODES
        check_report(self.report, len(spaces) * len(modes))
        console.warn(_incomplete(space, info["passages"]) for space in spaces if space["vectors"] < info["passages"])
        how = self._judged() if self.queries else self._own(index)
        scores, runs = self._measure(index, spaces, modes, how)
        save(runs, self.report)
        self._show(index.name, spaces, scores)

    def _judged(self) -> Evaluate:
        return lambda index, mode: evaluate(ranked(index.search, mode, self.k), self.queries, self.qrels, self.k)

    def _own(self, index: semsearch.Index) -> Evaluate:
        sentences = own_sentences(index.name, index.analysis.texts(), SAMPLE)
        return lambda index, mode: evaluate_known_items(index.search, sentences, mode, self.k)

    def _measure(
        self, index: semsearch.Index, spaces: Sequence[JsonObject], modes: Sequence[Mode], how: Evaluate
    ) -> tuple[Scores, list[Run]]:
        scores: Scores = {mode: [] for mode in modes}
        runs = []
        for space in spaces:
            with ExitStack() as stack:
                opened = stack.enter_context(semsearch.Index.open(index.path, space=space["id"]))
                for mode in modes:
                    began = perf_counter()
                    scores[mode].append(how(opened, mode))
                    runs.append(self._recorded(index.name, space, mode, scores[mode][-1], perf_counter() - began))
        return scores, runs

    def _recorded(self, index: str, space: JsonObject, mode: Mode, scores: JsonObject, took_s: float) -> Run:
        what = "judged queries" if self.queries else "sentences of its own"
        measured = Measurement(
            protocol=f"index {index}, {scores['queries']} {what}, 0 … 1",
            scores=scores,
            table={key: scores[key] for key in scores if key not in ("queries", "per_query")},
            row={"mode": mode},
            settings={"index": index, "mode": mode, "k": self.k, "vectors": space["vectors"]},
            files=self.files,
        )
        info = {**space["encoder"], "dim": space["dim"]}
        return reports.run("spaces", info, measured, name=space["encoder"]["name"], took_s=took_s)

    def _show(self, name: str, spaces: Sequence[JsonObject], by_mode: Scores) -> None:
        differences = {
            mode: [difference(each[0], other, MEASURE) for other in each[1:]]
            for mode, each in ((mode, [one["per_query"] for one in scores]) for mode, scores in by_mode.items())
        }
        if self.as_json:
            shown = [
                {key: space[key] for key in ("id", "state", "reference", "dim", "vectors")}
                | {key: space["encoder"][key] for key in ("name", "fingerprint")}
                | {"modes": {mode: scores[at] for mode, scores in by_mode.items()}}
                for at, space in enumerate(spaces)
            ]
            paired = {
                mode: [{"space": spaces[0]["id"], "against": other["id"], "measure": MEASURE, **asdict(one)}
                       for other, one in zip(spaces[1:], each, strict=True)]
                for mode, each in differences.items()
            }  # fmt: skip
            console.emit({"schema": 1, "index": name, "k": self.k, "spaces": shown, "differences": paired})
            return
        measures = [key for key in next(iter(by_mode.values()))[0] if key not in ("queries", "per_query")]
        rows = [
            [mode, _called(space), space["state"], *(f"{scores[at][key]:.4f}" for key in measures)]
            for mode, scores in by_mode.items()
            for at, space in enumerate(spaces)
        ]
        console.table(rows, ("mode", "encoder", "space", *measures))
        console.out()
        for mode, each in differences.items():
            for other, one in zip(spaces[1:], each, strict=True):
                console.out(f"{mode}: {_called(spaces[0])} against {_called(other)}: {_in_words(one)}")


def _called(space: JsonObject) -> str:
    return f"{space['encoder']['name']}@{space['encoder']['fingerprint'][:8]}"


def _in_words(one: PairedDifference) -> str:
    error = "" if one.standard_error is None else f", standard error {one.standard_error:.4f}"
    queries = f"better for {one.better:,}, worse for {one.worse:,}, the same for {one.same:,}"
    return f"{MEASURE} {one.mean:+.4f}{error}, p {one.p:.3f}; {queries}"


def _incomplete(space: JsonObject, passages: int) -> str:
    some = f"{space['vectors']:,} of {count(passages, 'passage')}"
    return f"{_called(space)} has vectors of {some}: by meaning it finds no others, so its figures are too low"
