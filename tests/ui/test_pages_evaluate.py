"""The evaluate page: its figures are the library's own, wrong files are sentences, and runs are kept side by side."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import HOSTILE, again, click, ended, opened
from helpers.pages import said as alerts
from helpers.stsdata import tiny_sts
from streamlit.testing.v1 import AppTest

from semsearch import Document, Encoder, Index, SemsearchError
from semsearch.evaluation import (
    evaluate,
    known_item_rank,
    known_item_recall,
    list_runs,
    sample_sentences,
    save_run,
    sts_task,
)

DOCUMENTS = [
    Document("diesel.txt", "A diesel engine ignites fuel by compression. It has no spark plug at all."),
    Document("petrol.txt", "A petrol engine ignites fuel with a spark plug. It turns faster than others."),
    Document("bread.txt", "Bread needs salt and time and a hot oven. Yeast makes the dough rise slowly."),
    Document("soup.txt", f"A soup is cooked for a long while. {HOSTILE} is written on the pot."),
]
TEXTS = {"q1": "which engine has a spark plug", "q2": "dough in the oven", "q3": "zeppelins"}
GRADES = {"q1": {"petrol.txt": 2, "diesel.txt": 1}, "q2": {"bread.txt": 1}, "q3": {"soup.txt": 1}}
QUERIES = "".join(f"{id_}\t{text}\n" for id_, text in TEXTS.items())
TREC = "".join(f"{query} 0 {name} {grade}\n" for query, of in GRADES.items() for name, grade in of.items())
BEIR = "query-id\tcorpus-id\tscore\n" + TREC.replace(" 0 ", " ").replace(" ", "\t")
MODES = ("hybrid", "semantic", "keyword")
KEY = ("Evaluate",)
shown = partial(opened, "evaluate")
said = partial(alerts, more=["caption"])


def measured(page: AppTest) -> list[dict[str, Any]]:
    """Press Measure, wait, and read the rows of the table."""
    click(page, "Measure")
    ended(KEY)
    again(page)
    return rows_of(page)


def rows_of(page: AppTest) -> list[dict[str, Any]]:
    return page.dataframe[0].value.to_dict("records") if page.dataframe else []


def uploaded(queries: bytes, judged: bytes) -> AppTest:
    page = shown(measure="queries")
    page.file_uploader(key="queries file").set_value(("queries.tsv", queries, "text/plain"))
    page.file_uploader(key="judgements file").set_value(("qrels.tsv", judged, "text/plain"))
    return again(page)


def test_without_an_index_the_page_says_where_to_make_one(home: Path) -> None:
    assert "no index yet" in said(shown())


@pytest.mark.parametrize("judged", [TREC, BEIR], ids=["trec", "beir"])
def test_figures_on_your_queries_are_those_of_evaluate(judged: str, notes: Path) -> None:
    rows = measured(uploaded(QUERIES.encode(), judged.encode()))
    assert [row["mode"] for row in rows] == list(MODES)
    with Index.open("notes") as index:
        for row in rows:
            answers = [[hit.document for hit in index.search(text, k=100, mode=row["mode"])] for text in TEXTS.values()]
            right = evaluate(lambda _, answers=answers: answers, TEXTS, GRADES)
            for name in ("nDCG@10", "recall@100", "MRR@10", "MAP@100"):
                assert row[name] == pytest.approx(right[name])
            assert row["queries"] == 3
            assert 0 < row["ms"] <= row["ms, 95 %"]
    assert any(0 < row["nDCG@10"] < 1 for row in rows)


def test_a_copy_that_is_folded_into_a_hit_is_found_too(notes: Path) -> None:
    with Index.open("notes") as index:
        index.add([Document("copy.txt", DOCUMENTS[1].text)])
    rows = measured(uploaded(QUERIES.encode(), b"q1 0 petrol.txt 1\nq1 0 copy.txt 1\n"))
    assert [row["recall@100"] for row in rows] == [1, 1, 1]


def test_judgements_of_documents_by_other_names_are_told(notes: Path) -> None:
    page = uploaded(QUERIES.encode(), b"q1 0 folder/petrol 1\n")
    assert "0 of 1 judged documents are in notes." in page.warning[0].value.replace("\\", "")  # before it is measured
    assert {row["nDCG@10"] for row in measured(page)} == {0}
    assert re.search(r"has the id '\w+.txt', one of the judgements 'folder/petrol'", said(page))
    assert "warnings" not in next(iter(list_runs().values()))


@pytest.mark.parametrize(
    ("queries", "judged", "told"),
    [
        (QUERIES, "q1 0 a.txt 1\nnonsense\n", "qrels.tsv:2: not a judgement"),
        (QUERIES, "q1 0 a.txt good\n", "qrels.tsv:1: not a judgement"),
        (QUERIES, "\n", "qrels.tsv contains no judgement"),
        (" \n", TREC, "queries.tsv contains no query"),
        ('{"id": "q1"}\n', TREC, "queries.tsv:1: a query needs a `text`"),
        ('q1\tsomething\n{"id": \n', TREC, "queries.tsv:2: broken JSON"),
        ("q1\t\n", TREC, "queries.tsv:1: the query is empty"),
        (QUERIES, "q9 0 a.txt 1\n", "qrels.tsv: 1 of 1 judged queries are not in queries.tsv, the first is 'q9'"),
    ],
)
def test_a_wrong_file_is_a_sentence_that_names_file_and_line(queries: str, judged: str, told: str, notes: Path) -> None:
    page = uploaded(queries.encode(), judged.encode())
    assert told in page.error[0].value.replace("\\", "")
    assert not [each for each in page.button if each.label == "Measure"]


def test_a_file_that_is_not_utf_8_is_a_sentence_with_its_line(notes: Path) -> None:
    page = uploaded(b"q1\tone\nq2\t\xff\n", TREC.encode())
    assert "queries.tsv:2: not UTF-8" in page.error[0].value.replace("\\", "")


def test_sentences_of_the_index_find_their_own_passage(notes: Path) -> None:
    rows = measured(shown(measure="without labels", sample="3", seed="7"))
    with Index.open("notes") as index:
        asked = sample_sentences(index.analysis.texts(), 3, 7)
        assert len(asked) == 3
        for row, mode in zip(rows, MODES, strict=True):
            hits = [index.search(text, k=10, mode=mode, group="passage") for text in asked]
            ranks = [known_item_rank(text, [hit.text for hit in each]) for text, each in zip(asked, hits, strict=True)]
            assert row["recall@1"] == known_item_recall(ranks, 1)
            assert row["recall@10"] == known_item_recall(ranks, 10)
    assert max(row["recall@1"] for row in rows) == 1


def test_one_seed_draws_the_same_sentences_and_each_is_in_its_passage(notes: Path) -> None:
    with Index.open("notes") as index:
        texts = list(index.analysis.texts())
    asked = sample_sentences(texts, 3, 1)
    assert asked == sample_sentences(texts, 3, 1)
    assert len({tuple(sample_sentences(texts, 3, seed)) for seed in range(8)}) > 1
    assert all(known_item_rank(each, texts) for each in asked)
    assert known_item_rank("nowhere to be found", texts) is None


def test_an_index_that_is_too_small_says_so(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("a", "Short.")])
    page = shown(measure="without labels")
    assert measured(page) == []
    assert "no sentence of four words" in said(page)


def test_a_figure_that_is_not_a_number_is_saved_as_null_and_the_others_are_shown() -> None:
    from semsearch_ui.shared import runs

    run = runs.new("queries", "hashing", {"k": 10}, [{"ms": float("nan"), "MRR@10": 0.5}])
    assert run["rows"] == [{"ms": None, "MRR@10": 0.5}]


def test_several_indexes_are_asked_the_same_and_stand_in_one_table(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add(DOCUMENTS[:2])
    page = shown(measure="without labels", sample="3")
    page.multiselect(key="n").set_value(["notes", "others"])
    rows = measured(again(page))
    assert [(row["index"], row["mode"]) for row in rows] == [(n, m) for n in ("others", "notes") for m in MODES]
    assert max(row["recall@10"] for row in rows[:3]) < 1  # the other half is in notes alone
    assert {row["queries"] for row in rows} == {3}


def test_one_index_that_fails_is_told_beside_the_others(home: Path) -> None:
    from semsearch_ui.evaluate import metric_job
    from semsearch_ui.shared import runs

    def work(name: str, told: Any) -> dict[str, Any]:
        if name == "empty":
            raise SemsearchError("it has no sentence.")
        return runs.new("queries", "hashing", {}, [{"mode": "hybrid"}], index=name)

    outcome = metric_job.measure(["empty", "notes"], work, lambda step: None)
    assert [run["index"] for run in list_runs().values()] == ["notes"]
    assert outcome.text.startswith("1 run measured") and "empty: It has no sentence." in outcome.problems[0]


def test_a_run_outlives_the_server_until_it_is_deleted(notes: Path) -> None:
    import streamlit as st

    rows = measured(shown(measure="without labels"))
    st.cache_resource.clear()  # as in a server that was started again
    page = shown(measure="without labels")
    assert rows_of(page) == rows
    [name] = list_runs()
    page.multiselect(key="runs to delete").set_value([name])
    click(again(page), "Delete 1")
    assert list_runs() == {}
    assert rows_of(page) == []


def test_a_run_that_cannot_be_kept_is_shown_and_told(notes: Path) -> None:
    (notes.parent / ".evaluations").write_text("in the way", "utf-8")
    page = shown(measure="without labels")
    assert len(measured(page)) == 3
    assert "could not be saved" in said(page)


def test_a_file_that_is_no_run_of_these_pages_hides_no_other(notes: Path) -> None:
    for strange in ({}, {"measure": "without labels"}, {"measure": "without labels", "rows": [1], "settings": {}}):
        save_run(strange)
    assert len(measured(shown(measure="without labels"))) == 3


def test_the_downloads_hold_every_run_and_no_formula(notes: Path) -> None:
    from semsearch_ui.evaluate import run_table

    with Index.create("=cmd", encoder="hashing") as index:
        index.add(DOCUMENTS)
    measured(shown(measure="without labels", n="=cmd"))
    rows = [run_table.Row(name, run, each) for name, run in list_runs().items() for each in run["rows"]]
    flat = run_table.table(rows)
    assert [row["index"] for row in flat] == ["=cmd"] * 3
    from semsearch_ui.shared import tables

    lines = tables.to_csv(flat, list(flat[0])).splitlines()
    assert len(lines) == 4
    assert all(",'=cmd," in line for line in lines[1:])
    assert json.loads(json.dumps(list(list_runs().values())))[0]["rows"][0]["mode"] == "hybrid"


def test_an_sts_task_is_measured_for_each_encoder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny_sts(tmp_path / "data")
    monkeypatch.setenv("SEMSEARCH_DATA", str(data))
    page = shown(measure="STS tasks")
    page.multiselect(key="encoders").set_value(["hashing", "minilm"])
    page.button_group(key="tasks").set_value(["sts13", "stsb"])
    rows = measured(again(page))
    assert [row["encoder"] for row in rows] == ["minilm", "hashing"]
    for row in rows:
        encoder = Encoder.load(row["encoder"])
        right = [round(sts_task(task, encoder, data).spearman.all, 2) for task in ("sts13", "stsb")]
        assert [row["STS13"], row["STS-B"]] == right
        assert row["Avg. of 2"] == round(sum(right) / 2, 2)


def test_where_test_sets_are_absent_it_says_what_to_set(home: Path) -> None:
    page = shown(measure="STS tasks")
    assert "SEMSEARCH_DATA" in said(page)
    assert "SEMSEARCH_DATA" in page.code[0].value
    assert not [each for each in page.button if each.label == "Measure"]


def test_a_job_that_is_stopped_keeps_what_was_measured_before(notes: Path) -> None:
    import threading

    from semsearch_ui.evaluate import metric_job
    from semsearch_ui.shared.work import jobs

    first_is_done = threading.Event()

    def work(name: str, told: Any) -> dict[str, Any]:
        if name == "second":
            first_is_done.set()
            while True:
                told(jobs.Progress(1, 2, "texts"))
        return {"measure": "queries", "rows": [{"mode": "hybrid"}], "settings": {}, "encoder": name}

    job = jobs.start(KEY, "measuring", lambda told: metric_job.measure(["first", "second"], work, told))
    assert first_is_done.wait(60)
    job.stop.set()
    assert ended(KEY) == "stopped"
    assert [run["encoder"] for run in list_runs().values()] == ["first"]


def test_nothing_of_a_file_or_a_document_is_markup(notes: Path) -> None:
    pages = [uploaded(f"q1\t{HOSTILE}\n".encode(), f"{HOSTILE}\n".encode()), shown(measure="without labels")]
    measured(pages[1])
    pages.append(shown(measure="queries"))
    pages[2].file_uploader(key="queries file").set_value((HOSTILE, b"q1\t\n", ""))
    pages[2].file_uploader(key="judgements file").set_value((HOSTILE, TREC.encode(), ""))
    again(pages[2])
    assert len(pages[2].error) == 1
    for page in pages:
        for each in (*page.markdown, *page.caption, *page.error, *page.success):
            bare = each.value.replace("\\<", "").replace("\\[", "").replace("\\]", "")
            assert "<script" not in bare
            assert "](javascript" not in bare
        assert not page.get("html")
