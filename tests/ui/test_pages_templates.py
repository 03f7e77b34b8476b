"""The templates page: the library, the linter, the cost and the score are the library's own, and text stays text."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from helpers.pages import HOSTILE, click, ended, opened, rows, until
from helpers.pages import said as alerts
from helpers.stsdata import tiny_sts
from streamlit.testing.v1 import AppTest

from semsearch import Encoder, sts
from semsearch.evaluation import check_template, list_runs, search_templates, sts_pairs
from semsearch.prompts import templates

pytestmark = pytest.mark.usefixtures("home")
shown = partial(opened, "templates")
said = partial(alerts, more=["markdown", "caption"])
KEY = ("Templates",)
PAIRS = "a red car\ta red car\t5\na red car\ta red cart\t3\na diesel engine\ta bowl of soup\t0.5\n"
TEXT = 'This sentence : "[X]" means [MASK] .'


@pytest.fixture
def bert(golden: Path) -> str:
    """The folder of a BERT of random weights."""
    pytest.importorskip("torch")
    return str(golden / "models" / "tiny-bert")


def test_the_library_is_all_there_with_paper_and_the_token_that_is_read() -> None:
    listed = {row["name"]: row for row in rows(shown(), "token read")}
    assert list(listed) == list(templates())
    assert listed["promptbert"]["text"] == templates()["promptbert"].text["passage"]
    assert listed["promptbert"]["token read"] == "[MASK]"
    assert listed["cot-bert"]["token read"] == "the last of two [MASK]s"
    assert listed["promptbert"]["link"] == "https://arxiv.org/abs/2201.04337"
    assert "Jiang et al. 2022" in listed["promptbert"]["paper"]


def test_every_method_of_the_library_has_words_for_what_it_reads() -> None:
    from semsearch_ui.templates.page import READ

    assert {one.method for one in templates().values()} <= set(READ)


def test_the_filter_leaves_what_fits_a_kind_of_model() -> None:
    listed = rows(shown(**{"for": "causal"}), "token read")
    wanted = [one.name for one in templates().values() if {"causal", "any"} & set(one.kinds)]
    assert [row["name"] for row in listed] == wanted
    assert 0 < len(wanted) < len(templates())


@pytest.mark.parametrize(
    "text", ["This sentence means [MASK]", "[X] [X] means [MASK] .", "[X] means [MASK] . ", '"[X]" means [MASK]', TEXT]
)
def test_what_is_off_with_a_template_is_what_the_linter_finds(text: str) -> None:
    page = said(shown(t=text))
    findings = [each for each in check_template(text, model="default").findings if each.code != "cost"]
    for finding in findings:
        assert finding.message[1:] in page
        assert f"**{'error' if finding.severity == 'error' else 'warning'}**" in page
    assert "**note**" not in page
    assert ("No problem was found" in page) == (not findings)


def test_a_template_can_be_named() -> None:
    page = shown(t="cot-bert")
    assert "Token read: the last of two [MASK]s" in said(page)
    assert "[means] [[MASK]]" in page.code[0].value


def test_a_models_tokenizer_says_what_the_template_costs() -> None:
    page = shown(t=TEXT, tm="default")
    sample = check_template(TEXT, model="default").sample
    assert sample is not None
    assert f"It takes **{sample['cost']}** of {sample['max_tokens']} tokens" in said(page)
    assert "[[MASK]]" in page.code[0].value
    assert " playing " in page.code[0].value


@pytest.mark.parametrize("model", ["hashing", "nosuch", "/no/such/folder", "hf:nobody/nothing"])
def test_a_model_without_a_tokenizer_is_a_sentence_and_the_linter_stands(model: str) -> None:
    page = shown(t="This means [MASK] .", tm=model)
    assert len(page.error) + len(page.info) >= 1
    assert "Traceback" not in said(page)
    assert "[X]" in said(page)


def scored(text: str, model: str, pairs: str = PAIRS, tried: Sequence[dict[str, Any]] = ()) -> AppTest:
    """The page with pairs in its box, and their score: AppTest cannot send back a model that is not on its list, so
    each look is at a new page."""
    return cast(AppTest, until(lambda: None if waits(page := once(text, model, pairs, tried)) else page))


def waits(page: AppTest) -> bool:
    return any("Scoring the template" in each.value for each in page.info)


def once(text: str, model: str, pairs: str, tried: Sequence[dict[str, Any]] = ()) -> AppTest:
    state = {"template pairs": pairs, "templates tried": list(tried)}
    return shown(state, t=text, **({"tm": model} if model else {}))


def test_the_score_is_that_of_the_model_under_the_template_and_tries_are_kept(bert: str) -> None:
    before = {"template": "[X]", "model": bert, "pairs": 3, "spearman": -100.0, "pearson": -100.0, "tokens": 2}
    page = scored(TEXT, bert, tried=[before])
    pairs = [line.split("\t") for line in PAIRS.splitlines()]
    gold = [float(pair[2]) for pair in pairs]
    right = sts([(pair[0], pair[1]) for pair in pairs], Encoder.load(bert, template=TEXT), gold=gold)
    assert page.metric[0].value == f"{right.spearman:.2f}"
    assert page.metric[1].value == f"{right.pearson:.2f}"
    assert [row["cosine"] for row in rows(page, "cosine")] == pytest.approx(right.cosines)
    tried = rows(page, "template")
    assert [row["template"] for row in tried] == [TEXT, "[X]"]
    assert tried[0]["spearman"] == pytest.approx(right.spearman)
    assert tried[0]["tokens"] == 10


def test_without_a_torch_model_there_is_one_sentence_and_no_score() -> None:
    without, saved = scored(TEXT, ""), scored("query: [X]", "default")
    assert "Choose a Torch model" in without.info[0].value
    assert "Choose a Torch model" in saved.info[0].value
    assert not without.metric
    assert not saved.metric


@pytest.mark.parametrize(
    ("pairs", "told"),
    [("c,d", "have no score"), ("c,d,5", "two pairs or more"), ("c,d,5\nc,d,e,f,g", "Line 2"), ("c,d,x", "Line 1")],
)
def test_pairs_that_cannot_be_scored_are_a_sentence(pairs: str, told: str) -> None:
    page = scored(TEXT, "", pairs)
    assert told in said(page)
    assert len(page.error) == 1


def test_a_template_with_an_error_is_not_scored(bert: str) -> None:
    assert "cannot be scored" in said(scored("This means [MASK] .", bert))


def test_a_template_that_was_typed_over_is_passed_over_and_scored_when_it_is_wanted_again(bert: str) -> None:
    from semsearch_ui.shared.work import background
    from semsearch_ui.templates.score import WANTED

    go = threading.Event()
    background._worker("templates")("in the way", lambda: go.wait(60))
    pages = [once(TEXT, bert, PAIRS), once(TEXT + " .", bert, PAIRS)]
    assert all(waits(page) for page in pages)
    pages[0].session_state[WANTED]["text"] = TEXT + " ."
    go.set()
    assert scored(TEXT + " .", bert).metric
    page = scored(TEXT, bert)
    assert page.metric
    assert "passed over" not in said(page)


def test_a_search_finds_the_best_of_a_grid_keeps_it_and_puts_it_into_the_box(bert: str) -> None:
    from semsearch_ui.templates import grid_search

    assert "10 templates on 3 pairs" in said(scored(TEXT, bert))
    both = (("a red car", "a red car"), ("a red car", "a red cart"), ("a diesel engine", "a bowl of soup"))
    pieces, gold = (("[X]", 'This "[X]"'), ("means", "is"), (".",)), (5.0, 3.0, 0.5)
    grid_search._start(bert, pieces, True, grid_search.Sample("3 pairs", both, gold))
    assert ended(KEY) == "done"
    right = search_templates(bert, both, gold, lists=pieces, full=True)
    page = shown(t="[X]")
    listed = rows(page, "stage")
    assert [row["template"] for row in listed] == [one.text for one in right]
    assert [row["spearman"] for row in listed] == pytest.approx([one.spearman for one in right])
    click(page, "Use the best one")
    assert page.text_input(key="t").value == right[0].text
    [run] = list_runs().values()
    assert (run["measure"], run["settings"]["on"]) == ("template search", "3 pairs")
    assert run["measure"] == grid_search.MEASURE


def test_a_search_without_scores_ranks_by_alignment_and_uniformity(bert: str) -> None:
    from semsearch_ui.templates import grid_search

    texts = ("a red car", "a diesel engine runs", "a bowl of soup", "two men play", "two men play")
    for pasted, told in (("a red car", "4 different texts"), ("\n".join(texts), "10 templates on 4 texts: 80 texts")):
        assert told in said(shown({"grid pairs": "texts without scores", "grid texts": pasted}, tm=bert))
    pieces = (("[X]", 'This "[X]"'), ("means", "is"), (".",))
    grid_search._start(bert, pieces, True, grid_search.Sample("4 texts", texts=texts[:4]), 2)
    assert ended(KEY) == "done"
    right = search_templates(bert, texts=texts[:4], seeds=range(2), lists=pieces, full=True)
    listed = rows(shown(), "stage")
    assert [row["template"] for row in listed] == [one.text for one in right]
    assert [row["uniformity"] for row in listed] == pytest.approx([one.judgement.uniformity for one in right])
    [run] = list_runs().values()
    assert run["settings"]["seeds"] == 2 and "deviation" in run["rows"][0]


def test_templates_are_chosen_on_the_dev_set_and_never_on_a_test_set(
    bert: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny_sts(tmp_path / "data")
    (data / "STS" / "STSBenchmark" / "sts-test.csv").write_text("not to be read", "utf-8")
    monkeypatch.setenv("SEMSEARCH_DATA", str(data))
    assert "templates on 4 pairs" in said(shown({"grid pairs": "STS-B dev", "grid most": 4}, tm=bert))
    assert len(sts_pairs("stsb", data, "dev")["dev"].pairs) == 6
    monkeypatch.delenv("SEMSEARCH_DATA")
    assert "SEMSEARCH_DATA" in said(shown({"grid pairs": "STS-B dev"}, tm=bert))


def test_a_grid_that_cannot_be_is_a_sentence(bert: str) -> None:
    page = shown({"template pairs": PAIRS, "prefixes bert": "no slot"}, tm=bert)
    assert "must contain [X] exactly once" in said(page)
    assert not [each for each in page.button if each.label == "Search"]


def test_nothing_of_a_template_a_model_or_a_pair_is_markup(bert: str) -> None:
    pages = [
        shown(t=f"{HOSTILE} [X] [MASK]"),
        shown(t=TEXT, tm=HOSTILE),
        scored(TEXT, bert, f"{HOSTILE}\tb\t1\nc\td\t2"),
    ]
    for page in pages:
        for each in (*page.markdown, *page.caption, *page.error, *page.info):
            bare = each.value.replace("\\<", "").replace("\\[", "").replace("\\]", "")
            assert "<script" not in bare
            assert "](javascript" not in bare
        assert not page.get("html")
    assert json.dumps(HOSTILE) in json.dumps(rows(pages[2], "cosine")[0])
