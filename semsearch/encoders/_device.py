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


def absent(device: str, why: str) -> DeviceUnavailable:
    """The error for a device that was asked for and cannot be had."""
    return DeviceUnavailable(f"device {device} was asked for, but {why}.", "Use --device cpu, or --device auto.")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
