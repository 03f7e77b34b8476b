"""The encoders trained here: what they are, where they come from, and that they are as good as they say."""

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
TOLD = {  # by NOTICE
    "default": ("bge-small-en-v1.5", "all-mpnet-base-v2", "SciFact", "scripts/encoders/gpu_session.py"),
}
FIFTH = {"default": 89.27}  # Spearman of every fifth pair of STS-B dev when it was made
shipped = pytest.mark.parametrize("name", TOLD)


@shipped
def test_it_reads_the_second_mask_of_cot_berts_template_without_torch(name: str) -> None:
    bundle = bundles.read(model_folders.find(name))
    assert (bundle.method, bundle.dim, bundle.precision) == ("cot_bert", 384, "int8")
    assert {prompt.masks for prompt in bundle.prompts.values()} == {2}
    code = (
        f"import sys; from semsearch import Encoder; Encoder.load({name!r}).encode('a');"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@shipped
def test_it_says_what_it_was_trained_on_and_names_no_place_of_a_machine(name: str) -> None:
    manifest = (model_folders.ASSETS / name / "encoder.json").read_text(encoding="utf-8")
    trained = json.loads(manifest)["origin"]["trained"]
    assert (trained["method"], trained["seed"]) == ("distil", 1) and trained["examples"]["count"] > 1_000
    assert not re.search(r'"/|[A-Z]:\\', manifest)
    notice = (CHECKOUT / "NOTICE").read_text(encoding="utf-8")
    assert all(each in notice for each in (name, *TOLD[name]))


@shipped
def test_near_meanings_are_nearer_than_near_words(name: str) -> None:
    encoder = Encoder.load(name)
    asked, meant, spelled = encoder.encode(["A man plays the guitar.", "Somebody makes music.", "A man plays chess."])
    assert asked @ meant > asked @ spelled


@shipped
@pytest.mark.slow
def test_it_scores_on_a_fifth_of_sts_b_dev_what_it_scored_when_it_was_made(data: Path, name: str) -> None:
    (dev,) = sts_pairs("stsb", data, "dev").values()
    found = spearman(cosines(dev.pairs[::5], Encoder.load(name)), dev.gold[::5])
    assert 100 * found == pytest.approx(FIFTH[name], abs=0.2)  # with the score of its manifest on all of it


@shipped
@pytest.mark.long
def test_it_scores_on_sts_b_dev_what_its_manifest_says(data: Path, name: str) -> None:
    found = sts_task("stsb", Encoder.load(name), data, "dev").spearman.all
    assert found == pytest.approx(bundles.read(model_folders.find(name)).parity["stsb_dev"], abs=0.1)
