"""Fill-mask: the authors' vectors at the [MASK]s, and the words that transformers' own model predicts there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.arithmetic import ROUNDING

from semsearch import Encoder, SemsearchError
from semsearch.evaluation import fill_mask, mask_vectors

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
SENTENCE = "A man is playing a guitar."


@pytest.fixture(scope="module")
def sentences(golden: Path) -> list[str]:
    return [" ".join(each.split()) for each in json.loads((golden / "sentences.json").read_text(encoding="utf-8"))]


def test_the_second_mask_of_cot_bert_is_its_vector(golden: Path, sentences: list[str]) -> None:
    arrays = np.load(golden / "embeddings.npz")
    for base, template in (("bert", "cot-bert"), ("roberta", "cot-roberta")):
        encoder = Encoder.load(f"{golden / 'models' / f'tiny-{base}'}#{template}", device="cpu")
        found = mask_vectors(encoder, sentences)
        assert found.shape == (len(sentences), 2, 32)
        np.testing.assert_allclose(found[:, 1], arrays[f"cotbert.{base}.eval.emb"], atol=1e-4)
        assert np.abs(found[:, 0] - found[:, 1]).max() > 0.1


def test_masks_are_in_the_order_of_the_prompt(golden: Path, sentences: list[str]) -> None:
    encoder = Encoder.load(f"{golden / 'models' / 'tiny-bert'}#masks-3", device="cpu")
    wanted = np.load(golden / "embeddings.npz")["multimask.bert.m3.period.cat.emb"]
    np.testing.assert_allclose(mask_vectors(encoder, sentences).reshape(len(sentences), -1), wanted, atol=1e-4)


def test_a_learned_prompt_is_applied_to_mask_vectors_too(golden: Path, tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(golden / "models" / "tiny-bert", tmp_path / "tiny"))
    models.learn_prompt(folder, 7)
    encoder = Encoder.load(f"{folder}#optiprompt", device="cpu")
    (vector,) = mask_vectors(encoder, [SENTENCE])[:, 0]
    np.testing.assert_allclose(vector / np.linalg.norm(vector), encoder.encode(SENTENCE), atol=ROUNDING)


@pytest.mark.parametrize(
    ("base", "template", "told"),
    [
        ("bert", "cot-bert", 'The sentence of "{}" means [MASK] , so it can be summarized as [MASK] .'),
        ("roberta", "cot-roberta", "The sentence of ' {} ' means <mask> , so it can be summarized as <mask> ."),
        ("roberta", "promptroberta", "This sentence : ' {} ' means<mask>."),
    ],
)
def test_words_equal_those_that_transformers_predicts(golden: Path, base: str, template: str, told: str) -> None:
    folder = golden / "models" / f"tiny-{base}"
    texts = [SENTENCE, "A woman is eating something."]
    found = fill_mask(Encoder.load(f"{folder}#{template}", device="cpu"), texts, k=5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    for text, masks in zip(texts, found, strict=True):
        given = tokenizer(told.format(text), return_tensors="pt")
        with torch.no_grad():
            logits = model(**given).logits[0]
        wanted = logits[given["input_ids"][0] == tokenizer.mask_token_id].softmax(-1).topk(5)
        assert len(masks) == len(wanted.indices) == told.count(tokenizer.mask_token)
        for words, likely, ids in zip(masks, wanted.values.tolist(), wanted.indices.tolist(), strict=True):
            assert [word.probability for word in words] == pytest.approx(likely, abs=ROUNDING)
            assert [word.token for word in words] == [tokenizer.decode([each]).strip() or "␣" for each in ids]


def test_words_are_predicted_from_the_last_layer_whichever_the_method_reads(golden: Path) -> None:
    folder = golden / "models" / "tiny-bert"
    last, second = (
        Encoder.load(f"{folder}#{read}", device="cpu") for read in ("cot-bert", "layer=2,template=cot-bert")
    )
    assert fill_mask(second, [SENTENCE]) == fill_mask(last, [SENTENCE])
    assert np.abs(mask_vectors(second, [SENTENCE]) - mask_vectors(last, [SENTENCE])).max() > 0.01


@pytest.mark.parametrize("template", ["promptbert-denoised", "cot-bert-denoised"])
def test_words_of_a_denoised_vector_are_predicted_after_denoising(golden: Path, template: str) -> None:
    """PromptBERT, table 7, right column: the head is given the difference, which is the encoder's own vector."""
    folder = golden / "models" / "tiny-bert"
    encoder, texts = loaded(f"{folder}#{template}"), [SENTENCE, "A woman is eating something."]
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    vectors = torch.from_numpy(encoder.backend.vectors(texts, encoder.backend.prompts["passage"]))
    np.testing.assert_allclose(mask_vectors(encoder, texts)[:, -1], vectors, atol=1e-4)
    with torch.no_grad():
        wanted = model.cls(vectors).softmax(-1).topk(5)
    found = [[word.probability for word in masks[-1]] for masks in fill_mask(encoder, texts, k=5)]
    np.testing.assert_allclose(found, wanted.values, atol=ROUNDING)


def headless(golden: Path, folder: Path) -> Path:
    """tiny-bert as sentence encoders are saved: without its heads."""
    for kind in (transformers.AutoModel, transformers.AutoTokenizer):
        kind.from_pretrained(golden / "models" / "tiny-bert").save_pretrained(folder)
    return folder


def test_encoders_without_masks_or_head_are_refused_with_a_remedy(golden: Path, tmp_path: Path) -> None:
    tiny, bare = golden / "models" / "tiny-bert", headless(golden, tmp_path / "bare")
    for name, look, said in (
        ("default", mask_vectors, "needs a model that runs in PyTorch.*MODEL#cot-bert"),
        ("hashing", fill_mask, "needs a model that runs in PyTorch.*MODEL#cot-bert"),
        (f"{tiny}#mean", mask_vectors, r"reads no \[MASK\].*MODEL#cot-bert"),
        (f"{golden / 'models' / 'tiny-opt'}#prompteol", fill_mask, r"reads no \[MASK\]"),
        (f"{bare}#cot-bert", fill_mask, "no masked-language-model head.*as it was pretrained"),
        (f"{tiny}#cot-bert", lambda encoder, texts: fill_mask(encoder, texts, 0), "k must be at least 1"),
    ):
        with pytest.raises(SemsearchError, match=said):
            look(loaded(name), [SENTENCE])
    assert mask_vectors(loaded(f"{bare}#cot-bert"), [SENTENCE]).shape == (1, 2, 32)


def test_the_head_of_the_base_model_replaces_a_missing_one(golden: Path, tmp_path: Path) -> None:
    tiny, bare = golden / "models" / "tiny-bert", headless(golden, tmp_path / "bare")
    wanted = fill_mask(loaded(f"{tiny}#cot-bert"), [SENTENCE], 3)
    assert fill_mask(loaded(f"{bare}#cot-bert"), [SENTENCE], 3, head=str(tiny)) == wanted
    for head, said in (
        (golden / "models" / "tiny-roberta", "the head is for 601 tokens"),
        (bare, "no masked-language"),
    ):
        with pytest.raises(SemsearchError, match=said):
            fill_mask(loaded(f"{bare}#cot-bert"), [SENTENCE], head=str(head))


def loaded(name: str) -> Any:
    return Encoder.load(name, device="cpu")


def test_no_texts_have_no_vectors_and_no_words(golden: Path) -> None:
    encoder = loaded(f"{golden / 'models' / 'tiny-bert'}#cot-bert")
    assert mask_vectors(encoder, []).shape == (0, 2, 32)
    assert fill_mask(encoder, []) == []
