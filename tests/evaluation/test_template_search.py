"""Template search: which templates are tried, in which order, and how each is scored."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from semsearch.errors import UsageError
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.evaluation.templates.greedy_search import search
from semsearch.evaluation.templates.grids import GRIDS, TABLE_4, TemplateGrid
from semsearch.evaluation.templates.judging import Judge, Judgement, Reader, on_pairs, without_a_word, without_labels
from semsearch.prompts import Prompt, parse
from semsearch.prompts.library import find, resolve
from semsearch.prompts.linter import lint

POINTS = {"means": 30, "is": 20, "This [X]": 5, '"[X]"': 7, "!": 2, "?": 1}


def by_points(tried: list[str]) -> Judge:
    """A judge for whom each piece adds its own points."""

    def judge(text: str) -> Judgement:
        tried.append(text)
        return Judgement(float(sum(points for piece, points in POINTS.items() if piece in text)))

    return judge


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
    ranked = search(TABLE_4, lambda text: Judgement(math.nan if "means" in text else -1.0))
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
    assert subset.thinned(5).gold == (0, 2, 4, 6, 8)
    assert subset.thinned(99) == subset


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
    judge = on_pairs(Reader(engine, resolve(texts[0])), Subset(pairs, gold))
    for text in texts:
        alone = sts(pairs, Encoder.load(folder, template=text, device="cpu"), gold).spearman
        assert judge(text).score == pytest.approx(alone)


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
    judge = on_pairs(Reader(engine, resolve(text)), Subset(pairs, gold))
    told: list[Progress] = []
    found = search_templates(folder, pairs, gold, lists=lists, full=True, progress=told.append, window=3)
    assert {one.text for one in found} == set(grid.all())
    for one in found:
        assert one.spearman == pytest.approx(judge(one.text).spearman)
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
        search_templates("minilm", [("a", "b"), ("c", "d")], [1, 2])
    with pytest.raises(UsageError, match="1 pairs"):
        search_templates("default", [("a", "b")], [1])


class Table:
    """A backend whose vectors depend on the template and the text alone."""

    def __init__(self, vectors: dict[str, dict[str, list[float]]]) -> None:
        self.vectors, self.embedded = vectors, 0

    def embed(self, texts: list[str], prompt: Prompt) -> Any:
        self.embedded += len(texts)
        kind = "spread" if "spread" in prompt.after else "narrow"
        return np.array([self.vectors[kind].get(text) or self.vectors[kind][text.split()[-1]] for text in texts])


TEXTS = [f"the {word} lies by {word}" for word in ("sea", "hill", "town", "wood", "lake", "road")]


def tabled() -> tuple[Table, Reader]:
    """Texts that end in the same word have one vector: far apart in one template, close together in the other."""
    words = [text.split()[-1] for text in TEXTS]
    spread = {word: np.eye(6)[at].tolist() for at, word in enumerate(words)}
    narrow = {word: (np.ones(6) + 0.01 * np.eye(6)[at]).tolist() for at, word in enumerate(words)}
    table = Table({kind: {**each, "by": [1.0] * 6} for kind, each in (("spread", spread), ("narrow", narrow))})
    return table, Reader(cast(Any, table), resolve("[X] ."))


def test_without_labels_the_template_that_spreads_texts_and_keeps_their_copies_close_is_best() -> None:
    from semsearch.evaluation.geometry import alignment, uniformity, unit

    table, reader = tabled()
    judge = without_labels(reader, TEXTS)
    spread, narrow = judge("[X] spread"), judge("[X] narrow")
    assert spread.score > narrow.score and math.isnan(spread.spearman) and spread.by_seed == ()
    prompt = parse("[X] spread")
    rows, others = (unit(table.embed(each, prompt)) for each in (TEXTS, [without_a_word(text) for text in TEXTS]))
    assert spread.alignment == pytest.approx(alignment(rows, others))
    assert spread.uniformity == pytest.approx(uniformity(rows))
    assert spread.score == pytest.approx(-(spread.alignment + spread.uniformity))


def test_each_seed_draws_other_texts_and_the_score_is_their_mean() -> None:
    _, reader = tabled()
    judged = without_labels(reader, TEXTS, (0, 1, 2))("[X] spread")
    assert len(judged.by_seed) == 3 and judged.score == pytest.approx(sum(judged.by_seed) / 3)
    assert judged == without_labels(reader, TEXTS, (0, 1, 2))("[X] spread")
    with pytest.raises(UsageError, match="3 different texts"):
        without_labels(reader, [*TEXTS[:3], TEXTS[0]])


def test_each_seed_draws_half_of_the_pairs_and_embeds_them_once() -> None:
    table, reader = tabled()
    pairs = tuple((one, other) for at, one in enumerate(TEXTS) for other in TEXTS[at:])
    gold = tuple(float(one == other) * 5 + at / 100 for at, (one, other) in enumerate(pairs))
    judged = on_pairs(reader, Subset(pairs, gold), (3, 4))("[X] spread")
    assert table.embedded == len(TEXTS)
    assert len(judged.by_seed) == 2 and judged.spearman == pytest.approx(sum(judged.by_seed) / 2)
    assert judged.deviation == pytest.approx(abs(judged.by_seed[0] - judged.by_seed[1]) / 2**0.5)


def test_a_word_less_is_one_word_less_and_never_none() -> None:
    assert without_a_word("kettle", 3) == "kettle"
    for seed in range(5):
        left = without_a_word("a man plays the guitar", seed).split()
        assert len(left) == 4 and set(left) < {"a", "man", "plays", "the", "guitar"}
    assert len({without_a_word("a man plays the guitar", seed) for seed in range(9)}) > 1
