"""The library's templates around the golden sentences give, to the letter, the texts that the authors' code makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from semsearch.prompts import MASK, Prompt
from semsearch.prompts.biases import removed
from semsearch.prompts.library import find

ENDINGS = {"period": "", "excl": "-excl", "quest": "-quest", "sep": "-sep", "none": "-none"}
LLM = {
    "PromptEOL": "prompteol",
    "PromptSTH": "promptsth",
    "PromptSUM": "promptsum",
    "Pretended_CoT": "pretended-cot",
    "Knowledge_Enhancement": "knowledge-enhancement",
}
NAMES = {
    "promptbert.bert.eval.T1": "promptbert",
    "promptbert.bert.eval.T2": "promptbert-t2",
    "promptbert.bert.eval_denoise.T1": "promptbert-denoised",
    "promptbert.bert.eval_sup.T1": "promptbert-sup",
    "promptbert.roberta.eval.T1": "promptroberta",
    "promptbert.roberta.eval.T2": "promptroberta-t2",
    "promptbert.roberta.eval_denoise.T1": "promptroberta-denoised-released",
    "baseline.bert.avg": "mean",
    "baseline.bert.avg_first_last": "first-last-embeddings",
    "baseline.bert.static": "static",
    "optiprompt.bert.eval.T2": "optiprompt",
    "cotbert.bert.eval": "cot-bert",
    "cotbert.bert.eval_pad_denoise": "cot-bert-denoised",
    "cotbert.roberta.eval": "cot-roberta",
    "cotbert.roberta.eval_pad_denoise": "cot-roberta-denoised-released",
}


def name_of(key: str) -> str | None:
    """The library's name for a key of the golden figures."""
    if several := re.fullmatch(r"multimask\.bert\.m(\d)\.(\w+)\.(?:avg|cat)", key):
        return f"masks-{several[1]}{ENDINGS[several[2]]}"
    if key.startswith("llm."):
        return LLM[key.rpartition(".")[2]]
    return NAMES.get(key)


def rendered(prompt: Prompt, text: str, mask: str) -> str:
    body, ending = prompt.sentence(text)
    return (prompt.before + body + ending + prompt.after).replace(MASK, mask)


@pytest.fixture(scope="module")
def sentences(golden: Path) -> list[str]:
    return json.loads((golden / "sentences.json").read_text())


@pytest.fixture(scope="module")
def published(golden: Path) -> dict[str, list[str]]:
    meta = json.loads((golden / "embeddings_meta.json").read_text())
    return {key: entry["texts"] for key, entry in meta.items()}


def test_every_template_gives_the_texts_of_the_authors_code(
    sentences: list[str], published: dict[str, list[str]]
) -> None:
    compared = set()
    for key, texts in published.items():
        if key == "baseline.bert.static_remove_biases":
            continue
        name = name_of(key)
        assert name is not None, key
        mask = "<mask>" if "roberta" in key else MASK
        prompt = find(name).prompts["passage"]
        assert [rendered(prompt, sentence, mask) for sentence in sentences] == texts, key
        compared.add(name)
    assert len(compared) >= 38


def test_what_is_left_without_biases_is_what_the_authors_code_leaves(
    sentences: list[str], published: dict[str, list[str]], golden: Path
) -> None:
    tokenizer = Tokenizer.from_file(str(golden / "models" / "tiny-bert" / "tokenizer.json"))
    remove = find("static-debiased").prompts["passage"].remove
    left = [removed(" ".join(sentence.split()), tokenizer, remove) for sentence in sentences]
    wanted = [text.strip() for text in published["baseline.bert.static_remove_biases"]]
    assert [text or "[PAD]" for text in left] == wanted
