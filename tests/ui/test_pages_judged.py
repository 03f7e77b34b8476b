"""Hits that are marked on the search page become the test set of Evaluate, whose words are those of its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from helpers.pages import again, at_home, click, ended, hits, opened, tell
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index
from semsearch.evaluation import Judgements, evaluate_search, list_runs, paired_difference

DOCUMENTS = [
    Document("diesel.txt", "A diesel engine ignites fuel by compression. It has no spark plug at all."),
    Document("petrol.txt", "A petrol engine ignites fuel with a spark plug. It turns faster than others."),
    Document("my bread.txt", "Bread needs salt and time and a hot oven. Yeast makes the dough rise slowly."),
]
KEY = ("Evaluate",)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(tmp_path, tmp_path, monkeypatch):
        with Index.create("notes", encoder="hashing") as index:
            index.add(DOCUMENTS)
        yield tmp_path


def key_of(page: AppTest, document: str) -> str:
    return next(str(hit["key"]) for hit in hits(page)["hits"] if hit["record"]["document"] == document)


def said(page: AppTest) -> str:
    kinds = (
        page.error,
        page.warning,
        page.success,
        page.info,
        page.caption,
        page.markdown,
        page.header,
        page.header,
    )
    hidden = str.maketrans("", "", "\\*\u2060")
    return "\n".join(each.value.translate(hidden) for kind in kinds for each in kind)


def judge(question: str, **grades: int) -> None:
    for name, grade in grades.items():
        Judgements("notes").judge(question, {"bread": "my bread.txt"}.get(name, f"{name}.txt"), grade)


def measured(**url: Any) -> AppTest:
    page = click(opened("evaluate", **url), "Measure")
    assert ended(KEY) == "done"
    return again(page)


def test_a_thumb_keeps_the_document_of_its_hit_until_it_is_taken_back() -> None:
    page = opened("search", q="engine  fuel")
    assert hits(page)["judged"] == {"notes": {}}
    key = key_of(page, "diesel.txt")
    for grade in (1, 0):
        tell(page, "judge", key=key, grade=grade)
        assert Judgements("notes").grades() == {"engine fuel": {"diesel.txt": grade}}
        assert hits(page)["judged"] == {"notes": {"diesel.txt": grade}}
    assert hits(opened("search", q="engine fuel"))["judged"] == {"notes": {"diesel.txt": 0}}
    assert hits(opened("search", q="another"))["judged"] == {"notes": {}}
    tell(page, "judge", key=key, grade=None)
    assert Judgements("notes").grades() == {}


@pytest.mark.parametrize(
    "odd", [{"grade": 7}, {"grade": True}, {"grade": "1"}, {"key": "other/1", "grade": 1}, {"key": ""}]
)
def test_an_event_that_no_thumb_sends_keeps_nothing(odd: dict[str, Any]) -> None:
    page = opened("search", q="engine")
    tell(page, "judge", **{"key": key_of(page, "diesel.txt"), "grade": 1, **odd})
    assert Judgements("notes").grades() == {}


def test_what_is_more_than_its_question_cannot_be_judged() -> None:
    page = opened("search", q="engine", more="fuel")
    assert hits(page)["judged"] is None
    tell(page, "judge", key=key_of(page, "diesel.txt"), grade=1)
    assert Judgements("notes").grades() == {}


def test_damaged_judgements_are_told_and_cost_no_hit(home: Path) -> None:
    file = Judgements("notes").file
    file.parent.mkdir()
    file.write_text("{", encoding="utf-8")
    page = opened("search", q="engine")
    assert len(hits(page)["hits"]) == 3 and hits(page)["judged"] is None
    assert "cannot be read" in said(page)
    assert "cannot be read" in said(opened("evaluate", n="notes"))
    assert file.read_text(encoding="utf-8") == "{"


def test_without_a_mark_evaluate_says_where_to_make_one() -> None:
    page = opened("evaluate", n="notes")
    assert "How good is my search?" in said(page) and "No hit is marked yet" in said(page)
    assert not [each for each in page.button if each.label == "Measure"]
    judge("engine", diesel=0)
    assert "No hit is marked as helpful yet" in said(opened("evaluate", n="notes"))


def test_the_figures_are_those_of_evaluate_search_and_stand_in_one_table_with_intervals() -> None:
    judge("which engine has a spark plug", petrol=1, diesel=0)
    judge("dough in the oven", bread=1)
    judge("zeppelins", diesel=0)
    page = measured(n="notes")
    assert "2 questions with 3 marked hits: 2 helpful, 1 not." in said(page)
    assert "1 question without a helpful hit left out" in said(page)
    assert "2 of 2 judged documents" not in said(page) and "3 of 3 judged documents are in notes" in said(page)
    shown, runs = (each.value.to_dict("records") for each in page.dataframe if "mode" in each.value)
    questions = Judgements("notes").test_set()
    with Index.open("notes") as index:
        for row, told in zip(runs, shown, strict=True):
            right = evaluate_search(index.search, questions.queries, questions.qrels, row["mode"])
            for name in ("nDCG@10", "recall@10", "MRR@10", "judged@10"):
                assert row[name] == pytest.approx(right[name])
            assert told["unjudged"] == f"{100 * (1 - right['judged@10']):.0f} %"
            figure, _, spread = told["nDCG@10"].removesuffix(" ★").partition(" ± ")
            both = [each["nDCG@10"] for each in right["per_query"].values()]
            assert figure == f"{right['nDCG@10']:.2f}" and float(spread) == pytest.approx(
                1.96 * stdev(both) / 2**0.5, abs=0.006
            )
    assert [row["mode"] for row in shown] == ["hybrid", "semantic", "keyword"]
    best = max(row["nDCG@10"] for row in runs)
    assert [row["nDCG@10"].endswith(" ★") for row in shown] == [row["nDCG@10"] == best for row in runs]
    assert "How good it is" in said(page) and "Which is better" in said(page)
    assert "hybrid and semantic: " in said(page)
    assert "The marks have changed since then" not in said(page)
    judge("more", diesel=1)
    assert "The marks have changed since then" in said(again(page))


def test_a_difference_is_told_with_its_p_value_and_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(9):
        judge(f"engine number {at}", petrol=1)
    measured(n="notes")
    [(name, run)] = list_runs().items()
    run = json.loads(json.dumps(run))
    for query, figures in run["per_query"]["keyword"].items():
        figures["nDCG@10"] = 0.1 if query != "q1" else 1.0
        run["per_query"]["hybrid"][query]["nDCG@10"] = run["per_query"]["semantic"][query]["nDCG@10"] = 0.9
    (Path(".evaluations") / f"{name}.json").write_text(json.dumps(run))
    page = opened("evaluate", n="notes")
    p = 3 * paired_difference([0.9] * 9, [1.0] + [0.1] * 8).p
    assert 0 < p < 0.05
    assert "hybrid is better than keyword" in said(page)
    assert f"nDCG@10 +{0.9 - 1.8 / 9:.3f}; better for 8 questions, worse for 1, the same for 0; p = {p:.3f}" in said(
        page
    )
    assert "hybrid and semantic: the same for every question" in said(page)


def test_two_indexes_are_asked_the_same_questions_and_compared() -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add(DOCUMENTS[:1])
    for at in range(8):
        judge(f"spark plug of engine {at}", petrol=1)
    page = measured(n=["notes", "others"])
    assert "1 of 1 judged documents are in notes" in said(page) and "0 of 1 judged documents are in others" in said(
        page
    )
    assert "notes is better than others" in said(page)
    assert {run["index"] for run in list_runs().values()} == {"notes", "others"}


def test_questions_are_dropped_and_files_go_out_and_in() -> None:
    judge("engine", diesel=1)
    queries, qrels = Judgements("notes").written()
    page = opened("evaluate", n="notes")
    page.session_state["judged question"] = "engine"
    click(again(page), "Drop this question")
    assert Judgements("notes").grades() == {}
    page.file_uploader(key="imported queries").set_value(("q.jsonl", queries.encode(), "text/plain"))
    page.file_uploader(key="imported judgements").set_value(("qrels.txt", b"nonsense\n", "text/plain"))
    click(again(page), "Import")
    assert "qrels.txt:1: not a judgement" in said(page)
    page.file_uploader(key="imported judgements").set_value(("qrels.txt", qrels.encode(), "text/plain"))
    click(again(page), "Import")
    assert "1 judgement imported into notes" in said(page)
    assert Judgements("notes").grades() == {"engine": {"diesel.txt": 1}}
    click(page, "Delete all judgements")
    assert Judgements("notes").grades() == {}


def test_a_run_of_another_shape_is_no_error() -> None:
    from semsearch.evaluation import save_run

    judge("engine", diesel=1)
    for odd in ({}, {"queries": {"q1": "engine"}, "per_query": {"hybrid": {}}}, {"per_query": 7}):
        rows = [{"mode": "hybrid", "nDCG@10": 1.0}]
        save_run({"measure": "judged hits", "index": "notes", "rows": rows, "settings": {}, "encoder": "x"} | odd)
    assert not opened("evaluate", n="notes").error
