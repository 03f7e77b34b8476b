"""Texts under a prompt as token ids: whatever the text, the prompt comes through whole and the row fits."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semsearch.errors import UsageError
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import MASK, Prompt, parse
from semsearch.prompts.library import find

TOKENS = {
    "tiny-bert": {"mask": "[MASK]", "sep": "[SEP]", "cls": "[CLS]", "pad": "[PAD]"},
    "tiny-roberta": {"mask": "<mask>", "sep": "</s>", "cls": "<s>", "pad": "<pad>"},
}
NAMES = ("promptbert", "promptroberta", "cot-bert", "cot-roberta", "masks-3", "masks-4-sep", "masks-2-none", "mean")
PROMPTS = {name: find(name).prompts["passage"] for name in NAMES} | {
    "no blanks": parse("[X][MASK]"),
    "blanks": parse("  [X]  [MASK]  [MASK] . "),
    "masks first": parse('[MASK] [MASK] : "[X]"'),
    "marks only": parse("[MASK][X][SEP]"),
}
SPECIAL = ("[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]", "<mask>", "<s>", "</s>", "<pad>", "<unk>", "[X]")
PIECES = (
    *SPECIAL,
    '"',
    "'",
    "“it’s”",
    "👩‍👩‍👧 😀",
    "漢字かな한국어",
    "a\n\tb\r\n",
    "\xad\u200b",
    "\x00",
    "é",
    "ﬁ",
    ".",
    "?",
    " ",
)
typed = st.one_of(
    st.text(),
    st.text(st.characters()),  # half surrogate pairs too
    st.lists(st.one_of(st.sampled_from(PIECES), st.text()), max_size=12).map("".join),
    st.integers(1, 400).map(lambda size: "a man is playing a guitar and " * size),
)
models = st.sampled_from(sorted(TOKENS))
prompts = st.sampled_from(sorted(PROMPTS))


@pytest.fixture(scope="module")
def folder(golden: Path) -> Path:
    return golden / "models"


@lru_cache
def tokenizer(folder: Path, model: str, max_tokens: int = 4096) -> Tokenizer:
    return Tokenizer(folder / model / "tokenizer.json", max_tokens, TOKENS[model])


@lru_cache
def reference(folder: Path, model: str) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder / model)


@lru_cache
def specials(folder: Path, model: str) -> set[int]:
    added = json.loads((folder / model / "tokenizer.json").read_text())["added_tokens"]
    return {each["id"] for each in added if each["special"]}


@given(typed, models, prompts)
def test_nothing_in_a_text_becomes_a_special_token(folder: Path, text: str, model: str, name: str) -> None:
    prompt, ours = PROMPTS[name], tokenizer(folder, model)
    frame = ours.frame(prompt)
    (row,) = ours.ids([text], prompt)
    assert row.count(frame.mask) == prompt.masks
    unknown = {100, 1} if model == "tiny-bert" else {3}
    found = [id_ for id_ in row if id_ in specials(folder, model) - unknown]
    extra = 1 if prompt.ending == "[SEP]" and prompt.sentence(text)[1] else 0
    assert len(found) == len([id_ for id_ in (*frame.before, *frame.after) if id_ in found]) + extra


@given(typed, models, prompts, st.integers(-3, 12))
def test_the_sentence_is_cut_and_never_the_prompt(folder: Path, text: str, model: str, name: str, room: int) -> None:
    prompt = PROMPTS[name]
    frame = tokenizer(folder, model).frame(prompt)
    most = max(1, len(frame) + room)
    (whole,) = tokenizer(folder, model).ids([text], prompt)
    short = tokenizer(folder, model, most)
    try:
        (row,) = short.ids([text], prompt)
    except UsageError:
        assert room < 3  # a full stop, and a blank beside the sentence, may be tokens of their own
        return
    assert len(row) <= most
    assert row.count(frame.mask) == prompt.masks
    if len(whole) <= most:
        assert row == whole
    kept = row[: max(0, len(row) - len(frame.after) - 1)]  # what follows may have grown together with another end
    assert _in_order(kept, whole)
    marks = set(frame.before + frame.after) & specials(folder, model)
    assert [id_ for id_ in row if id_ in marks] == [id_ for id_ in whole if id_ in marks]


@given(st.lists(typed, max_size=4), models, prompts)
def test_a_row_does_not_depend_on_its_neighbours(folder: Path, texts: list[str], model: str, name: str) -> None:
    ours = tokenizer(folder, model, 64)
    alone = [ours.ids([text], PROMPTS[name])[0] for text in texts]
    assert ours.ids(texts, PROMPTS[name]) == alone


@given(typed, models, prompts)
def test_the_ids_are_those_of_transformers_on_the_prompted_text(folder: Path, text: str, model: str, name: str) -> None:
    assume(not any(mark in text for mark in SPECIAL) and not re.search("[\ud800-\udfff]", text))
    prompt, theirs = PROMPTS[name], reference(folder, model)
    body, ending = prompt.sentence(text)
    whole = prompt.before + body + ending + prompt.after
    whole = whole.replace(MASK, TOKENS[model]["mask"]).replace("[SEP]", TOKENS[model]["sep"])
    assert tokenizer(folder, model).ids([text], prompt)[0] == theirs(whole)["input_ids"]


@given(models, prompts, st.integers(0, 9))
def test_a_row_is_the_frame_around_the_sentence(folder: Path, model: str, name: str, size: int) -> None:
    ours, prompt = tokenizer(folder, model), PROMPTS[name]
    frame = ours.frame(prompt)
    (row,) = ours.ids([" ".join(["man"] * size) + "'"], prompt)  # which no rule puts a full stop behind
    assert tuple(row[: len(frame.before)]) == frame.before
    assert tuple(row[len(row) - len(frame.after) :]) == frame.after


@pytest.mark.parametrize("model", TOKENS)
def test_parts_are_the_tokens_of_the_row(folder: Path, model: str) -> None:
    ours, prompt = tokenizer(folder, model), PROMPTS["promptroberta"]
    parts = ours.parts("A man is playing", prompt)
    vocabulary = reference(folder, model)
    assert [token for token, _ in parts] == vocabulary.convert_ids_to_tokens(ours.ids(["A man is playing"], prompt)[0])
    inside = [token for token, part in parts if part != "prompt"]
    assert inside == vocabulary.tokenize(" A man is playing")


def test_what_was_cut_is_counted(folder: Path) -> None:
    ours = Tokenizer(folder / "tiny-bert" / "tokenizer.json", 13, TOKENS["tiny-bert"])
    ours.ids(["a man is playing a guitar", "a man"], PROMPTS["promptbert"])
    assert (ours.truncation.passages, ours.truncation.tokens) == (1, 4)


@pytest.mark.parametrize("model", TOKENS)
def test_a_prompt_longer_than_the_model_reads_is_refused(folder: Path, model: str) -> None:
    with pytest.raises(UsageError, match="the prompt alone has"):
        tokenizer(folder, model, 6).ids(["a man"], PROMPTS["cot-bert"])


def _in_order(some: list[int], every: list[int]) -> bool:
    rest = iter(every)
    return all(one in rest for one in some)


def test_a_prompt_with_rules_only_costs_nothing(folder: Path) -> None:
    assert len(tokenizer(folder, "tiny-bert").frame(Prompt(spaces=True))) == 2  # [CLS] and [SEP]
