"""`doctor` on simulated machines: what fits, what does not, and the command that mends it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.cli.doctor import doctor_command, facts, findings
from semsearch.cli.doctor.facts import Build, Facts
from semsearch.cli.doctor.findings import Finding
from semsearch.encoders.device import Driver
from semsearch.errors import install_command, pip

H200 = Driver(("NVIDIA H200",), "550.54.15", "12.4")

LAPTOP = Facts(
    wheels={"faiss-cpu": "1.15.1", "onnxruntime": "1.31.1"},
    owners={"faiss": ["faiss-cpu"], "onnxruntime": ["onnxruntime"], "torch": []},
    builds={"faiss": Build("1.15.1"), "onnxruntime": Build("1.31.1")},
)
WORKSTATION = Facts(
    wheels={
        "faiss-gpu": "1.15.1",
        "onnxruntime-gpu": "1.26.0",
        "torch": "2.10.0",
        "nvidia-cublas-cu12": "12.8.4.1",
        "nvidia-cudnn-cu12": "9.10.2.21",
        "nvidia-curand-cu12": "10.3.9.90",
    },
    owners={"faiss": ["faiss-gpu"], "onnxruntime": ["onnxruntime-gpu"], "torch": ["torch"]},
    builds={
        "faiss": Build("1.15.1", True, "12"),
        "onnxruntime": Build("1.26.0", True, "12.8"),
        "torch": Build("2.10.0", True, "12.8"),
    },
    driver=H200,
)


def told(machine: Facts) -> list[Finding]:
    about = (findings.gpu, findings.libraries, findings.optional, findings.cuda)
    return [finding for one in about for finding in one(machine)]


def of(machine: Facts, check: str) -> Finding:
    """The one finding of that name that is not ok, or the ok one where all are."""
    named = [finding for finding in told(machine) if finding.check == check]
    return ([finding for finding in named if finding.state != "ok"] or named)[0]


def states(machine: Facts) -> dict[str, str]:
    """Everything that is not ok."""
    return {finding.check: finding.state for finding in told(machine) if finding.state != "ok"}


def test_a_laptop_without_a_gpu_is_sound() -> None:
    assert states(LAPTOP) == {}
    assert of(LAPTOP, "gpu").detail == "none"
    assert "CPU build" in of(LAPTOP, "faiss").detail
    assert "not installed" in of(LAPTOP, "torch").detail


def test_torch_for_cuda_on_a_laptop_is_no_fault() -> None:
    """PyPI's torch on Linux is a CUDA build, GPU or not."""
    builds = {**LAPTOP.builds, "torch": Build("2.15.0", True, "13.2")}
    owners = {**LAPTOP.owners, "torch": ["torch"]}
    machine = replace(LAPTOP, builds=builds, owners=owners, wheels={**LAPTOP.wheels, "torch": "2.15.0"})
    assert states(machine) == {}
    assert "torch 2.15.0, GPU build for CUDA 13.2" in of(machine, "torch").detail


def test_a_gpu_machine_with_matching_wheels_is_sound() -> None:
    assert states(WORKSTATION) == {}
    assert of(WORKSTATION, "gpu").detail == "NVIDIA H200, driver 550.54.15 (CUDA 12.4)"
    assert of(WORKSTATION, "cuda").detail == "every GPU build is for CUDA 12"
    assert of(replace(WORKSTATION, driver=replace(H200, gpus=("A", "B", "B"))), "gpu").detail.startswith("A, 2 x B,")


def test_cpu_wheels_on_a_gpu_machine_are_told_with_the_command() -> None:
    machine = replace(LAPTOP, driver=H200)
    assert states(machine) == {"faiss": "note", "onnxruntime": "note"}
    assert of(machine, "onnxruntime").fix == f"{pip('uninstall -y')} onnxruntime && {install_command('gpu')}"
    assert of(machine, "faiss").fix == f"{pip('uninstall -y')} faiss-cpu && {install_command('gpu')}"


def test_cpu_wheels_are_broken_where_cuda_was_asked_for() -> None:
    machine = replace(LAPTOP, driver=H200, device="cuda:0")
    assert states(machine) == {"faiss": "note", "onnxruntime": "broken"}
    enough = {**machine.builds, "torch": Build("2.10.0", True, "12.8")}  # torch can run the encoder
    assert states(replace(machine, builds=enough))["onnxruntime"] == "note"


