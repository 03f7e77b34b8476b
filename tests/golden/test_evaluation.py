"""STS scores, alignment, uniformity and anisotropy of the authors' code: eval.npz."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch.errors import UsageError
from semsearch.evaluation import geometry, sts_benchmarks
from semsearch.utils.vectors import unit_rows

Space = tuple[Any, Any, Any, dict[str, float]]


@pytest.fixture(scope="module")
def space(golden: Path) -> Space:
    """Vectors of either side (30, 12), gold scores (30,), and what was measured of them."""
    arrays = np.load(golden / "eval.npz")
    wanted = json.loads((golden / "eval_meta.json").read_text(encoding="utf-8"))["align_uniform"]
    return arrays["au.A"], arrays["au.B"], arrays["au.scores"], wanted


@pytest.mark.parametrize(("key", "ours"), [("gt_4", "> 4.0"), ("ge_4", ">= 4.0"), ("gt_4.5", "> 4.5"),
                                           ("ge_4.5", ">= 4.5")])  # fmt: skip
def test_alignment_is_that_of_wang_and_isola_on_rows_of_length_1(space: Space, key: str, ours: str) -> None:
    a, b, gold, wanted = space
    value, pairs = geometry.alignments(a, b, gold)[ours]
    assert value == pytest.approx(wanted[f"align_{key}"], rel=1e-9)
    assert pairs == (gold > float(ours.split()[1])).sum() + ("=" in ours) * (gold == float(ours.split()[1])).sum()


@pytest.mark.parametrize("threshold", [4, 4.5])
def test_alignment_of_unnormalised_rows_matches_too(space: Space, threshold: float) -> None:
    a, b, gold, wanted = space
    chosen = gold > threshold
    assert geometry.alignment(a[chosen], b[chosen]) == pytest.approx(
        wanted[f"align_gt_{threshold}_unnormalised"], rel=1e-9
    )


def test_uniformity_is_that_of_wang_and_isola(space: Space) -> None:
    a, b, _, wanted = space
    left, right = geometry.unit(a), geometry.unit(b)
    both = geometry.uniformity(np.concatenate([left, right]))
    assert both == pytest.approx(wanted["uniform_all_2n_sentences"], rel=1e-9)
    assert geometry.uniformity(left) == pytest.approx(wanted["uniform_A_only"], rel=1e-9)
    assert geometry.uniformity(right) == pytest.approx(wanted["uniform_B_only"], rel=1e-9)
    assert (geometry.uniformity(left) + geometry.uniformity(right)) / 2 == pytest.approx(
        wanted["uniform_mean_of_A_and_B"], rel=1e-9
    )


def test_anisotropy_is_equation_1_and_that_of_the_released_code(space: Space) -> None:
    rows, wanted = geometry.unit(space[0]), space[3]
    assert geometry.anisotropy(rows) == pytest.approx(wanted["anisotropy_eq1"], rel=1e-9)
    released = geometry.anisotropy(rows, with_self=True)
    assert released == pytest.approx(wanted["anisotropy_released_code_incl_self"], rel=1e-9)


def test_a_task_read_from_its_files_has_the_scores_of_senteval(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = json.loads((golden / "eval_meta.json").read_text(encoding="utf-8"))["sts_aggregation"]
    folder = tmp_path / "STS" / "TOY-en-test"
    folder.mkdir(parents=True)
    for subset, lines in toy["files"].items():
        (folder / f"STS.input.{subset}.txt").write_text("\n".join(lines["input"]) + "\n", encoding="utf-8")
        (folder / f"STS.gs.{subset}.txt").write_text("\n".join(lines["gs"]) + "\n", encoding="utf-8")
    monkeypatch.setattr(sts_benchmarks, "SUBSETS", {"toy": tuple(toy["files"])})
    monkeypatch.setattr(sts_benchmarks, "TASKS", ("toy",))
    words = {word: np.array(vector) for word, vector in toy["word_vectors"].items()}

    class Words:
        """A text is the sum of its words."""

        def encode(self, texts: Any, *, role: str) -> Any:
            return unit_rows([sum(words[word] for word in text.split()) for text in texts])

    found = sts_benchmarks.sts_task("toy", Words(), tmp_path)  # type: ignore[arg-type]
    official = toy["result"]["all"]
    for how in ("all", "mean", "wmean"):
        assert getattr(found.spearman, how) == pytest.approx(100 * official["spearman"][how], abs=1e-3)
        assert getattr(found.pearson, how) == pytest.approx(100 * official["pearson"][how], abs=1e-3)
    assert found.pairs == sum(toy["result"][subset]["nsamples"] for subset in toy["files"])
    (folder / "STS.gs.beta.txt").write_text("1.0\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"STS\.gs\.beta\.txt: scores and sentences do not match"):
        sts_benchmarks.sts_task("toy", Words(), tmp_path)  # type: ignore[arg-type]
