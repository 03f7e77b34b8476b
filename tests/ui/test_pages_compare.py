"""The compare page: what a person sees of sentences and pairs, and that nothing of them is ever markup."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import HOSTILE, again, click, ended, opened, until
from streamlit.testing.v1 import AppTest

from semsearch import SemsearchError, sts

PAIRS = """sentence1,sentence2,score
a red car,a red car,5
a red car,a red cart,3
a diesel engine,a bowl of soup,0.5
"=1+1, he said",nothing alike,4.5
"""
pytestmark = pytest.mark.usefixtures("home")


def shown(*encoders: str, **url: Any) -> AppTest:
    """The page, opened at a URL."""
    return opened("compare", m=list(encoders or ("hashing",)), **url)


def pasted(text: str, *encoders: str, **url: Any) -> AppTest:
    page = shown(*encoders, kind="pairs", **url)
    page.text_area(key="pairs").set_value(text).run()
    assert not page.exception
    return page


def charts(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(each.proto.spec) for each in page.get("vega_lite_chart")]


def drawn(page: AppTest, at: int) -> list[dict[str, Any]]:
    """The rows of the first data set of a chart."""
    import pyarrow

    proto = page.get("vega_lite_chart")[at].proto
    content = proto.datasets[0].data.data if proto.datasets else proto.data.data
    return list(pyarrow.ipc.open_stream(content).read_all().to_pylist())


def titles(page: AppTest) -> list[str]:
    return [each["title"]["text"] for each in charts(page) if "title" in each]


def words(page: AppTest) -> str:
    """All that goes through Markdown."""
    kinds = (page.markdown, page.caption, page.error, page.info, page.warning, page.header)
    return "\n".join(each.value for kind in kinds for each in kind)


def test_two_sentences_give_cosine_and_strength_by_encoder_and_a_map() -> None:
    page = shown(s="a red car\na red cart")
    rows = page.dataframe[0].value
    found = sts([("a red car", "a red cart")], encoder="hashing")
    assert rows["cosine"].tolist() == pytest.approx(found.cosines)
    assert rows["encoder"].tolist() == ["hashing"]
    assert titles(page) == ["hashing"]


def test_the_encoders_that_ship_stand_side_by_side_with_their_difference() -> None:
    page = shown("minilm", "default", s="A car.\nAn automobile.\nCold soup.", x="1", y="3")
    assert titles(page) == ["minilm", "default", "default − minilm"]
    rows = page.dataframe[0].value
    found = sts([("A car.", "Cold soup.")], encoder="default")
    assert rows["cosine"].tolist()[1] == pytest.approx(found.cosines[0], abs=1e-3)
    assert rows["strength"].tolist()[1] == pytest.approx(found.strengths[0], abs=1e-2)


def test_a_cosine_has_one_colour_whatever_the_texts_and_the_encoder() -> None:
    pages = [shown("hashing", "minilm", "default", s="a red car\na red cart\nsoup"), shown("hashing", s="x\ny")]
    maps = [
        spec for page in pages for spec in charts(page) if "layer" in spec and "rect" in str(spec["layer"][0]["mark"])
    ]
    colours = [spec["layer"][0]["encoding"]["color"] for spec in maps]
    assert len(colours) == 6 and all(each["legend"] for each in colours)
    signed = [each for each in colours if each["scale"].get("scheme") == "blueorange"]
    assert len(signed) == 2 and {tuple(each["scale"]["domain"]) for each in signed} == {(-0.5, 0.5)}
    whole = [each["scale"] for each in colours if each not in signed]
    assert all(each == whole[0] for each in whole)
    assert (whole[0]["domain"][0], whole[0]["domain"][1], whole[0]["domain"][-1]) == (-0.2, 0, 1)
    assert len(whole[0]["domain"]) == len(whole[0]["range"])


def test_the_figures_of_a_map_are_in_the_file_with_the_sentences() -> None:
    page = shown(s="a red car\na red cart\nsoup")
    [files] = [json.loads(each.proto.bytes) for each in page.get("bidi_component")]
    head, *rows = csv.reader(io.StringIO(files["csv"]))
    assert head == ["sentence", "1 a red car", "2 a red cart", "3 soup"]
    assert [row[0] for row in rows] == head[1:]
    assert float(rows[0][2]) == pytest.approx(
        sts([("a red car", "a red cart")], encoder="hashing").cosines[0], abs=1e-6
    )
    assert files["name"] == "cosines-of-hashing"


def test_words_are_coloured_by_what_the_cosine_loses_without_them() -> None:
    from semsearch import Encoder
    from semsearch.evaluation import word_contributions

    page = shown("hashing", s=f"diesel zeppelins {HOSTILE}\ndiesel", look="Words")
    assert not page.error
    written = page.get("html")[-1].proto.body
    assert "diesel</span>" in written and "&lt;" in written
    assert "<script" not in written and "<img" not in written
    rows = page.dataframe[-1].value
    one, other = word_contributions(Encoder.load("hashing"), f"diesel zeppelins {HOSTILE}", "diesel")
    assert rows["change"].tolist() == pytest.approx([each.change for each in (*one, *other)])
    assert re.search(r'<span class="t[34]" title="\+0\.\d+">diesel', written)
    apart = shown("hashing", s="diesel zeppelins\ndiesel", look="Words").get("html")[-1].proto.body
    assert re.search(r'<span class="a[1-4]" title="-0\.\d+">zeppelins', apart)


def test_the_cells_of_a_map_are_the_cosines() -> None:
    page = shown(s="a red car\na red cart\nsoup")
    cells = {(cell["row"][0], cell["column"]): cell["cosine"] for cell in drawn(page, 0)}
    assert cells["1", "1"] == 1
    assert cells["1", "2"] == cells["2", "1"]
    assert cells["1", "2"] == pytest.approx(sts([("a red car", "a red cart")], encoder="hashing").cosines[0], abs=1e-4)


@pytest.mark.parametrize(
    "url",
    [{"kind": "nonsense"}, {"x": "99"}, {"y": "-1"}, {"x": "many"}, {"s": "one line"}, {"look": "x"}, {"s": ""}],
)
def test_a_url_with_values_that_cannot_be_is_no_error(url: dict[str, str]) -> None:
    assert not shown(**url).error


def test_numbers_stand_in_the_cells_where_they_can_be_read_and_a_legend_below_every_map() -> None:
    from semsearch_ui.shared.charts import FIGURES, heat

    for many, read in ((FIGURES, True), (FIGURES + 1, False)):
        spec = heat([[1.0] * many] * many, ["a"] * many, "t").to_dict()
        assert ("layer" in spec) is read
        assert (spec["layer"][0] if read else spec)["encoding"]["color"]["legend"]["orient"] == "bottom"


def test_more_sentences_than_a_map_can_hold_are_cut_and_that_is_said() -> None:
    page = shown(s="\n".join(f"sentence {number}" for number in range(40)))
    assert "first 30 of 40" in page.warning[0].value


def test_an_encoder_that_cannot_be_loaded_is_an_error_of_its_own(home: Path) -> None:
    broken = home / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{", encoding="utf-8")
    page = shown("hashing", "defualt", str(broken), s="a red car\na red cart")
    assert len(page.error) == 2
    assert "Did you mean" in page.error[0].value
    assert "semsearch models list" not in words(page).replace("\\", "")
    assert "Traceback" not in words(page)
    assert titles(page) == ["hashing"]


def test_a_link_alone_fetches_nothing() -> None:
    page = shown("hashing", "hf:owner/name", "bge-small-en-v1.5#mean", s="a\nb")
    assert [each.label for each in page.button if not each.label.startswith("Add")] == ["Download and use it"] * 2
    assert not page.error
    assert titles(page) == ["hashing"]


def test_pairs_with_scores_give_correlations_charts_and_the_worst_first() -> None:
    page = pasted(PAIRS)
    given = [tuple(row[:2]) for row in list(csv.reader(io.StringIO(PAIRS)))[1:]]
    found = sts(given, encoder="hashing", gold=[5, 3, 0.5, 4.5])
    measures, listed = page.dataframe[0].value, page.dataframe[1].value
    assert measures["spearman"].tolist() == pytest.approx([found.spearman])
    assert measures["pearson"].tolist() == pytest.approx([found.pearson])
    assert listed["pair"].tolist()[0] == 4
    assert titles(page) == ["hashing"]
    assert page.number_input(key="pair").value == 4


def test_a_pair_is_chosen_by_the_url() -> None:
    page = pasted(PAIRS, pair="2")
    assert page.number_input(key="pair").value == 2
    assert page.dataframe[2].value["cosine"].tolist()[0] < 1
    page.text_area(key="pairs").set_value("x,y").run()
    assert not page.exception
    assert page.number_input(key="pair").value == 1


def test_pairs_without_scores_have_neither_correlations_nor_charts() -> None:
    page = pasted("a red car\ta red cart\nsoup\tknots\n")
    assert charts(page) == []
    assert page.dataframe[0].value["pair"].tolist() == [1, 2]


def test_scores_that_are_all_the_same_have_no_correlation_and_that_is_said() -> None:
    page = pasted("x,y,1\nc,d,1\n")
    assert "not all the same" in words(page)


def test_pairs_without_a_score_are_left_out_of_the_correlations_and_counted() -> None:
    assert "3 pairs with a score; 1 without one" in words(pasted("x,y,1\nc,d,2\ne,f,\ng,h,3\n"))


def test_many_pairs_are_measured_as_one_at_a_time() -> None:
    lines = MANY.splitlines()[:150]
    page = pasted("\n".join(lines))
    listed = page.dataframe[1].value.sort_values("pair")
    found = sts([tuple(line.split(",")[:2]) for line in lines], encoder="hashing")
    assert listed["cosine hashing"].tolist() == pytest.approx(found.cosines)


MANY = "".join(f"the number {at},the number {at * 7 % 50},{at % 6}\n" for at in range(300))


def given(page: AppTest) -> str:
    """What the pairs of a page go by in its URL."""
    (name,) = [page.query_params["set"]] if isinstance(page.query_params["set"], str) else page.query_params["set"]
    return str(name)


def test_many_pairs_are_measured_by_a_job_that_a_reload_finds() -> None:
    page = pasted(MANY)
    assert not page.dataframe
    click(page, "Measure 300 pairs with hashing")
    name = given(page)
    assert ended(("Compare", name)) == "done"
    reloaded = shown(kind="pairs", set=name)
    assert reloaded.text_area(key="pairs").value == MANY
    lines = [line.split(",") for line in MANY.splitlines()]
    found = sts([(line[0], line[1]) for line in lines], encoder="hashing", gold=[float(line[2]) for line in lines])
    for each in (again(page), reloaded):
        assert each.dataframe[0].value["spearman"].tolist() == pytest.approx([found.spearman])
        listed = each.dataframe[1].value.sort_values("pair")
        assert listed["cosine hashing"].tolist() == pytest.approx(found.cosines)


def test_an_encoder_is_shown_before_the_others_are_done_and_a_stop_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from semsearch_ui.compare import pair_scores

    go, seen = threading.Event(), []
    usual = pair_scores._sts

    def slow(pairs: Any, encoder: Any) -> Any:
        if len(pairs) == 1:  # the pair that is looked at
            return usual(pairs, encoder)
        name = "hashing" if encoder.name == "hashing" else "minilm"
        seen.append(name)
        assert name == "hashing" or seen.count(name) < 2 or go.wait(60)
        return usual(pairs, encoder)

    monkeypatch.setattr(pair_scores, "_sts", slow)
    page = pasted(MANY, "hashing", "minilm")
    click(page, "Measure 300 pairs with hashing, minilm")
    until(lambda: seen.count("minilm") > 1)
    assert again(page).dataframe[0].value["encoder"].tolist() == ["hashing"]
    assert "1 of 2 encoders are done" in words(page)
    page.button(key=next(each.key for each in page.button if each.label == "Stop")).click()
    again(page)
    go.set()
    assert ended(("Compare", given(page))) == "stopped"
    many = seen.count("minilm")
    click(again(page), "Measure 300 pairs with minilm")
    assert ended(("Compare", given(page))) == "done"
    assert again(page).dataframe[0].value["encoder"].tolist() == ["hashing", "minilm"]
    assert seen.count("minilm") == 5 and many < 5  # five windows of 64: none was measured twice


def test_an_encoder_that_fails_on_many_pairs_keeps_no_other_from_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch_ui.compare import pair_scores

    usual = pair_scores._sts

    def failing(pairs: Any, encoder: Any) -> Any:
        if encoder.name == "hashing":
            raise SemsearchError("*no* luck.", "Try again.")
        return usual(pairs, encoder)

    monkeypatch.setattr(pair_scores, "_sts", failing)
    page = pasted(MANY, "hashing", "minilm")
    click(page, "Measure 300 pairs")
    assert ended(("Compare", given(page))) == "done"
    assert again(page).dataframe[0].value["encoder"].tolist() == ["minilm"]
    assert r"\*no\* luck" in page.error[0].value


def test_an_encoder_whose_folder_changes_is_loaded_anew(golden: Path, home: Path) -> None:
    pytest.importorskip("torch")
    from safetensors.numpy import load_file, save_file

    from semsearch_ui.shared import pool

    folder = Path(shutil.copytree(golden / "models" / "tiny-bert", home / "tiny"))
    for file in (folder, *folder.glob("*")):
        file.chmod(0o755)
    name = f"{folder}#mean"
    first = pool.encoder(name)
    assert pool.encoder(name) is first
    changed = {key: value * 2 for key, value in load_file(folder / "model.safetensors").items()}
    save_file(changed, folder / "model.safetensors", {"format": "pt"})
    second = pool.encoder(name)
    assert second is not first and second.fingerprint != first.fingerprint
    assert pool.encoder(name) is second


def test_the_masks_of_cot_bert_are_compared_and_the_words_there_are_read(golden: Path) -> None:
    pytest.importorskip("torch")
    from semsearch import Encoder
    from semsearch.evaluation import fill_mask, mask_vectors

    name, texts = f"{golden / 'models' / 'tiny-bert'}#cot-bert", ["A man plays a guitar.", "A man is eating."]
    page = shown(name, "hashing", s="\n".join(texts), look="[MASK]")
    encoder = Encoder.load(name)
    compared, read = page.dataframe[0].value, page.dataframe[1].value
    vectors = mask_vectors(encoder, texts)
    vectors /= (vectors**2).sum(-1, keepdims=True) ** 0.5
    a, b = vectors
    wanted = [a[0] @ b[0], a[1] @ b[1], a[0] @ a[1], b[0] @ b[1]]
    assert compared["cosine"].tolist() == pytest.approx([float(each) for each in wanted], abs=1e-5)
    assert ["which is the vector" in told for told in compared["compared"]] == [False, True, False, False]
    likeliest = fill_mask(encoder, texts, 1)
    assert [column[0].split("  ")[0] for column in (read[name] for name in read)] == [
        likeliest[side][at][0].token for at in (0, 1) for side in (0, 1)
    ]
    assert "runs in PyTorch" in page.info[0].value


def test_an_uploaded_file_goes_before_the_box() -> None:
    page = pasted("x,y")
    page.file_uploader[0].set_value(("p.csv", PAIRS.encode("utf-16"), "text/csv")).run()
    assert not page.exception
    assert sorted(page.dataframe[1].value["pair"]) == [1, 2, 3, 4]
    page.file_uploader[0].set_value(("p.csv", b"a,\xff", "text/csv")).run()
    assert "not UTF" in page.error[0].value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\nc\n", "Line 2 has 1 column"),
        ("x,y\n\nc,d,e,f\n", "Line 3 has 4 columns"),
        ("sentence1,score\nx,1\n", "no column sentence2"),
        ("a,b,score\nx,y,1\nx,y,z\n", "Line 3: 'z' is not a score"),
        ("sentence1,sentence2,score\nx,y,high\n", "Line 2: 'high' is not a score"),
        ("left,right,how alike\nx,y,3\n", "Line 1: 'how alike' is not a score.*If it is a heading: sentence1"),
        ("x|y|z\n", "Line 1: 'z' is not a score"),
        ("a,b,nan\n", "Line 1: 'nan' is not a score"),
        ("x,  \n", "Line 1 has no text as sentence2"),
        ('{"sentence1": "a"}\n', "Line 1 has no text as sentence2"),
        ('{"sentence1": "a", "sentence2": "b"}\n{"sen\n', "Line 2 is broken JSON"),
        ('{"sentence1": "a", "sentence2": "b"}\n[1]\n', "Line 2 is no JSON object"),
        ('{"a": "a", "b": "b", "score": true}', "Line 1: 'True' is not a score"),
        ('[{"a": "x", "b": "y"}]', "one JSON list"),
    ],
)
def test_what_is_wrong_with_pairs_is_said_with_the_line(text: str, said: str) -> None:
    from semsearch_ui.shared.pairs import read

    with pytest.raises(SemsearchError, match=said):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "a b,c d,4.5",
        "score;sentence2;sentence1\n4,5;c d;a b",
        "a b|c d|4.5",
        "a b;c d;4,5\r",
        "Sentence 1,Sentence_2,similarity_score\ra b,c d,4.5\r",
        "id\tsentence1\tsentence2\tscore\n7\ta b\tc d\t4.5\n",
        '\ufeffSentence1,Sentence2,Score\r\n"a b","c d",4.5\r\n',
        '{"sentence1": "a b", "sentence2": "c d", "score": 4.5}',
        '\n{"b": "c d", "a": "a b", "score": "4.5"}\n\n',
    ],
)
def test_pairs_are_read_as_people_write_them(text: str) -> None:
    from semsearch.evaluation import SentencePair as Pair
    from semsearch_ui.shared.pairs import read

    assert read(text) == [Pair("a b", "c d", 4.5)]


def test_a_cell_holds_commas_and_every_kind_of_blank() -> None:
    from semsearch.evaluation import SentencePair as Pair
    from semsearch_ui.shared.pairs import read

    assert read("Hello, you;Hi, you;3,5\nx;y;1") == [Pair("Hello, you", "Hi, you", 3.5), Pair("x", "y", 1)]
    assert read("one\u2028two,three\x85four,1") == [Pair("one\u2028two", "three\x85four", 1)]
    assert read('"one\ntwo",b,1\n') == [Pair("one\ntwo", "b", 1)]


def test_a_bad_line_is_a_sentence_on_the_page() -> None:
    page = pasted("x,y\nc\n")
    assert "Line 2 has 1 column" in page.error[0].value
    assert not page.dataframe


def test_an_encoder_without_torch_says_what_tokens_need() -> None:
    page = shown("hashing", "minilm", s="a red car\na red cart", look="Tokens")
    assert len(page.info) == 2
    assert "runs in PyTorch" in page.info[1].value
    assert titles(page) == ["hashing", "minilm", "minilm − hashing"]


def test_the_tokens_of_a_torch_model_are_drawn_for_both_sentences(golden: Path) -> None:
    pytest.importorskip("torch")
    name = f"{golden / 'models' / 'tiny-bert'}#mean"
    page = shown(name, s="A man plays a guitar.\nSoup.", look="Tokens")
    assert not page.error
    assert not page.info
    bars = [spec for spec in charts(page) if "title" not in spec]
    assert len(bars) == 2
    assert sum(row["share"] for row in drawn(page, 0)) == pytest.approx(100)
    assert str(golden) not in words(page)


def test_nothing_of_a_text_is_markup(home: Path) -> None:
    pages = [
        shown("hashing", HOSTILE, s=f"{HOSTILE}\n=cmd|' /C calc'!A0\n{HOSTILE}", look="Tokens"),
        pasted(json.dumps({"a": HOSTILE, "b": f"=1+1 {HOSTILE}", "score": 1}) + '\n{"a": "x", "b": "y", "score": 2}'),
        pasted(f"x,y\n{HOSTILE},c,{HOSTILE},d"),
        pasted(f"x,y,{HOSTILE.replace(',', '')}"),
    ]
    for page in pages:
        for each in (*page.markdown, *page.caption):
            assert not each.allow_html
        assert not page.get("html")
        unescaped = re.sub(r"\\.", "", words(page))
        for sign in ("<script", "<img", "**bold", "[link](", ":red[", "$x$"):
            assert sign not in unescaped
    assert r"\<script\>" in words(pages[0])
    assert "<script>" in pages[1].dataframe[1].value["sentence1"].tolist()[0]


def test_a_text_is_never_the_name_of_a_field_or_a_format() -> None:
    from semsearch_ui.shared.charts import heat

    plain = heat([[1, 0.5], [0.5, 1]], ["a", "b"], "t").to_dict()
    hostile = heat([[1, 0.5], [0.5, 1]], [HOSTILE, "datum['x'] || {}"], "t").to_dict()
    assert without_data(plain) == without_data(hostile)


def without_data(spec: Any) -> Any:
    if isinstance(spec, dict):
        return {key: without_data(value) for key, value in spec.items() if key not in ("data", "datasets")}
    return [without_data(each) for each in spec] if isinstance(spec, list) else spec


def test_a_download_runs_in_no_spreadsheet() -> None:
    from semsearch.evaluation import SentencePair as Pair
    from semsearch_ui.compare.pair_scores import Scored
    from semsearch_ui.compare.pair_table import table
    from semsearch_ui.shared.tables import to_csv as written

    rows = table([Pair("=1+1", "@x\ny", -2.0)], {"=m": Scored((-0.5,), (None,), None, None, (None,))})
    (head, cells) = csv.reader(io.StringIO(written(rows, list(rows[0]))))
    assert cells[:5] == ["1", "'=1+1", "'@x\ny", "-2.0", "-0.5"]
    assert head[4] == "cosine =m"
    assert written([{"=x": 1}], ["=x"]).startswith("'=x")


def test_a_download_holds_every_pair_and_the_correlations() -> None:
    from semsearch.evaluation import SentencePair as Pair
    from semsearch_ui.compare.pair_scores import Scored
    from semsearch_ui.compare.pair_table import table, whole

    found = {"m": Scored((0.5,), (None,), 80.0, 70.0, (None,))}
    rows = table([Pair("a", "b", 2.0)], found)
    assert whole(rows, found) == {
        "schema": 1, "models": {"m": {"spearman": 80.0, "pearson": 70.0}}, "pairs": rows
    }  # fmt: skip


def test_a_click_on_a_cell_chooses_its_sentences_and_what_is_hidden_is_not_computed() -> None:
    from semsearch_ui.compare import matrix

    page = shown("hashing", s="a red car\na red cart\nsoup")
    cell = next(each for each in drawn(page, 0) if each["first"] == "a red cart" and each["second"] == "soup")
    assert (cell["x"], cell["y"]) == (2, 3) and set(matrix.SENTENCES) <= cell.keys()
    chosen = shown("hashing", s="a red car\na red cart\nsoup", x="2", y="3")
    right = sts([("a red cart", "soup")], encoder="hashing").cosines[0]
    assert chosen.dataframe[0].value["cosine"].tolist() == pytest.approx([right])
    assert "is left out" not in words(chosen)
