"""Chance: the state of torch's random numbers, kept and put back, so that a run can be repeated and gone on with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

State = Sequence[Tensor]  # of the CPU, and of the GPU where one is in use


def state(device: str) -> State:
    """What decides the random numbers that follow, on the CPU and on `device`."""
    cpu = torch.get_rng_state()
    return (cpu,) if device == "cpu" else (cpu, torch.cuda.get_rng_state(device))


def restore(device: str, kept: State) -> None:
    """Have the random numbers follow that followed `kept`. What was kept without the GPU says nothing of one."""
    torch.set_rng_state(kept[0])
    if device != "cpu" and len(kept) > 1:
        torch.cuda.set_rng_state(kept[1], device)


@contextmanager
def following(device: str, kept: State) -> Iterator[None]:
    """With the random numbers that follow `kept`; those after the block are as if it had drawn none."""
    before = state(device)
    restore(device, kept)
    try:
        yield
    finally:
        restore(device, before)


@contextmanager
def seeded(device: str, seed: int) -> Iterator[None]:
    """With the random numbers of `seed`; the caller's own go on afterwards."""
    before = state(device)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        restore(device, before)
