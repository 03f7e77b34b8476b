"""Template search: which templates are tried, in which order, and how each is scored."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from semsearch.errors import UsageError
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.evaluation.templates.greedy_search import Score, scorer, search, thinned
from semsearch.evaluation.templates.grids import GRIDS, TABLE_4, TemplateGrid
from semsearch.prompts.library import find, resolve
from semsearch.prompts.linter import lint

POINTS = {"means": 30, "is": 20, "This [X]": 5, '"[X]"': 7, "!": 2, "?": 1}


def by_points(tried: list[str]) -> Score:
    """A score to which each piece adds its own."""

    def score(text: str) -> float:
        tried.append(text)
        return float(sum(points for piece, points in POINTS.items() if piece in text))

    return score


def test_relation_then_prefix_then_ending_each_the_best_of_its_list() -> None:
    tried: list[str] = []
    ranked = search(TABLE_4, by_points(tried))
    assert tried[:4] == ["[X] [MASK] .", "[X] is [MASK] .", "[X] mean [MASK] .", "[X] means [MASK] ."]
    assert all("means" in text for text in tried[4:])
    assert ranked[0].text == 'This sentence of "[X]" means [MASK] !'
    assert [one.stage for one in ranked if one.text in tried[:4]] == ["relation"] * 4


def test_no_template_is_scored_twice_and_the_report_is_right() -> None:
    tried: list[str] = []
    told: list[tuple[int, int]] = []
    search(TABLE_4, by_points(tried), report=lambda done, total, text: told.append((done, total)))
    assert len(tried) == len(set(tried)) == 4 + 5 + 3 - 2
    assert told == [(at, len(tried)) for at in range(len(tried))]


def test_the_full_grid_is_every_template_best_first() -> None:
    tried: list[str] = []
    ranked = search(TABLE_4, by_points(tried), full=True)
    assert len(tried) == len(ranked) == 5 * 4 * 3
    assert [one.spearman for one in ranked] == sorted((one.spearman for one in ranked), reverse=True)


def test_a_template_whose_cosines_are_all_equal_ranks_last() -> None:
    ranked = search(TABLE_4, lambda text: math.nan if "means" in text else -1.0)
    assert math.isnan(ranked[-1].spearman) and ranked[0].spearman == -1.0


@pytest.mark.parametrize("kind", GRIDS)
def test_the_usual_grids_have_no_errors_on_their_models(kind: str) -> None:
    for text in GRIDS[kind].all():
        assert [finding for finding in lint(text, kind=kind) if finding.severity == "error"] == [], text


def test_the_papers_best_template_is_in_its_grid() -> None:
    assert find("masks-1").text["passage"] in set(TABLE_4.all())


@pytest.mark.parametrize(("prefixes", "relations"), [(("no slot",), ("is",)), (("[X] [X]",), ("is",)), ((), ("is",))])
def test_an_invalid_grid_is_refused(prefixes: tuple[str, ...], relations: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        TemplateGrid(prefixes, relations, (".",))


def test_pairs_are_thinned_evenly() -> None:
    subset = Subset(tuple((str(at), "") for at in range(10)), tuple(float(at) for at in range(10)))
    assert thinned(subset, 5).gold == (0, 2, 4, 6, 8)
    assert thinned(subset, 99) == subset


def test_a_score_equals_that_of_an_encoder_loaded_with_the_template(golden: Path) -> None:
    pytest.importorskip("torch")
    from semsearch.encoders import factory
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.sts import sts
    from semsearch.models.model_ref import Reference

    folder, texts = golden / "models" / "tiny-bert", ("[X] means [MASK] .", 'This sentence : "[X]" is [MASK] !')
    pairs = (("a man is playing", "a man plays"), ("a cat", "the dog said"), ("guitar", "a kid is here"), ("a", "b"))
    gold = (5.0, 1.0, 2.0, 0.5)
    engine, _ = factory.open_backend(Reference(str(folder), template=texts[0]), device="cpu")
    score = scorer(engine, resolve(texts[0]), Subset(pairs, gold))
    for text in texts:
        alone = sts(pairs, Encoder.load(folder, template=text, device="cpu"), gold).spearman
        assert score(text) == pytest.approx(alone)


def test_search_templates_scores_the_grid_and_can_be_stopped(golden: Path) -> None:
    pytest.importorskip("torch")
    from semsearch.encoders import factory
    from semsearch.evaluation import search_templates, template_grid
    from semsearch.models.model_ref import Reference
    from semsearch.types import Progress

    folder = str(golden / "models" / "tiny-bert")
    pairs = (("a man is playing", "a man plays"), ("a cat", "the dog said"), ("guitar", "a kid is here"), ("a", "b"))
    gold, lists = (5.0, 1.0, 2.0, 0.5), (("[X]", '"[X]"'), ("means", "is"), (".",))
    grid = template_grid(folder, lists)
    assert grid == TemplateGrid(*lists)
    assert template_grid(folder) == TABLE_4
    text = next(grid.all())
    engine, _ = factory.open_backend(Reference(folder, template=text), device="cpu")
    score = scorer(engine, resolve(text), Subset(pairs, gold))
    told: list[Progress] = []
    found = search_templates(folder, pairs, gold, lists=lists, full=True, progress=told.append, window=3)
    assert {one.text for one in found} == set(grid.all())
    for one in found:
        assert one.spearman == pytest.approx(score(one.text))
    assert [one.done for one in told] == sorted({one.done for one in told})
    assert {one.total for one in told} == {4 * 8} and len(told) == 4 * 3

    def stop(step: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_templates(folder, pairs, gold, lists=lists, progress=stop)


def test_a_model_with_its_template_built_in_is_not_searched() -> None:
    from semsearch.evaluation import search_templates, template_grid

    with pytest.raises(UsageError, match="built in"):
        template_grid("default")
    with pytest.raises(UsageError, match="built in"):
        search_templates("cot-minilm", [("a", "b"), ("c", "d")], [1, 2])
    with pytest.raises(UsageError, match="1 pairs"):
        search_templates("default", [("a", "b")], [1])
