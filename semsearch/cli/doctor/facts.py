"""What is installed and what the machine has, read from files: neither torch nor ONNX Runtime is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

from semsearch.encoders.gpu_driver import Driver, driver

OWNED = ("faiss", "onnxruntime", "torch")  # modules that several wheels install over one another, or in several builds
PCI = Path("/sys/bus/pci/devices")
NVIDIA, DISPLAY = "0x10de", "0x03"  # a vendor; how the class of a display or 3D controller begins
VERSIONED = ("cublas", "cuda-runtime", "cuda-nvrtc", "cuda-cupti", "nvjitlink")  # version as CUDA itself, from 13 on


@dataclass(frozen=True, slots=True)
class Build:
    """A library as it was built. `cuda`: what it was built for, as 12.8 or 12, "" where unknown or not `gpu`."""

    version: str
    gpu: bool = False
    cuda: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """One machine. `owners`: the wheels of each module in OWNED; `clashes`: pairs of wheels with files in common.

    `card`: an NVIDIA card is in the machine, whatever the driver says; `device`: what was asked for.
    """

    wheels: Mapping[str, str]
    owners: Mapping[str, Sequence[str]]
    builds: Mapping[str, Build]
    driver: Driver = field(default_factory=Driver)
    card: bool = False
    clashes: Sequence[tuple[str, str]] = ()
    device: str = "auto"

    @property
    def asked(self) -> bool:
        """Whether a GPU was asked for by name."""
        return self.device.startswith("cuda")

    @property
    def number(self) -> int:
        """Which GPU is meant."""
        return int(self.device.partition(":")[2] or 0)

    @property
    def meant(self) -> bool:
        """Whether this machine is meant to compute on a GPU: it has one, or wheels that were chosen for one."""
        chosen = any(self.builds[part].gpu for part in ("faiss", "onnxruntime") if part in self.builds)
        return bool(self.driver.gpus) or self.asked or chosen

    def libraries(self) -> dict[str, dict[int, str]]:
        """NVIDIA's wheels: component -> CUDA major -> wheel, as {"cublas": {12: "nvidia-cublas-cu12"}}."""
        found: dict[str, dict[int, str]] = {}
        for wheel, version in self.wheels.items():
            name = re.fullmatch(r"nvidia-(.+?)(?:-cu(\d\d))?", wheel)
            if name and (name[2] or name[1] in VERSIONED):
                found.setdefault(name[1], {})[int(name[2] or version.partition(".")[0])] = wheel
        return found


def gather(device: str) -> Facts:
    """The facts of this machine and this environment."""
    installed = {_canonical(one.metadata["Name"]): one for one in metadata.distributions() if one.metadata["Name"]}
    records = {name: one.read_text("RECORD") or "" for name, one in installed.items()}
    owners = {module: sorted(name for name in records if _owns(records[name], module)) for module in OWNED}
    known = Facts(
        wheels={name: one.version for name, one in installed.items()},
        owners=owners,
        builds={module: _build(module, owners[module], installed) for module in OWNED if util.find_spec(module)},
        driver=driver(),
        card=_card(),
        device=device,
    )
    pairs = [tuple(wheels.values()) for wheels in known.libraries().values() if len(wheels) == 2]
    clashes = [(one, other) for one, other in pairs if _files(records[one]) & _files(records[other])]
    return Facts(known.wheels, owners, known.builds, known.driver, known.card, clashes, device)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _owns(record: str, module: str) -> bool:
    return f"\n{module}/__init__.py," in "\n" + record


def _files(record: str) -> set[str]:
    """The libraries of a wheel; files such as an empty __init__.py are shared on purpose."""
    return {line.partition(",")[0] for line in record.splitlines() if ".so" in line or ".dll" in line}


def _build(module: str, wheels: Sequence[str], installed: Mapping[str, metadata.Distribution]) -> Build:
    version = installed[wheels[0]].version if wheels else ""
    told = _told(module)
    needs = next((cuda for wheel in wheels if (cuda := _required(installed[wheel].requires or ()))), "")
    if module == "torch":
        return Build(version, gpu=bool(told), cuda=told)
    gpu = bool(told) or any("gpu" in wheel for wheel in wheels)
    return Build(version, gpu=gpu, cuda=(told or needs) if gpu else "")


def _told(module: str) -> str:
    """The version of CUDA that a library's own files name; "" where they name none."""
    file, key = {
        "torch": ("version.py", "cuda"),
        "onnxruntime": ("capi/build_and_package_info.py", "cuda_version"),
    }.get(module, ("", ""))
    spec = util.find_spec(module)
    for folder in (spec.submodule_search_locations or ()) if spec and file else ():
        try:
            text = (Path(folder) / file).read_text(encoding="utf-8")
        except OSError:
            continue
        found = re.search(rf"^{key}\b[^=\n]*=\s*['\"](\d[\d.]*)", text, re.MULTILINE)
        if found:
            return found[1]
    return ""


def _required(requires: Sequence[str]) -> str:
    """The CUDA major of the NVIDIA wheels that a wheel requires, "" for none."""
    for one in requires:
        found = re.match(r"nvidia-[\w-]+-cu(\d\d)\b|nvidia-cuda-runtime\b[^;]*(?:>=|~=|==)\s*(\d+)", one)
        if found:
            return found[1] or found[2]
    return ""


def _card() -> bool:
    return any(vendor == NVIDIA and kind.startswith(DISPLAY) for vendor, kind in _devices())


def _devices() -> Iterator[tuple[str, str]]:
    for folder in PCI.glob("*"):
        try:
            yield (folder / "vendor").read_text().strip(), (folder / "class").read_text().strip()
        except OSError:
            continue
