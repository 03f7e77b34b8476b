"""STS benchmarks: which are available, their scores, the geometry of their pairs, and how to stop a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.stsdata import PAIRS, tiny_sts

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import geometry, pair_geometry, sts_pairs, sts_task, sts_tasks, text_geometry
from semsearch.training import base_model_of
from semsearch.types import Progress


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tiny_sts(tmp_path / "data")


def test_available_tasks_are_those_with_all_their_files(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sts_tasks(data) == ["sts13", "stsb"]
    assert sts_tasks(data, "dev") == ["stsb"]
    monkeypatch.setenv("SEMSEARCH_DATA", str(data))
    assert sts_tasks() == ["sts13", "stsb"]
    (data / "STS" / "STS13-en-test" / "STS.gs.OnWN.txt").unlink()
    assert sts_tasks() == ["stsb"]


def test_without_a_folder_or_tasks_the_error_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEMSEARCH_DATA", raising=False)
    with pytest.raises(UsageError, match="SEMSEARCH_DATA"):
        sts_tasks()
    with pytest.raises(NotFound, match="no STS tasks"):
        sts_tasks(tmp_path)


@pytest.mark.parametrize("task", ["sts13", "stsb"])
def test_the_scores_do_not_depend_on_the_windows(task: str, data: Path, hashing: Any) -> None:
    right = sts_task(task, hashing, data)
    told: list[Progress] = []
    assert sts_task(task, hashing, data, progress=told.append, window=5) == right
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[0].done == 0 and told[-1].done < told[-1].total
    assert len(told) > 2 and {one.item for one in told} == {task}


def test_the_progress_callback_can_stop_it(data: Path, hashing: Any) -> None:
    def stop(step: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sts_task("stsb", hashing, data, progress=stop)


def test_the_geometry_of_pairs_is_that_of_the_papers(data: Path, hashing: Any) -> None:
    (subset,) = sts_pairs("stsb", data).values()
    assert subset.pairs == tuple((a, b) for a, b, _ in PAIRS)
    found = pair_geometry(hashing, subset.pairs, subset.gold)
    left, right = (hashing.encode([pair[side] for pair in subset.pairs], role="passage") for side in (0, 1))
    near = geometry.alignment(geometry.unit(left[:3]), geometry.unit(right[:3]))
    assert found.alignment["> 4.0"] == (pytest.approx(near), 3)
    assert found.alignment[">= 4.5"][1] == 2
    texts = [text for pair in subset.pairs for text in pair]
    alone = text_geometry(hashing, texts)
    assert alone.vectors == found.vectors == len(set(texts)) == 12
    assert alone.alignment == {}
    assert alone.figures["anisotropy"] == pytest.approx(found.figures["anisotropy"])
    assert alone.figures["uniformity"] == pytest.approx(found.figures["uniformity"])


@pytest.mark.parametrize("texts", [[], ["one", "one", "one"]])
def test_too_few_texts_have_no_geometry(texts: list[str], hashing: Any) -> None:
    with pytest.raises(UsageError, match="no geometry"):
        text_geometry(hashing, texts)
    with pytest.raises(UsageError, match="no geometry"):
        pair_geometry(hashing, [(text, text) for text in texts], [5.0] * len(texts))


def test_a_trained_folder_says_what_it_was_base_model_of(tmp_path: Path) -> None:
    trained, given = tmp_path / "trained", tmp_path / "given"
    (trained / "run").mkdir(parents=True)
    (trained / "run" / "settings.json").write_text(json.dumps({"base": {"name": "/bert#template=cot-bert"}}), "utf-8")
    given.mkdir()
    manifest = {"origin": {"trained": {"base": {"name": "bert#cot-bert"}}}}
    (given / "encoder.json").write_text(json.dumps(manifest), "utf-8")
    assert base_model_of(str(trained)) == "/bert#template=cot-bert"
    assert base_model_of(str(given)) == "bert#cot-bert"
    for unknown in ("", "default", str(tmp_path), str(tmp_path / "none")):
        assert base_model_of(unknown) == ""
    for odd in ('{"origin": {"trained": "x"}}', '{"origin": ["x"]}', "[]"):
        (given / "encoder.json").write_text(odd, "utf-8")
        assert base_model_of(str(given)) == ""
