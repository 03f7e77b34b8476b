"""Run a job with one seed and measure it; scores of an earlier run with the same settings are read from its file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from scripts.papers import data as sources
from scripts.papers.jobs import Absent, Job, Setting, content, reference, template
from scripts.papers.measures import MEMORY, Ruler, compares, peak_memory, reset_memory
from scripts.papers.tables import MEANS, Figure
from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError
from semsearch.evaluation import sts_pairs
from semsearch.evaluation.environment import caption
from semsearch.training import Dataset

AS_IS = -1  # the seed of a job that does not depend on one
SECONDS = "train-seconds"  # measured while training
Scores = Mapping[str, Figure]


@dataclass
class Workshop:
    """The folders and settings of all jobs. `models` replace those of runs.toml, by the name of the base."""

    setting: Setting
    data: Path
    out: Path
    device: str = "auto"
    models: Mapping[str, str] = field(default_factory=dict)
    sources: set[tuple[str, str]] = field(default_factory=set)  # commit and machine of every figure returned

    @property
    def ruler(self) -> Ruler:
        settings = content()[self.setting]
        most = {
            "pairs": settings.get("pairs", 0),
            "labelled": settings.get("labelled", 0),
            "texts": settings["anisotropy"],
        }
        return Ruler(self.data, **most, device=self.device)

    def scores(self, job: Job, seed: int, measures: Iterable[str]) -> Scores:
        """The `measures` of this job with this seed, from its file or measured now.

        Raises Absent, with the reason, if it cannot be run here.
        """
        chosen = parts(measures)
        seed = seed if job.seeded else AS_IS
        path = self.path(job, seed)
        settings = self._settings(job)
        scores, kept = self._read(path, settings), self._cosines(path, settings)
        if missing := [name for name in chosen if name not in scores or (self._keeps(name) and name not in kept)]:
            try:
                results, cosines = self._measured(job, seed, missing)
            except SemsearchError as error:
                raise Absent(f"{error.message} {error.fix}".strip()) from error
            scores |= results
            self._write(path, job, seed, settings, scores, kept | cosines)
        return whole(scores)

    def _keeps(self, measure: str) -> bool:
        """Whether the cosines of a measure are kept, which verdicts are drawn from."""
        return self.setting != "full" and compares(measure)

    def known(self, job: Job, seed: int) -> Scores:
        """The scores in the file of an earlier run."""
        return whole(self._read(self.path(job, seed if job.seeded else AS_IS), self._settings(job)))

    def cosines(self, job: Job, measure: str, seed: int) -> list[float]:
        """The cosines of the pairs of `measure`, from the file of an earlier run; [] if none."""
        seed = seed if job.seeded else AS_IS
        return self._cosines(self.path(job, seed), self._settings(job)).get(measure, [])

    def _cosines(self, path: Path, settings: Mapping[str, Any]) -> dict[str, list[float]]:
        results = read(path)
        return dict(results.get("cosines", {})) if results.get("settings") == settings else {}

    def _read(self, path: Path, settings: Mapping[str, Any]) -> dict[str, Figure]:
        """The scores in a file, if its settings are the same."""
        results = read(path)
        if results.get("settings") != settings:
            return {}
        self.sources.add((results["commit"], results["machine"]))
        return dict(results["scores"])

    def path(self, job: Job, seed: int) -> Path:
        """The file of a run, model and seed."""
        name = re.sub(r"[^\w.@-]+", "_", f"{job.run}--{job.base}").strip("_")
        return self.out / self.setting / f"{name}{'' if seed == AS_IS else f'--seed-{seed}'}.json"

    def _settings(self, job: Job) -> dict[str, Any]:
        """The settings under which a figure is valid."""
        settings = {key: value for key, value in job.as_dict.items() if key not in ("run", "base")}
        small = {key: value for key, value in content()[self.setting].items() if key != "settings"}
        result: dict[str, Any] = json.loads(
            json.dumps({**settings, "model": Path(job.model).name, "measured on": small})
        )
        return result

    def _measured(
        self, job: Job, seed: int, names: Collection[str]
    ) -> tuple[dict[str, Figure], dict[str, list[float]]]:
        """The figures, and the cosines that they come from."""
        seconds, peak = 0.0, dict[str, Figure]()
        folder = self.path(job, seed).with_suffix("")
        if job.method:
            if MEMORY in names:
                reset_memory()
            seconds = self._trained(job, seed, folder)
            peak = {MEMORY: peak_memory()} if MEMORY in names else {}
            encoder = Encoder.load(folder, device=self.device)
        else:
            encoder = Encoder.load(reference(job.model, job.inference_template), device=self.device, dtype="fp32")
        if job.post:
            encoder, seconds = self._fitted(job, seed, encoder)
        results: dict[str, Figure] = {**({SECONDS: seconds} if job.method or job.post else {}), **peak}
        cosines: dict[str, list[float]] = {}
        for name in names:
            if self._keeps(name):
                cosines[name] = [round(value, 6) for value in self.ruler.cosines(name, encoder)]
                results[name] = self.ruler.correlation(name, cosines[name])
            elif name not in results:
                results[name] = self.ruler.measure(name, encoder)
        if job.method and self.setting != "full":
            shutil.rmtree(folder)  # 90 MB that one minute of training makes again
        return results, cosines

    def _trained(self, job: Job, seed: int, folder: Path) -> float:
        """Train into `folder`, resuming an interrupted run; returns the seconds it took."""
        from semsearch.training import SimilarityValidation, TrainingConfig, TrainingOptions, train

        self._check_device(job)
        options = {name: template(value) if isinstance(value, str) else value for name, value in job.options.items()}
        settings = TrainingConfig(
            job.method,
            job.model,
            seed=seed,
            options=options,
            device=self.device,
            training_template=template(job.training_template),
            inference_template=template(job.inference_template),
            **job.settings,
        )
        dev = None
        if self.setting == "full":
            (subset,) = sts_pairs("stsb", self.data, "dev").values()
            dev = SimilarityValidation(subset.pairs, subset.gold)
            if job.data in sources.CHINESE and job.data != "nli-cn":
                dev = SimilarityValidation(*sources.labelled(job.data, self.data, "valid"), name=f"{job.data} valid")
        return train(
            settings, examples(job.data, self.data, self._most), folder, TrainingOptions(validation=dev)
        ).seconds

    def _fitted(self, job: Job, seed: int, encoder: Encoder) -> tuple[Encoder, float]:
        """The encoder with post-processing, and the seconds that fitting took."""
        from semsearch.evaluation.papers import fitting

        texts = examples(job.data, self.data, self._most).columns["anchor"]
        begun = time.perf_counter()
        fit = fitting.Fit(job.post, texts, seed=max(seed, 0), source=job.data)
        return fitting.fitted(encoder, fit, note), time.perf_counter() - begun

    @property
    def _most(self) -> int:
        return int(content()[self.setting].get("texts", 0))

    def _check_device(self, job: Job) -> None:
        if self.setting == "full" and self.device == "auto":
            import torch

            if not torch.cuda.is_available():
                raise Absent("the full setting needs a GPU (or --device cpu, and days)")

    def _write(
        self,
        path: Path,
        job: Job,
        seed: int,
        settings: Mapping[str, Any],
        scores: Scores,
        cosines: Mapping[str, Sequence[float]],
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        record: dict[str, Any] = {
            "run": job.run,
            "base": job.base,
            "seed": None if seed == AS_IS else seed,
            "scores": dict(scores),
            "settings": settings,
            "commit": commit(),
            "machine": caption(),
            "written": time.strftime("%Y-%m-%d %H:%M"),
            **({"cosines": dict(cosines)} if cosines else {}),
        }
        new = path.with_suffix(".new")
        new.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(path)
        self.sources.add((record["commit"], record["machine"]))


def parts(measures: Iterable[str]) -> list[str]:
    """The measures with every mean replaced by its parts."""
    return list(dict.fromkeys(part for name in measures for part in MEANS.get(name, (name,))))


def whole(scores: Scores) -> dict[str, Figure]:
    """`scores` with the means whose parts are all present, computed from figures with two decimals."""
    results = dict(scores)
    for name, needed in MEANS.items():
        figures = [scores[part] for part in needed if part in scores]
        if len(figures) == len(needed):
            results[name] = sum(round(float(one), 2) for one in figures) / len(figures)
    return results


def read(path: Path) -> dict[str, Any]:
    """The content of a result file; {} if it does not exist."""
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return results


@lru_cache(4)
def examples(name: str, data: Path, most: int) -> Dataset:
    return sources.examples(name, data, most)


@lru_cache(1)
def commit() -> str:
    """The commit of this checkout, "" outside of a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
