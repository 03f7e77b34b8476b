"""Which device an encoder runs on: `auto`, `cpu`, `cuda` or `cuda:1`, asked for and read back."""

from __future__ import annotations

import os
import re

from semsearch.errors import DeviceUnavailable, UsageError

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


def parse(device: str) -> str:
    """`device` as it is, or UsageError where no device has such a name."""
    if not DEVICE.fullmatch(device):
        raise UsageError(f"no device is called {device!r}.", "Choose from: auto, cpu, cuda, cuda:0, cuda:1, …")
    return device


def torch_device(device: str) -> str:
    """`device` as torch calls it: cpu or cuda:N. Raises DeviceUnavailable, UsageError."""
    import torch  # only encoders that run on torch ask

    if parse(device) == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return "cpu"
    number = int(device.partition(":")[2] or 0)
    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = "this torch was built for CPUs only" if built is None else f"torch (CUDA {built}) finds no GPU"
        raise absent(device, why)
    if number >= torch.cuda.device_count():
        raise absent(device, f"torch finds {torch.cuda.device_count()} GPUs")
    return f"cuda:{number}"


def absent(device: str, why: str) -> DeviceUnavailable:
    """The error for a device that was asked for and cannot be had."""
    return DeviceUnavailable(f"device {device} was asked for, but {why}.", "Use --device cpu, or --device auto.")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
