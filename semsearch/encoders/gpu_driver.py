"""NVIDIA's driver, asked without torch: the GPUs it has and the CUDA it can run. Takes no GPU memory."""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
KERNEL = Path("/proc/driver/nvidia/version")
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE: the driver works, and shows this process no GPU
LONGEST = 256  # bytes of a GPU's name


@dataclass(frozen=True, slots=True)
class Driver:
    """`version` as 550.54.15, `cuda` the newest it runs, as 12.4; both "" where unknown. `trouble`: why it fails."""

    gpus: tuple[str, ...] = ()
    version: str = ""
    cuda: str = ""
    trouble: str = ""

    @property
    def present(self) -> bool:
        """Whether there is a GPU, or one that the driver fails to start."""
        return bool(self.gpus or self.trouble)


@cache
def driver() -> Driver:
    """What the driver of this machine says; an empty Driver where there is none."""
    try:
        api = ctypes.CDLL(LIBRARY)
    except OSError:
        return Driver()
    version, cuda, failed = _version(), _cuda(api), api.cuInit(0)
    if failed:
        trouble = "" if failed == NO_DEVICE else _reason(api, failed)
        return Driver(version=version, cuda=cuda, trouble=trouble)
    count = ctypes.c_int()
    api.cuDeviceGetCount(ctypes.byref(count))
    return Driver(tuple(_name(api, at) for at in range(count.value)), version, cuda)


def _version() -> str:
    """The kernel module's version; only Linux says it in a file."""
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", KERNEL.read_text())
    except OSError:
        return ""
    return found.group() if found else ""


def _cuda(api: Any) -> str:
    number = ctypes.c_int()
    api.cuDriverGetVersion(ctypes.byref(number))  # 12040 is 12.4
    return f"{number.value // 1000}.{number.value % 1000 // 10}" if number.value else ""


def _name(api: Any, at: int) -> str:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(LONGEST)
    api.cuDeviceGet(ctypes.byref(device), at)
    api.cuDeviceGetName(name, LONGEST, device)
    return name.value.decode(errors="replace")


def _reason(api: Any, failed: int) -> str:
    text = ctypes.c_char_p()
    api.cuGetErrorString(failed, ctypes.byref(text))
    return f"CUDA error {failed}" + (f": {text.value.decode(errors='replace')}" if text.value else "")
