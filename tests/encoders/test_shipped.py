"""cot-minilm, the encoder trained here: what it is, where it comes from, and that it is as good as it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from semsearch import Encoder
from semsearch.evaluation import spearman, sts_pairs, sts_task
from semsearch.evaluation.sts import cosines
from semsearch.models import bundle as bundles
from semsearch.models import model_folders

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "cot-minilm"


def test_it_reads_the_second_mask_of_cot_berts_template_without_torch() -> None:
    bundle = bundles.read(model_folders.find(NAME))
    assert (bundle.method, bundle.dim, bundle.precision) == ("cot_bert", 384, "int8")
    assert {prompt.masks for prompt in bundle.prompts.values()} == {2}
    code = (
        f"import sys; from semsearch import Encoder; Encoder.load({NAME!r}).encode('a');"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_says_what_it_was_trained_on_and_names_no_place_of_a_machine() -> None:
    manifest = (model_folders.ASSETS / NAME / "encoder.json").read_text(encoding="utf-8")
    trained = json.loads(manifest)["origin"]["trained"]
    assert (trained["method"], trained["seed"], trained["examples"]["count"]) == ("distil", 0, 50_000)
    assert not re.search(r'"/|[A-Z]:\\', manifest)
    notice = (CHECKOUT / "NOTICE").read_text(encoding="utf-8")
    told = (NAME, "SNLI", "MedQuAD", "Wikipedia", "arXiv", "potion-base-4M", "scripts/train_default.py")
    assert all(each in notice for each in told)


def test_near_meanings_are_nearer_than_near_words() -> None:
    encoder = Encoder.load(NAME)
    asked, meant, spelled = encoder.encode(["A man plays the guitar.", "Somebody makes music.", "A man plays chess."])
    assert asked @ meant > asked @ spelled


@pytest.mark.slow
def test_it_scores_on_a_fifth_of_sts_b_dev_what_it_scored_when_it_was_made(data: Path) -> None:
    (dev,) = sts_pairs("stsb", data, "dev").values()
    found = spearman(cosines(dev.pairs[::5], Encoder.load(NAME)), dev.gold[::5])
    assert 100 * found == pytest.approx(88.43, abs=0.2)  # with the score of its manifest on all of it


@pytest.mark.long
def test_it_scores_on_sts_b_dev_what_its_manifest_says(data: Path) -> None:
    found = sts_task("stsb", Encoder.load(NAME), data, "dev").spearman.all
    assert found == pytest.approx(bundles.read(model_folders.find(NAME)).parity["stsb_dev"], abs=0.1)
