"""Whitening and flow by themselves: what they promise of any vectors, without an encoder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.evaluation.papers import whitening
from semsearch.evaluation.papers.whitening import Moments

torch = pytest.importorskip("torch")

from semsearch.evaluation.papers import flow_fitting  # noqa: E402
from semsearch.models.networks.flow import Flow  # noqa: E402
from semsearch.models.networks.post import Whitening, identity  # noqa: E402


@pytest.fixture(scope="module")
def cone() -> NDArray[np.float32]:
    """Vectors (1500, 16) in a narrow cone, most of their variance in few directions, as language models give them."""
    rng = np.random.default_rng(5)
    mixed = rng.normal(size=(1500, 16)) * np.geomspace(3, 0.1, 16) @ np.linalg.qr(rng.normal(size=(16, 16)))[0]
    return np.asarray(mixed + 4 * rng.normal(size=16), dtype=np.float32)


def anisotropy(vectors: Any) -> float:
    """The mean cosine of two different vectors."""
    rows = np.asarray(vectors, dtype=np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float((np.square(rows.sum(axis=0)).sum() - len(rows)) / (len(rows) * (len(rows) - 1)))


def test_moments_in_parts_are_those_of_all(cone: NDArray[np.float32]) -> None:
    moments = Moments()
    for part in np.array_split(cone + np.float32(1000), [1, 2, 700, 700, 1201]):  # far from 0: squares would cancel
        moments.add(part)
    whole = (cone + np.float32(1000)).astype(np.float64)
    assert moments.count == len(cone)
    assert np.abs(moments.mean - whole.mean(axis=0)).max() < 1e-9
    assert np.abs(moments.covariance - np.cov(whole.T)).max() < 1e-9


def test_whitened_vectors_vary_alike_in_every_direction(cone: NDArray[np.float32]) -> None:
    found = whitening.fit([cone])(cone)
    assert np.abs(np.cov(found.T) - np.eye(16)).max() < 1e-9
    assert np.abs(found.mean(axis=0)).max() < 1e-9
    assert anisotropy(cone) > 0.5 > 0.01 > abs(anisotropy(found))


def test_the_first_numbers_are_those_that_varied_most(cone: NDArray[np.float32]) -> None:
    whole, some = whitening.fit([cone]), whitening.fit([cone], 5)
    assert some.kernel.shape == (16, 5)
    assert np.array_equal(some.kernel, whole.kernel[:, :5])
    lengths = np.linalg.norm(whole.kernel, axis=0)  # one over the spread of each direction
    assert (np.diff(lengths) > 0).all()


def test_the_module_computes_what_was_fitted(cone: NDArray[np.float32]) -> None:
    found = whitening.fit([cone], 7)
    module = Whitening.of(found.mean, found.kernel)
    assert np.abs(module(torch.from_numpy(cone)).numpy() - found(cone)).max() < 1e-4


def test_there_have_to_be_more_texts_than_numbers(cone: NDArray[np.float32]) -> None:
    for few in (cone[:16], cone[:1], cone[:0]):
        with pytest.raises(UsageError, match="more than"):
            whitening.fit([few])
    assert whitening.fit([cone[:17]]).varying == 16


def test_directions_that_never_vary_are_left_out(cone: NDArray[np.float32]) -> None:
    """As behind a layer norm: rounding divided by rounding would be one of the numbers."""
    flat = cone.copy()
    flat[:, 3] = 0.25
    flat[:, 7] = -flat.sum(axis=1) + flat[:, 7]  # the sum of all is 0
    found = whitening.fit([flat])
    assert (found.varying, found.kernel.shape) == (14, (16, 14))
    assert np.abs(found.kernel).max() < 1e3
    with pytest.raises(UsageError, match="14 of 16 directions, so 15 components are too many"):
        whitening.fit([flat], 15)
    with pytest.raises(UsageError, match="0 of 16 directions"):
        whitening.fit([np.ones((20, 16))])


def test_a_flow_is_undone_by_its_inverse(cone: NDArray[np.float32]) -> None:
    for vectors in (cone, cone[:, :13]):  # halves of an odd length too
        trained = flow_fitting.fit(vectors).flow
        given = torch.from_numpy(np.ascontiguousarray(vectors))
        latent = trained(given)
        assert latent.shape == given.shape
        assert (latent - given).abs().max() > 1
        assert (trained.inverse(latent) - given).abs().max() < 1e-5 * given.abs().max()


def test_its_log_determinant_is_that_of_its_jacobian() -> None:
    chance = torch.Generator().manual_seed(1)
    made = Flow(9, levels=2, depth=2, width=5).double()
    with torch.no_grad():
        for value in made.parameters():
            value.normal_(std=0.3, generator=chance)
    one = torch.randn(1, 9, dtype=torch.float64, generator=chance)
    made.requires_grad_(False)
    jacobian = torch.autograd.functional.jacobian(lambda row: made(row)[0], one)[:, 0]
    assert float(torch.linalg.slogdet(jacobian).logabsdet) == pytest.approx(float(made.log_det), abs=1e-10)
    latent = made(one)
    wanted = float(-0.5 * latent.square().sum() - 4.5 * math.log(2 * math.pi) + made.log_det)
    assert float(made.log_likelihood(one)) == pytest.approx(wanted, abs=1e-10)


def test_every_number_can_reach_every_other() -> None:
    """Otherwise parts of a vector would be fitted by themselves."""
    chance = torch.Generator().manual_seed(1)
    made = Flow(8).double()
    with torch.no_grad():
        for name, value in made.named_parameters():
            value.normal_(std=0.5, generator=chance) if "kernel" in name else value.fill_(0.05)
    rows = torch.randn(50, 8, dtype=torch.float64, generator=chance)
    reached = torch.stack(
        [torch.autograd.functional.jacobian(lambda row: made(row)[0], row[None])[:, 0] for row in rows]
    )
    assert (reached.abs().amax(0) > 0).all()


def test_training_makes_the_vectors_likelier_and_opens_the_cone(cone: NDArray[np.float32]) -> None:
    rng = np.random.default_rng(0)
    bent = cone.copy()
    bent[:, 8:] += 0.6 * np.square(bent[:, :8] - bent[:, :8].mean(axis=0))  # what no linear map undoes
    bent = np.concatenate([bent, bent + rng.normal(size=bent.shape).astype(np.float32) * 0.05])
    found = flow_fitting.fit(bent, epochs=3)
    assert found.after < found.before - 0.05
    held_out = np.asarray(bent[::7])
    assert anisotropy(held_out) > 0.5
    assert abs(anisotropy(found.flow(torch.from_numpy(held_out)).numpy())) < 0.1


def test_the_same_seed_gives_the_same_flow_and_another_another(cone: NDArray[np.float32]) -> None:
    first, again, other = (identity(flow_fitting.fit(cone[:200], seed=seed).flow) for seed in (3, 3, 4))
    assert first == again != other


def test_sorted_texts_are_shuffled(cone: NDArray[np.float32]) -> None:
    """Else the scales would be those of the first texts: 6.1 bits where 2.4 are right."""
    by_size = flow_fitting.fit(cone[np.argsort(cone[:, 0])])
    assert by_size.before == pytest.approx(flow_fitting.fit(cone).before, abs=0.3)


def test_a_number_that_varies_by_rounding_alone_does_not_blow_up(cone: NDArray[np.float32]) -> None:
    """As three of MiniLM's do: made to vary, each step would multiply by a million what the one before added."""
    rounding = 1e-9 * np.random.default_rng(1).normal(size=(len(cone), 3))
    found = flow_fitting.fit(np.insert(cone, [2, 9, 16], rounding.astype(np.float32), axis=1))
    assert math.isfinite(found.after) and found.after < found.before


def test_what_a_flow_cannot_be_fitted_on_is_said(cone: NDArray[np.float32]) -> None:
    with pytest.raises(UsageError, match="there are 63"):
        flow_fitting.fit(cone[:63])
    with pytest.raises(UsageError, match="4 numbers are too few"):
        flow_fitting.fit(cone[:, :4])
