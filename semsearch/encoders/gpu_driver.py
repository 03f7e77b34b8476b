"""NVIDIA's driver, queried without torch: its GPUs and the CUDA that it can run. Takes no GPU memory."""

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
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE: the driver works, but has no GPU for this process
LONGEST = 256  # bytes of a GPU's name


@dataclass(frozen=True, slots=True)
class Driver:
    """`version` such as 550.54.15, `cuda` the newest it runs, such as 12.4; "" if unknown. `trouble`: why it fails."""

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
    """The driver of this machine; an empty Driver if there is none."""
    try:
        api = ctypes.CDLL(LIBRARY)
    except OSError:
        return Driver()
    version, number, count = _version(), ctypes.c_int(), ctypes.c_int()
    api.cuDriverGetVersion(ctypes.byref(number))  # 12040 is 12.4
    cuda = f"{number.value // 1000}.{number.value % 1000 // 10}" if number.value else ""
    if failed := api.cuInit(0):
        trouble = "" if failed == NO_DEVICE else _reason(api, failed)
        return Driver(version=version, cuda=cuda, trouble=trouble)
    api.cuDeviceGetCount(ctypes.byref(count))
    return Driver(tuple(_name(api, at) for at in range(count.value)), version, cuda)


def _version() -> str:
    """The version of the kernel module, which only Linux has in a file."""
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", KERNEL.read_text())
    except OSError:
        return ""
    return found.group() if found else ""


def _name(api: Any, at: int) -> str:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(LONGEST)
    api.cuDeviceGet(ctypes.byref(device), at)
    api.cuDeviceGetName(name, LONGEST, device)
    return name.value.decode(errors="replace")


def _reason(api: Any, failed: int) -> str:
    text = ctypes.c_char_p()
    api.cuGetErrorString(failed, ctypes.byref(text))
    return f"CUDA error {failed}" + (f": {text.value.decode(errors='replace')}" if text.value else "")
