"""Which device an encoder runs on: `auto`, `cpu`, `cuda` or `cuda:1`, asked for and read back."""

from __future__ import annotations

import logging
import os
import re
import warnings
from typing import Any

from semsearch.encoders import gpu_driver
from semsearch.errors import DeviceUnavailable, UsageError

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
_told: set[str] = set()


def parse(device: str) -> str:
    """`device` as it is, or UsageError where no device has such a name."""
    if not DEVICE.fullmatch(device):
        raise UsageError(f"no device is called {device!r}.", "Choose from: auto, cpu, cuda, cuda:0, cuda:1, …")
    return device


def number(device: str) -> int:
    """Which GPU is meant: 1 for cuda:1, 0 for cuda and auto."""
    return int(device.partition(":")[2] or 0)


def torch_device(device: str) -> str:
    """`device` as torch calls it: cpu or cuda:N. Raises DeviceUnavailable, UsageError.

    auto takes the CPU where the GPU is of no use, and says so if there is one.
    """
    if parse(device) == "cpu":
        return "cpu"
    why = _torch_trouble(number(device))
    if not why:
        return f"cuda:{number(device)}"
    if device != "auto":
        raise absent(device, why)
    if _torch().version.cuda is not None and gpu_driver.driver().present:
        fell_back("torch", why)
    return "cpu"


def torch_facts(device: str) -> tuple[str, str]:
    """What torch says of the GPU that `device` means: cuDNN's version or "", and why it cannot compute there, or ""."""
    cudnn = _torch().backends.cudnn.version()
    return (str(cudnn) if cudnn else ""), _torch_trouble(number(device))


def absent(device: str, why: str) -> DeviceUnavailable:
    """The error for a device that was asked for and cannot be had."""
    return DeviceUnavailable(
        f"device {device} was asked for, but {why}.",
        "Use --device cpu or auto; semsearch doctor tells what is missing.",
    )


def fell_back(what: str, why: str) -> None:
    """Say once, in one line on stderr unless the program logs elsewhere, that a GPU is there and not used."""
    line = f"{what} runs on the CPU: {why}. See: semsearch doctor"
    if line not in _told:
        _told.add(line)
        logging.getLogger("semsearch").warning("%s", line)


def first_line(error: object) -> str:
    """The first line of what was said that says anything, without its full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" *")]
    return lines[0][:200].rstrip(".") if lines else type(error).__name__


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _torch_trouble(at: int) -> str:
    """Why torch cannot compute on GPU `at`; "" where it can, which is tried."""
    torch = _torch()
    with warnings.catch_warnings(record=True) as caught:  # torch warns of a driver that is too old, and goes on
        warnings.simplefilter("always")
        there = torch.cuda.is_available()
    if not there:
        built = torch.version.cuda
        said = f": {first_line(caught[0].message)}" if caught else ""
        return "this torch was built for CPUs only" if built is None else f"torch (CUDA {built}) finds no GPU{said}"
    if at >= torch.cuda.device_count():
        return f"torch finds {torch.cuda.device_count()} GPU" + ("s" if torch.cuda.device_count() > 1 else "")
    try:
        torch.ones(1, device=f"cuda:{at}").add(1).item()  # no kernels for this card, or no memory: only a run tells
    except RuntimeError as error:
        return f"it cannot be used: {first_line(error)}"
    return ""


def _torch() -> Any:
    import torch  # only encoders that run on torch ask

    return torch
