"""What an adaptation did: as one JSON object, and as one page of Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from semsearch.types import JsonMapping, JsonObject
from semsearch.utils import atomic_write

ROUNDED = 4


@dataclass(frozen=True, slots=True)
class AdaptReport:
    """What an adaptation of `index` did. `switched`: the index is searched with the adapted encoder from now on.

    If not, `objections` say why, and `kept` whether its vectors are beside the present ones. `encoder` and `before`
    have the name, fingerprint and reference of both. `measured` has nDCG@10 in percent before and after, by meaning,
    hybrid and on general questions, with the paired difference. `seconds` are those of each part.
    """

    index: str
    switched: bool
    kept: bool
    objections: Sequence[str]
    before: Mapping[str, str]
    encoder: Mapping[str, str]
    look: JsonMapping
    training: JsonMapping
    questions: int
    measured: Mapping[str, JsonObject]
    gained: Sequence[JsonObject]
    lost: Sequence[JsonObject]
    seconds: Mapping[str, float]
    folder: str

    def as_json(self) -> JsonObject:
        rounded = {name: {key: _rounded(value) for key, value in one.items()} for name, one in self.measured.items()}
        return {**asdict(self), "measured": rounded}

    def markdown(self) -> str:
        """The report as a page; the plot of the training is in the folder `run` beside it."""
        outcome = f"is searched with {self.encoder['name']} from now on" if self.switched else "stays as it was"
        rows = [
            f"| {name} | {one['before']:.1f} | {one['after']:.1f} | {one['difference']:+.2f} | {one['p']:.4f} "
            f"| {one['better']} | {one['worse']} | {one['same']} |"
            for name, one in self.measured.items()
        ]
        facts = {
            "trained on": ", ".join(f"{count:,} × {kind}" for kind, count in self.look["pairs"].items()),
            **{key: str(value) for key, value in self.training.items()},
            **{f"seconds, {name}": f"{value:.0f}" for name, value in self.seconds.items()},
        }
        return "\n".join(
            [
                f"# {self.index}: an encoder adapted to its documents",
                "",
                f"The index {outcome}.",
                *(f"- {objection}" for objection in self.objections),
                "",
                f"nDCG@10 of {self.questions:,} questions that were not trained on, and of general ones:",
                "",
                "| search | before | after | difference | p | better | worse | same |",
                "|---|---|---|---|---|---|---|---|",
                *rows,
                "",
                *(f"- {name}: {value}" for name, value in facts.items()),
                "",
                "![loss and choice over the steps](run/loss.png)",
                *_listed("Questions that gained most", self.gained),
                *_listed("Questions that lost most", self.lost),
                "",
            ]
        )


def _listed(heading: str, questions: Sequence[JsonObject]) -> list[str]:
    if not questions:
        return []
    rows = [f"| {_cell(str(one['question']))} | {one['before']} | {one['after']} |" for one in questions]
    return ["", f"## {heading}", "", "| question | before | after |", "|---|---|---|", *rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _rounded(value: object) -> object:
    return round(value, ROUNDED) if isinstance(value, float) else value


def write(report: AdaptReport, folder: Path, name: str) -> None:
    """Write both forms into a folder: the page first, since the other one says that all is done."""
    atomic_write.write_text(folder / f"{name}.md", report.markdown())
    atomic_write.write_text(folder / f"{name}.json", json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n")
