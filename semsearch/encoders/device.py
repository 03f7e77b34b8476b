"""The device of an encoder: `auto`, `cpu`, `cuda` or `cuda:1`, requested and read back.

NVIDIA's driver is asked for its GPUs and its CUDA without torch, which takes no GPU memory.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from semsearch.errors import DeviceUnavailable, UsageError

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
KERNEL = Path("/proc/driver/nvidia/version")
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE: the driver works, but has no GPU for this process
LONGEST = 256  # bytes of a GPU's name


def parse(device: str) -> str:
    """`device` unchanged. Raises UsageError if no device has such a name."""
    if not DEVICE.fullmatch(device):
        raise UsageError(f"no device is called {device!r}.", "Choose from: auto, cpu, cuda, cuda:0, cuda:1, …")
    return device


def number(device: str) -> int:
    """The number of the GPU: 1 for cuda:1, 0 for cuda and auto."""
    return int(device.partition(":")[2] or 0)


def torch_device(device: str) -> str:
    """`device` as torch calls it: cpu or cuda:N. Raises DeviceUnavailable, UsageError.

    auto takes the CPU if torch cannot use the GPU, with a warning if there is one.
    """
    if parse(device) == "cpu":
        return "cpu"
    why = _torch_trouble(number(device))
    if not why:
        return f"cuda:{number(device)}"
    if device != "auto":
        raise absent(device, why)
    if _torch().version.cuda is not None and driver().present:
        fell_back("torch", why)
    return "cpu"


def torch_facts(device: str) -> tuple[str, str]:
    """Torch on the GPU `device`: the version of cuDNN or "", and why torch cannot compute there, or ""."""
    cudnn = _torch().backends.cudnn.version()
    return (str(cudnn) if cudnn else ""), _torch_trouble(number(device))


def absent(device: str, why: str) -> DeviceUnavailable:
    """The error for a requested device that is not available."""
    return DeviceUnavailable(
        f"device {device} was requested, but {why}.",
        'Use device="cpu" or "auto".',
        "Use --device cpu or auto; semsearch doctor shows what is missing.",
    )


@cache
def fell_back(what: str, why: str) -> None:
    """Warn once, in one line, that a GPU is available and not used."""
    logging.getLogger("semsearch").warning(
        "%s runs on the CPU: %s. The command `semsearch doctor` shows what is missing.", what, why
    )


def first_line(error: object) -> str:
    """The first line of a message that is not blank or a row of asterisks, without its full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" *")]
    return lines[0][:200].rstrip(".") if lines else type(error).__name__


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _torch_trouble(at: int) -> str:
    """Why torch cannot compute on GPU `at`; "" if a trial succeeds."""
    torch = _torch()
    with warnings.catch_warnings(record=True) as caught:  # torch only warns of an old driver
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
    if not available:
        built = torch.version.cuda
        reason = f": {first_line(caught[0].message)}" if caught else ""
        return "this torch was built for CPUs only" if built is None else f"torch (CUDA {built}) finds no GPU{reason}"
    if at >= torch.cuda.device_count():
        return f"torch finds {torch.cuda.device_count()} GPU" + ("s" if torch.cuda.device_count() > 1 else "")
    try:
        torch.ones(1, device=f"cuda:{at}").add(1).item()  # only a run shows missing kernels and full memory
    except RuntimeError as error:
        return f"it cannot be used: {first_line(error)}"
    return ""


def _torch() -> ModuleType:
    import torch  # only for encoders that run on torch

    return torch


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
    version, number, count = _driver_version(), ctypes.c_int(), ctypes.c_int()
    api.cuDriverGetVersion(ctypes.byref(number))  # 12040 is 12.4
    cuda = f"{number.value // 1000}.{number.value % 1000 // 10}" if number.value else ""
    if failed := api.cuInit(0):
        trouble = "" if failed == NO_DEVICE else _reason(api, failed)
        return Driver(version=version, cuda=cuda, trouble=trouble)
    api.cuDeviceGetCount(ctypes.byref(count))
    return Driver(tuple(_gpu_name(api, at) for at in range(count.value)), version, cuda)


def _driver_version() -> str:
    """The version of the kernel module, which only Linux has in a file."""
    try:
        version = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", KERNEL.read_text())
    except OSError:
        return ""
    return version.group() if version else ""


def _gpu_name(api: ctypes.CDLL, at: int) -> str:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(LONGEST)
    api.cuDeviceGet(ctypes.byref(device), at)
    api.cuDeviceGetName(name, LONGEST, device)
    return name.value.decode(errors="replace")


def _reason(api: ctypes.CDLL, failed: int) -> str:
    text = ctypes.c_char_p()
    api.cuGetErrorString(failed, ctypes.byref(text))
    return f"CUDA error {failed}" + (f": {text.value.decode(errors='replace')}" if text.value else "")