def test_one_cpu_build_among_gpu_builds_is_told() -> None:
    builds = {**WORKSTATION.builds, "torch": Build("2.13.0+cpu")}
    assert states(replace(WORKSTATION, builds=builds)) == {"torch": "note"}
    assert states(replace(WORKSTATION, builds=builds, driver=Driver())) == {"torch": "note"}


def test_asking_for_cuda_without_a_gpu_is_broken_and_sells_no_wheels() -> None:
    assert states(replace(LAPTOP, device="cuda")) == {"gpu": "broken"}


@pytest.mark.parametrize(
    ("driver", "card", "said", "fix"),
    [
        (Driver(), True, "its driver is not installed", "Install NVIDIA's driver"),
        (Driver(version="550.54", cuda="12.4"), True, "shows no GPU", "CUDA_VISIBLE_DEVICES"),
        (Driver((), "550.54", "12.4", "CUDA error 803"), True, "CUDA error 803", "nvidia-smi"),
    ],
)
def test_a_card_that_cannot_be_used_is_told(driver: Driver, card: bool, said: str, fix: str) -> None:
    machine = replace(LAPTOP, driver=driver, card=card)
    assert states(machine)["gpu"] == "note"
    assert said in of(machine, "gpu").detail
    assert fix in of(machine, "gpu").fix
    assert states(replace(machine, device="cuda"))["gpu"] == "broken"


@pytest.mark.parametrize(
    ("module", "wheels"),
    [("faiss", ["faiss-cpu", "faiss-gpu-cu12"]), ("onnxruntime", ["onnxruntime", "onnxruntime-gpu"])],
)
@pytest.mark.parametrize(("driver", "extra"), [(H200, "gpu"), (Driver(), "cpu")])
def test_two_wheels_of_one_module_are_broken(module: str, wheels: Sequence[str], driver: Driver, extra: str) -> None:
    machine = replace(LAPTOP, owners={**LAPTOP.owners, module: wheels}, driver=driver)
    found = of(machine, module)
    assert found.state == "broken"
    assert all(wheel in found.detail for wheel in wheels)
    assert found.fix == f"{pip('uninstall -y')} {' '.join(wheels)} && {install_command(extra)}"


def test_what_is_missing_is_broken() -> None:
    assert states(Facts({}, {}, {})) == {"faiss": "broken", "onnxruntime": "broken"}
    assert of(Facts({}, {}, {}), "faiss").fix == install_command("cpu")
    assert of(Facts({}, {}, {}, driver=H200), "faiss").fix == install_command("gpu")


def mixed() -> Facts:
    """torch for CUDA 13 beside ONNX Runtime and FAISS for CUDA 12."""
    wheels = {**WORKSTATION.wheels, "torch": "2.15.0", "nvidia-cublas": "13.2.1", "nvidia-cudnn-cu13": "9.26.0.51"}
    builds = {**WORKSTATION.builds, "torch": Build("2.15.0", True, "13.2")}
    return replace(WORKSTATION, wheels=wheels, builds=builds, driver=Driver(("NVIDIA H200",), "580.65", "13.0"))


def test_builds_for_two_majors_are_told_with_the_command() -> None:
    found = of(mixed(), "cuda")
    assert found.state == "note"
    assert "torch for CUDA 13" in found.detail
    assert "onnxruntime for CUDA 12" in found.detail
    assert found.fix == f"{pip('uninstall -y')} torch && {install_command('gpu')}"


def test_a_driver_that_is_too_old_is_told_with_both_ways_out() -> None:
    machine = replace(mixed(), driver=H200)
    [old] = [finding for finding in told(machine) if "the driver" in finding.detail]
    assert (old.check, old.state) == ("cuda", "note")
    assert "torch is for CUDA 13, the driver 550.54.15 runs 12.4" in old.detail
    assert "580 or later" in old.fix
    assert f"{pip('uninstall -y')} torch && {install_command('gpu')}" in old.fix
    older = replace(WORKSTATION, driver=Driver(("Tesla K80",), "470.1", "11.4"), device="cuda")
    assert states(older) == {"cuda": "broken"}
    assert of(older, "cuda").fix == "Install a driver of 525 or later."


