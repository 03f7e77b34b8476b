"""Random number state of PyTorch, saved and restored so that a run can be repeated and resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

State = Sequence[Tensor]  # of the CPU, and of the GPU where one is in use


def state(device: str) -> State:
    """The state of the generators of the CPU and of `device`."""
    cpu = torch.get_rng_state()
    return (cpu,) if device == "cpu" else (cpu, torch.cuda.get_rng_state(device))


def restore(device: str, saved: State) -> None:
    """Restore a state; one saved without a GPU leaves the GPU's generator unchanged."""
    torch.set_rng_state(saved[0])
    if device != "cpu" and len(saved) > 1:
        torch.cuda.set_rng_state(saved[1], device)


@contextmanager
def replayed(device: str, saved: State) -> Iterator[None]:
    """Draw the numbers that follow `saved` inside the block; the state before it is restored afterwards."""
    with torch.random.fork_rng([] if device == "cpu" else [device]):
        restore(device, saved)
        yield


@contextmanager
def seeded(device: str, seed: int) -> Iterator[None]:
    """Draw the numbers of `seed` inside the block; the caller's state is restored afterwards."""
    with torch.random.fork_rng([] if device == "cpu" else [device]):
        torch.manual_seed(seed)
        yield
