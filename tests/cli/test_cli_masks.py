"""`sts A B --masks` and `sts --pairs FILE --figure FILE`: what the page Compare shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

SCORED = "a red car\ta red bus\t0.8\na red car\tsoup\t0.1\na blue sea\ta blue ocean\t1\n"
TEXTS = ("A man plays a guitar.", "A man is eating.")


def test_the_masks_of_cot_bert_are_compared_and_their_words_read(cli: CommandLine, golden: Path) -> None:
    pytest.importorskip("torch")
    from semsearch import Encoder
    from semsearch.evaluation import fill_mask, mask_vectors

    model = f"{golden / 'models' / 'tiny-bert'}#cot-bert"
    [pair] = cli.ok("sts", *TEXTS, "--masks", "-m", model, "--json").json["pairs"]
    found = pair["models"][model]["masks"]
    encoder = Encoder.load(model)
    vectors = mask_vectors(encoder, TEXTS)
    vectors /= (vectors**2).sum(-1, keepdims=True) ** 0.5
    a, b = vectors
    assert [place["cosine"] for place in found["places"]] == pytest.approx([a[0] @ b[0], a[1] @ b[1]], abs=1e-5)
    [step] = found["steps"]
    assert [step["a"], step["b"]] == pytest.approx([a[0] @ a[1], b[0] @ b[1]], abs=1e-5)
    assert (found["read"], found["head"]) == (2, "")
    assert found["places"][1]["cosine"] == pytest.approx(pair["models"][model]["cosine"], abs=1e-5)
    likeliest = fill_mask(encoder, TEXTS, 1)
    for at, place in enumerate(found["places"]):
        assert [place["words"][side][0]["token"] for side in "ab"] == [text[at][0].token for text in likeliest]
    shown = cli.ok("sts", *TEXTS, "--masks", "-m", model).out
    assert "A with B, at [MASK] 2, the vector" in shown and likeliest[0][0][0].token in shown


def test_a_model_without_a_head_has_cosines_and_no_words(cli: CommandLine, golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from transformers import BertModel

    bare, tiny = tmp_path / "bare", golden / "models" / "tiny-bert"
    BertModel.from_pretrained(tiny, add_pooling_layer=False).save_pretrained(bare)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (bare / name).write_bytes((tiny / name).read_bytes())
    ran = cli.ok("sts", *TEXTS, "--masks", "-m", f"{bare}#promptbert", "--json")
    found = ran.json["pairs"][0]["models"][f"{bare}#promptbert"]["masks"]
    assert (len(found["places"]), found["steps"], found["places"][0]["words"], found["head"]) == (1, [], None, None)
    assert "no words are predicted" in ran.err and "no masked-language-model head" in ran.err


def test_masks_need_two_texts_and_a_template_that_has_one(cli: CommandLine, tmp_path: Path) -> None:
    failed = cli("sts", "--task", "stsb", "--masks")
    assert failed.code == 2 and "--masks needs two texts A B" in failed.err
    assert cli("sts", *TEXTS, "--masks", "-m", "hashing").code == 2


def test_scored_pairs_are_drawn_on_any_scale(cli: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "pairs.tsv").write_text(SCORED)
    figure = tmp_path / "figure.png"
    ran = cli.ok("sts", "--pairs", tmp_path / "pairs.tsv", "--figure", figure, "-m", "hashing", "--json")
    assert figure.read_bytes()[:4] == b"\x89PNG" and f"wrote {figure}" in ran.err
    assert ran.json["models"]["hashing"]["spearman"] is not None


def test_a_figure_needs_scores_and_a_report_needs_a_test_set(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a red car\ta red bus\n")
    for told, said in (
        (("--pairs", tmp_path / "pairs.tsv", "--figure", "f.png"), "these pairs have none"),
        (("a", "b", "--figure", "f.png"), "--figure needs pairs with human scores"),
        (("--pairs", tmp_path / "pairs.tsv", "--report", "r.json"), "--report needs a public test set"),
    ):
        failed = cli("sts", *told, "-m", "hashing")
        assert failed.code == 2 and said in failed.err
    assert not (tmp_path / "f.png").exists()


def test_gold_scores_of_sts_are_grouped_by_whole_scores_and_others_evenly() -> None:
    from semsearch.evaluation import group_gold_scores, scale_cosines

    assert group_gold_scores([0.4, 0.6, 3.5, 5]) == [0, 1, 4, 5]
    assert group_gold_scores([0, 0.5, 1]) == [0, 0.6, 1] and group_gold_scores([2, 2]) == [2, 2]
    assert scale_cosines([0.3, 0.3]) == [0, 0]
