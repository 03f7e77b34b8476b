"""Every back end of encoders/ keeps the promises of types.EncoderProtocol; new files are found by themselves."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models

from semsearch import encoders
from semsearch.encoders.base import as_encoder
from semsearch.encoders.encoder import Encoder
from semsearch.errors import UsageError
from semsearch.prompts import Prompt
from semsearch.types import TruncationStats

TEXTS = (
    "A diesel engine ignites its fuel by compression.",
    "Soup of the day",
    "",
    "这是一个关于猫的句子。",
    "x",
    "a much longer sentence that goes on and on about nothing in particular, " * 12,
    "NUL \x00, half a pair \ud800, and a [MASK]",
)


BACKEND = re.compile(r"^class (\w+?)(?:Backend|Encoder)\((Encoder|Bundle|Torch)Backend\):", re.MULTILINE)
SOURCES = [path.read_text("utf-8") for path in sorted(Path(encoders.__path__[0]).glob("*.py"))]
CLASSES = [match for source in SOURCES for match in BACKEND.findall(source)]
BACKENDS = sorted({name.lower() for name, _ in CLASSES} - {base.lower() for _, base in CLASSES})


def test_every_back_end_is_found() -> None:
    assert {"causal", "hashing", "onnx", "masked"} <= set(BACKENDS)


@pytest.fixture(scope="module", params=BACKENDS)
def encoder(request: pytest.FixtureRequest) -> Any:
    return models.SAMPLES[request.param]()


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
    again = type(encoder)(*([encoder.bundle] if encoder.bundle else []))
    ours, theirs = (hashlib.sha256(each.encode(TEXTS, role="query").tobytes()).hexdigest() for each in (encoder, again))
    assert again.fingerprint == encoder.fingerprint
    assert ours == theirs


class Minimal:
    """An encoder of someone else: the four members that every encoder needs, and none of the others."""

    name, fingerprint, dim = "minimal", "minimal-1", 4

    def encode(self, texts: Sequence[str], *, role: str) -> Any:
        return np.eye(len(texts), 4, dtype=np.float32)


def test_an_encoder_of_four_members_has_defaults_for_the_rest() -> None:
    encoder = as_encoder(Minimal())
    assert encoder.encode(["a", "b"], role="query").shape == (2, 4)
    assert encoder.count_tokens(["", "soup of the day", "日本語"]) == [0, 4, 3]
    assert (list(encoder.background), encoder.embedded, encoder.truncation) == ([], None, TruncationStats())
    assert encoder.info == {"name": "minimal", "fingerprint": "minimal-1", "dim": 4}
    assert encoder.reference == "minimal" and encoder.backend is None


def test_what_an_encoder_offers_beyond_the_four_is_used() -> None:
    class Informed(Minimal):
        @property
        def info(self) -> dict[str, str]:
            return {"licence": "MIT"}

        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            return [7] * len(texts)

        backend, closed = Encoder.load("hashing").backend, False

        def close(self) -> None:
            self.closed = True

    encoder = as_encoder(own := Informed())
    assert encoder.count_tokens(["a"]) == [7] and encoder.info == {"licence": "MIT"}
    assert encoder.backend is Informed.backend
    encoder.close()
    assert own.closed


def test_an_object_that_is_no_encoder_is_refused_by_what_it_lacks() -> None:
    with pytest.raises(UsageError, match="type object is not an encoder: it has no name, fingerprint, dim, encode"):
        as_encoder(object())  # type: ignore[arg-type]


def test_a_back_end_and_an_encoder_are_taken_as_they_are(encoder: Any) -> None:
    assert as_encoder(encoder) is encoder and encoder.backend is encoder
    assert as_encoder(around := Encoder(encoder)) is around and around.backend is encoder
