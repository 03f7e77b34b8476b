"""Facts about machine and environment, read from files: neither torch nor ONNX Runtime is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

from semsearch.encoders.device import Driver, driver

OWNED = ("faiss", "onnxruntime", "torch")  # modules that come in several builds, from different wheels
PCI = Path("/sys/bus/pci/devices")
VERSIONS = {  # the file and the variable with a library's CUDA version
    "torch": ("version.py", "cuda"),
    "onnxruntime": ("capi/build_and_package_info.py", "cuda_version"),
}
NVIDIA, DISPLAY = "0x10de", "0x03"  # PCI vendor, and prefix of the class of display and 3D controllers


@dataclass(frozen=True, slots=True)
class Build:
    """The build of a library. `cuda` is the version it was built for, as 12.8 or 12; "" if unknown or not `gpu`."""

    version: str
    gpu: bool = False
    cuda: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """One machine and environment.

    `wheels` are name and version; `owners` the wheels that own each module of OWNED. `card`: there is an NVIDIA card,
    with or without a driver. `device` is the requested one.
    """

    wheels: Mapping[str, str]
    owners: Mapping[str, Sequence[str]]
    builds: Mapping[str, Build]
    driver: Driver = field(default_factory=Driver)
    card: bool = False
    device: str = "auto"

    @property
    def gpu_requested(self) -> bool:
        """Whether a GPU was requested by name."""
        return self.device.startswith("cuda")

    @property
    def severity(self) -> str:
        """The state of a finding about a GPU that does not work: broken if a GPU was requested, else note."""
        return "broken" if self.gpu_requested else "note"

    @property
    def number(self) -> int:
        """The number of the requested GPU."""
        return int(self.device.partition(":")[2] or 0)

    @property
    def gpu_expected(self) -> bool:
        """Whether a GPU is expected: there is one, it was requested, or wheels for one are installed."""
        chosen = any(self.builds[part].gpu for part in ("faiss", "onnxruntime") if part in self.builds)
        return bool(self.driver.gpus) or self.gpu_requested or chosen


def gather(device: str) -> Facts:
    """The facts of this machine and this environment."""
    named = ((one.metadata["Name"], one) for one in metadata.distributions())
    installed = {re.sub(r"[-_.]+", "-", name).lower(): one for name, one in named if name}
    records = {name: "\n" + (one.read_text("RECORD") or "") for name, one in installed.items()}
    owners = {
        module: sorted(name for name, files in records.items() if f"\n{module}/__init__.py," in files)
        for module in OWNED
    }
    return Facts(
        wheels={name: one.version for name, one in installed.items()},
        owners=owners,
        builds={module: _build(module, owners[module], installed) for module in OWNED if util.find_spec(module)},
        driver=driver(),
        card=_has_card(),
        device=device,
    )


def _build(module: str, wheels: Sequence[str], installed: Mapping[str, metadata.Distribution]) -> Build:
    version = installed[wheels[0]].version if wheels else ""
    cuda = _cuda_version(module)
    if module == "torch" or not (cuda or any("gpu" in wheel for wheel in wheels)):
        return Build(version, gpu=bool(cuda), cuda=cuda)
    required = (_required(installed[wheel].requires or ()) for wheel in wheels)
    return Build(version, gpu=True, cuda=cuda or next(filter(None, required), ""))


def _cuda_version(module: str) -> str:
    """The CUDA version that a library's own files name; "" if they name none."""
    spec = util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec and module in VERSIONS else ():
        file, key = VERSIONS[module]
        with suppress(OSError):
            text = Path(folder, file).read_text(encoding="utf-8")
            if match := re.search(rf"^{key}\b[^=\n]*=\s*['\"](\d[\d.]*)", text, re.MULTILINE):
                return match[1]
    return ""


def _required(requires: Sequence[str]) -> str:
    """The CUDA major version of the NVIDIA wheels that a wheel requires; "" if it requires none."""
    for one in requires:
        if match := re.match(r"nvidia-[\w-]+-cu(\d\d)\b|nvidia-cuda-runtime\b[^;]*(?:>=|~=|==)\s*(\d+)", one):
            return match[1] or match[2]
    return ""


def _has_card() -> bool:
    for folder in PCI.glob("*"):
        with suppress(OSError):
            if (folder / "vendor").read_text().strip() == NVIDIA and (folder / "class").read_text().startswith(DISPLAY):
                return True
    return False
