"""Every encoder of encoders/ keeps the promises of types.EncoderProtocol; new files are found by themselves."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from helpers import models

from semsearch import encoders
from semsearch.prompts import Prompt
from semsearch.utils import plugins

TEXTS = (
    "A diesel engine ignites its fuel by compression.",
    "Soup of the day",
    "",
    "这是一个关于猫的句子。",
    "x",
    "a much longer sentence that goes on and on about nothing in particular, " * 12,
    "NUL \x00, half a pair \ud800, and a [MASK]",
)


@pytest.fixture(scope="module", params=plugins.names(encoders))
def encoder(request: pytest.FixtureRequest) -> Any:
    module = plugins.load(encoders, request.param)
    return module.shipped() if hasattr(module, "shipped") else models.sample(request.param)


def test_every_text_gives_one_unit_row_of_the_stated_width(encoder: Any) -> None:
    vectors = encoder.encode(TEXTS, role="passage")
    assert vectors.shape == (len(TEXTS), encoder.dim)
    assert vectors.dtype == np.float32
    assert vectors.flags["C_CONTIGUOUS"]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_text_gives_no_row(encoder: Any) -> None:
    assert encoder.encode([], role="query").shape == (0, encoder.dim)
    assert list(encoder.count_tokens([])) == []


def test_a_texts_vector_does_not_depend_on_its_batch(encoder: Any) -> None:
    together = encoder.encode(TEXTS, role="passage")
    alone = np.concatenate([encoder.encode([text], role="passage") for text in TEXTS])
    assert np.abs(together - alone).max() <= 1e-5


def test_rows_stand_in_the_order_of_their_texts(encoder: Any) -> None:
    forwards, backwards = encoder.encode(TEXTS, role="passage"), encoder.encode(TEXTS[::-1], role="passage")
    assert np.abs(forwards - backwards[::-1]).max() <= 1e-5


def test_nearness_follows_the_text(encoder: Any) -> None:
    if encoder.info["source"] == models.RANDOM:
        pytest.skip("the sample of this kind has random weights, which know nothing of what texts mean")
    ask, engine, soup = encoder.encode(["diesel engine", TEXTS[0], TEXTS[1]], role="passage")
    assert ask @ engine > ask @ soup + 0.2


def test_a_prompt_changes_the_vector(encoder: Any) -> None:
    plain, prompted = (encoder.embed(["soup"], prompt) for prompt in (Prompt(), Prompt(before="a question: ")))
    assert (plain @ prompted.T).item() < 0.999


def test_longer_texts_have_more_tokens(encoder: Any) -> None:
    short, long, none = encoder.count_tokens(["soup", "soup of the day", ""])
    assert none == 0 < short < long


def test_info_names_what_really_runs(encoder: Any) -> None:
    info = encoder.info
    wanted = {"name", "fingerprint", "method", "dim", "max_tokens", "precision", "device", "provider", "prompts"}
    assert wanted | {"licence", "source"} <= set(info)
    assert info["device"] == "cpu" and info["fingerprint"] == encoder.fingerprint and info["dim"] == encoder.dim


def test_the_fingerprint_stands_for_the_vectors(encoder: Any) -> None:
    again = type(encoder)(*([encoder.bundle] if hasattr(encoder, "bundle") else []))
    ours, theirs = (hashlib.sha256(each.encode(TEXTS, role="query").tobytes()).hexdigest() for each in (encoder, again))
    assert again.fingerprint == encoder.fingerprint
    assert ours == theirs