# ---- how the facts are read


def installed(folder: Path, wheel: str, version: str, requires: Sequence[str] = (), files: Sequence[str] = ()) -> None:
    """A wheel as pip leaves it: its metadata, its list of files, and empty files."""
    info = folder / f"{wheel.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {wheel}\nVersion: {version}\n{needs}")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty site-packages that is the only one."""
    folder = tmp_path / "site"
    folder.mkdir()
    standard = [path for path in sys.path if "site-packages" not in path and Path(path) != Path(__file__).parents[2]]
    monkeypatch.setattr(sys, "path", [str(folder), *standard])
    for module in facts.OWNED:
        for name in [name for name in sys.modules if name == module]:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(facts, "driver", lambda: H200)
    monkeypatch.setattr(facts, "PCI", tmp_path / "pci")
    return folder


def test_builds_are_read_from_files(site: Path) -> None:
    installed(site, "torch", "2.15.0", files=["torch/__init__.py", "torch/version.py"])
    (site / "torch/version.py").write_text("from typing import Optional\ncuda: Optional[str] = '13.2'\n")
    (site / "torch/__init__.py").write_text("raise RuntimeError('torch was imported')\n")
    info = "onnxruntime/capi/build_and_package_info.py"
    installed(site, "onnxruntime-gpu", "1.26.0", files=["onnxruntime/__init__.py", info])
    (site / info).write_text("package_name = 'onnxruntime-gpu'\n__version__ = '1.26.0'\ncuda_version = '12.8'\n")
    needs = ["numpy>=1.25", "nvidia-cuda-runtime<14,>=13.2", "libcuvs-cu13==26.06.*"]
    installed(site, "faiss_gpu_cuvs", "1.15.1", needs, ["faiss/__init__.py"])
    found = facts.gather("auto")
    assert found.builds == {
        "torch": Build("2.15.0", True, "13.2"),
        "onnxruntime": Build("1.26.0", True, "12.8"),
        "faiss": Build("1.15.1", True, "13"),
    }
    assert found.owners["faiss"] == ["faiss-gpu-cuvs"]


def test_cpu_builds_are_read_from_files(site: Path) -> None:
    installed(site, "torch", "2.13.0+cpu", files=["torch/__init__.py", "torch/version.py"])
    (site / "torch/version.py").write_text("cuda: Optional[str] = None\nhip: Optional[str] = None\n")
    installed(site, "faiss-cpu", "1.15.1", ["numpy"], ["faiss/__init__.py"])
    assert facts.gather("auto").builds == {"torch": Build("2.13.0+cpu"), "faiss": Build("1.15.1")}


def test_two_wheels_of_one_module_are_found(site: Path) -> None:
    installed(site, "faiss-cpu", "1.15.1", [], ["faiss/__init__.py"])
    installed(site, "faiss-gpu-cu12", "1.14.1.post1", ["nvidia-cuda-runtime-cu12>=12.1"], ["faiss/__init__.py"])
    found = facts.gather("auto")
    assert found.owners["faiss"] == ["faiss-cpu", "faiss-gpu-cu12"]
    assert states(found)["faiss"] == "broken"


def test_a_card_is_found_without_a_driver(site: Path, tmp_path: Path) -> None:
    for name, vendor, kind in (("a", "0x8086", "0x030000"), ("b", "0x10de", "0x040300")):
        (tmp_path / "pci" / name).mkdir(parents=True)
        (tmp_path / "pci" / name / "vendor").write_text(vendor + "\n")
        (tmp_path / "pci" / name / "class").write_text(kind + "\n")
    assert not facts.gather("auto").card  # a display of Intel's, a sound device of NVIDIA's
    (tmp_path / "pci" / "b" / "class").write_text("0x030200\n")
    assert facts.gather("auto").card


# ---- the command


def test_the_report_keeps_its_shape(cli: CommandLine) -> None:
    shown = cli.ok("doctor", "--json").json
    assert (shown["schema"], shown["ok"]) == (1, True)
    assert all(set(check) == {"check", "state", "detail", "fix"} for check in shown["checks"])
    known = {check["check"]: check["detail"] for check in shown["checks"]}
    assert {"gpu", "faiss", "onnxruntime", "torch", "transformers", "bitsandbytes", "providers"} <= set(known)
    assert metadata.version("faiss-cpu") in known["faiss"]
    assert "CPUExecutionProvider" in known["providers"]


def test_the_command_ends_with_1_and_the_first_fix(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = facts.gather("auto")
    owners = {**real.owners, "onnxruntime": ["onnxruntime", "onnxruntime-gpu"]}
    monkeypatch.setattr(doctor_command, "gather", lambda device: replace(real, owners=owners))
    ran = cli("doctor", "--json")
    assert ran.code == ran.json["error"]["code"] == 1
    [broken] = [check for check in ran.json["checks"] if check["state"] == "broken"]
    assert broken["check"] == "onnxruntime"
    assert f"{pip('uninstall -y')} onnxruntime onnxruntime-gpu" in broken["fix"] + ran.err


def test_a_device_that_is_absent_is_found(cli: CommandLine) -> None:
    if facts.gather("auto").driver.present:
        pytest.skip("this machine has a GPU")
    ran = cli("doctor", "--device", "cuda", "-m", "default", "--json")
    assert ran.code == 1
    broken = {check["check"] for check in ran.json["checks"] if check["state"] == "broken"}
    assert broken == {"gpu", "encoder"}


def test_torch_is_tried_only_where_it_should_run_on_a_gpu(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch.encoders import device as _device
    from semsearch.vector_index.backends import _gpu

    monkeypatch.setattr(_device, "torch_facts", lambda device: ("91002", ""))
    monkeypatch.setattr(_gpu, "trouble", lambda number: "Failed to cudaMalloc 64 bytes")
    monkeypatch.setattr(doctor_command, "gather", lambda device: replace(WORKSTATION, device=device))
    shown = {check["check"]: check for check in cli.ok("doctor", "--json").json["checks"]}
    assert shown["torch gpu"]["detail"] == "works, cuDNN 91002"
    assert (shown["faiss gpu"]["state"], shown["faiss gpu"]["detail"]) == ("note", "Failed to cudaMalloc 64 bytes")
    monkeypatch.setattr(_device, "torch_facts", lambda device: ("", "no kernel image"))
    assert cli("doctor", "--device", "cuda", "--json").code == 1
    monkeypatch.setattr(doctor_command, "gather", lambda device: LAPTOP)
    assert "torch gpu" not in {check["check"] for check in cli.ok("doctor", "--json").json["checks"]}


def test_an_encoder_that_leaves_the_gpu_idle_is_told() -> None:
    class Ran:
        name, fingerprint, dim = "small", "0123456789abcdef", 384

        def __init__(self, precision: str, device: str) -> None:
            self.info = {"precision": precision, "device": device, "provider": "CPUExecutionProvider"}

    idle = doctor_command._ran(WORKSTATION, Ran("fp32", "cpu"))  # type: ignore[arg-type]
    assert (idle.state, idle.fix) == ("note", "For the reason: semsearch doctor --device cuda")
    assert doctor_command._ran(WORKSTATION, Ran("int8", "cpu")).state == "ok"  # type: ignore[arg-type]
    assert doctor_command._ran(WORKSTATION, Ran("fp32", "cuda:0")).state == "ok"  # type: ignore[arg-type]
    assert doctor_command._ran(LAPTOP, Ran("fp32", "cpu")).state == "ok"  # type: ignore[arg-type]


def test_doctor_does_not_import_torch_without_a_gpu(tmp_path: Path) -> None:
    if facts.gather("auto").driver.present:
        pytest.skip("this machine has a GPU")
    script = "import sys; from semsearch.cli.main import main; main(['doctor']); sys.exit('torch' in sys.modules)"
    places = {"SEMSEARCH_HOME": str(tmp_path), "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    ran = subprocess.run([sys.executable, "-c", script], env={**os.environ, **places}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_missing_engine_has_one_remedy_in_every_line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in ("faiss", "onnxruntime") else find(name)
    )
    checks = cli("doctor", "-m", "default", "--json").json["checks"]
    broken = {each["check"]: each["fix"] for each in checks if each["state"] == "broken"}
    assert {"faiss", "onnxruntime", "providers", "vector_search", "encoder"} <= set(broken)
    assert set(broken.values()) == {install_command("cpu")}
