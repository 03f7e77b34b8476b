from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.encoders import pair_similarity
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder

PASSAGES = """Bread rises because yeast turns sugar into gas.
A sourdough starter wants flour and water every day.
Knead the dough until it is smooth and elastic.
Simmer tomatoes slowly for a thick pasta sauce.
Store coffee beans in a dark, airtight tin.
Change the washer of a tap that drips.
Turn off the water before you open a pipe.
A loose chain jumps off the sprockets of a bicycle.
Pump the tyres to the pressure printed on their side.
Brake pads squeal when they are worn or dirty.
Tomatoes are planted out after the last frost.
Prune roses in late winter.
Compost needs air, moisture and something green.
Slugs can be kept away with copper tape.
The Romans built roads of stone across Europe.
Napoleon was defeated at Waterloo in 1815.
The printing press spread quickly after 1450.
The moon pulls the sea and makes the tides.
Jupiter is the largest planet of the solar system.
Light from the sun takes eight minutes to reach us.
A fixed interest rate protects a borrower from rising costs.
Index funds spread money over many companies.
Keep receipts for seven years in case of a tax audit.
A passport has to be valid for six months for many visas.
Trains are often faster than planes below 500 kilometres.
Practise scales slowly with a metronome.
A violin bow needs rosin to grip the strings.
Cats sleep most of the day and hunt at dusk.
Reward a dog at once when it sits.
Restart the router when the wireless network is slow.
Back up your files to a disk that is kept elsewhere.
A strong password is long rather than strange.
Stretch your calves after running.
Sleep is better in a cool, dark room.
""".splitlines()
RELATED = [
    "my faucet is leaking",
    "how to bake a loaf",
    "wifi does not work well",
    "teach a puppy to sit",
    "why is there high tide",
]
UNRELATED = [
    "rules of the offside trap",
    "synthesis of sulfonamide antibiotics",
    "knitting a scarf",
    "how to tie a bow tie",
    "learn the alphabet",
    "who painted the mona lisa",
    "symptoms of measles",
    "best science fiction novels",
    "paint a wooden fence",
    "chess openings for white",
    "what is a black hole made of",
    "iron a shirt",
]


@pytest.fixture(scope="module")
def measured() -> tuple[float, ...]:
    """Unrelated pairs around 0.1, and one pair in twenty of the same subject."""
    rng = np.random.default_rng(0)
    cosines = np.concatenate([rng.normal(0.1, 0.08, 19_000), rng.normal(0.45, 0.1, 1_000)])
    return tuple(np.quantile(cosines, np.linspace(0, 1, 1001)).tolist())


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_strength_never_falls_and_stays_between_0_and_1(cosines: list[float]) -> None:
    rng = np.random.default_rng(1)
    background = tuple(np.quantile(rng.normal(0.2, 0.1, 500), np.linspace(0, 1, 1001)).tolist())
    values = pair_similarity.calibrate(np.sort(np.array(cosines)), background)
    assert (np.diff(values) >= -1e-12).all()
    assert values.min() >= 0 and values.max() <= 1


def test_good_matches_differ_in_strength(measured: tuple[float, ...]) -> None:
    good = pair_similarity.calibrate(np.array([0.6, 0.7, 0.8, 0.9, 1.0]), measured)
    assert np.round(good, 3).tolist() == sorted(set(np.round(good, 3).tolist()))
    assert 0.9 < good[1] < 0.98 < good[3] < 1
    assert good[4] == 1


def test_an_unrelated_pair_is_below_the_threshold(measured: tuple[float, ...]) -> None:
    assert pair_similarity.calibrate(np.array([0.1]), measured)[0] == pytest.approx(0.25, abs=0.03)
    assert pair_similarity.calibrate(np.array([0.3]), measured)[0] < 0.5
    assert pair_similarity.calibrate(np.array([0.45]), measured)[0] > 0.5


def test_pairs_of_one_subject_do_not_move_the_knee(measured: tuple[float, ...]) -> None:
    pure = tuple(np.quantile(np.random.default_rng(2).normal(0.1, 0.08, 20_000), np.linspace(0, 1, 1001)).tolist())
    cosines = np.array([0.4, 0.5, 0.7])
    assert pair_similarity.calibrate(cosines, measured) == pytest.approx(
        pair_similarity.calibrate(cosines, pure), abs=0.05
    )


def test_the_background_is_the_same_every_time() -> None:
    vectors = unit_rows(np.random.default_rng(0).normal(size=(500, 16)))
    first, again = (pair_similarity.cosine_quantiles(vectors, seed=7) for _ in range(2))
    assert first == again
    assert len(first) == 1001 and list(first) == sorted(first)


@pytest.mark.parametrize("texts", [0, 1])
def test_there_is_no_background_without_two_texts(texts: int) -> None:
    assert pair_similarity.cosine_quantiles(np.ones((texts, 4), dtype=np.float32)) == ()


@pytest.mark.parametrize("background", [tuple([0.0] * 1001), tuple([1.0] * 1001), tuple(np.linspace(-1, 1, 1001))])
def test_a_degenerate_background_still_gives_finite_strengths(background: tuple[float, ...]) -> None:
    values = pair_similarity.calibrate(np.array([-1.0, 0.0, 0.5, 1.0]), background)
    assert np.isfinite(values).all() and (np.diff(values) >= 0).all()


def test_a_real_encoder_separates_good_matches_from_unrelated_queries(minilm_encoder: Encoder) -> None:
    passages = minilm_encoder.encode(PASSAGES, role="passage")
    background = pair_similarity.cosine_quantiles(passages)
    best = {
        kind: pair_similarity.calibrate(
            (minilm_encoder.encode(queries, role="query") @ passages.T).max(axis=1), background
        )
        for kind, queries in {"related": RELATED, "unrelated": UNRELATED}.items()
    }
    assert (best["related"] > 0.5).all(), best
    assert (best["unrelated"] < 0.5).mean() >= 0.75, best  # a bow tie is near a violin bow, a scarf near its strings
