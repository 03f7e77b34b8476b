"""The job of a table's cell: the model, the method with all its settings, and the data.

`full` is the paper's configuration; `small` has few steps on one small model, and shows which way a change goes, if
any; `real` is the same on the models of ../teachers.py. Settings that are not in runs.toml are those of the objective's
recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal

from scripts.papers.tables import HERE, Cell, read

Setting = Literal["full", "small", "real"]
OWN = "@"  # before the name of a template of templates.toml


# the keys of results on disk, where they differ: renaming them would run every job again
JSON_KEYS = {
    "batch_size": "batch",
    "learning_rate": "rate",
    "max_length": "tokens",
    "grad_cache_size": "micro",
    "training_template": "trains",
    "inference_template": "serves",
}


class Absent(Exception):
    """The reason why something cannot be run here."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run without its seed. `method` is "" for an untrained model, which is read with `inference_template`."""

    run: str
    base: str
    model: str
    setting: Setting
    method: str = ""
    data: str = ""
    training_template: str = ""
    inference_template: str = ""
    post: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seeded(self) -> bool:
        """Whether its result depends on the seed."""
        return bool(self.method or self.post == "flow")

    @property
    def as_dict(self) -> dict[str, Any]:
        """The job as JSON."""
        results = {key: value for key, value in asdict(self).items() if value}
        results["settings"] = {JSON_KEYS.get(key, key): value for key, value in self.settings.items()}
        return {JSON_KEYS.get(key, key): value for key, value in results.items() if value}


@lru_cache(1)
def content() -> dict[str, Any]:
    """runs.toml, with the keys that `like` refers to copied in."""
    results = read("runs")
    results["runs"] = {name: _whole(name, results["runs"]) for name in results["runs"]}
    return results


def job(cell: Cell, setting: Setting, models: Mapping[str, str]) -> Job:
    """The job of a cell. `models` replace those of runs.toml, by name. Raises Absent if there is none."""
    runs = content()
    base = runs["bases"][cell.base]
    model = models.get(cell.base) or (base.get("model", "") if setting == "full" else "")
    if not model and "why" in base:
        raise Absent(base["why"])
    if not model:
        has = ", ".join(models) if setting == "real" else "one model, a BERT"
        raise Absent(f"the {setting} setting has {has}, and this is {base['model'].removeprefix('hf:')}")
    name, _, data = cell.run.partition("@") if not cell.run.startswith(OWN) else (cell.run, "", "")
    if name not in runs["runs"]:
        return Job(cell.run, cell.base, model, setting, inference_template=cell.run)
    run = runs["runs"][name]
    usual = dict(run.get("settings", {}))
    if setting != "full":
        chosen = {key: value for key, value in usual.items() if key not in ("epochs", "eval_every")}
        usual = {**chosen, **(runs[setting]["settings"] if run.get("method") else {}), **run.get("small", {})}
    settings = {key: _of(value, base["kind"]) for key, value in usual.items() if key != "data"}
    return Job(
        run=cell.run,
        base=cell.base,
        model=model,
        setting=setting,
        method=run.get("method", ""),
        data=data or str(usual.get("data") or run["data"]),
        training_template=_of(run.get("training_template", ""), base["kind"]),
        inference_template=_of(run.get("inference_template", ""), base["kind"]),
        post=run.get("post", ""),
        options=run.get("options", {}),
        settings=settings,
    )


def template(name: str) -> str:
    """The name of a template for the library: @NAME is one of templates.toml.

    >>> template("cot-bert"), template("@prefix").endswith("templates.toml:prefix")
    ('cot-bert', True)
    """
    return f"{HERE / 'templates.toml'}:{name.removeprefix(OWN)}" if name.startswith(OWN) else name


def reference(model: str, name: str) -> str:
    """A model with a template, which may have settings before it: layer=-2,template=prompteol."""
    if not name:
        return model
    if name.startswith(OWN):
        return f"{model}#template={template(name)}"
    return f"{model}#{name}"


def _whole(name: str, runs: Mapping[str, Any]) -> dict[str, Any]:
    own = dict(runs[name])
    like = own.pop("like", "")
    if not like:
        return own
    taken = _whole(like, runs)
    options = {**taken.get("options", {}), **own.get("options", {})}
    return {**taken, **own, **({"options": options} if options else {})}


def _of(value: Any, kind: str) -> Any:
    """A value, or the one for this kind of model if there are several."""
    return value.get(kind, "") if isinstance(value, dict) else value
