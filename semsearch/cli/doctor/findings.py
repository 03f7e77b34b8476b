"""Findings of `doctor` from the facts of a machine: GPU, builds of the libraries, CUDA versions (docs/gpu.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from semsearch.cli.doctor.facts import OWNED, Facts
from semsearch.errors import install_command, pip

GPU_EXTRA = install_command("gpu")  # brings FAISS, ONNX Runtime and torch for CUDA 12
UNINSTALL = pip("uninstall -y")
MAJOR = 12  # of that extra
DRIVERS = {11: 450, 12: 525, 13: 580}  # the oldest driver of a CUDA major (NVIDIA, minor version compatibility)
OPTIONAL = ("transformers", "onnx", "onnxscript", "bitsandbytes")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `state` is ok, note (works, but worth knowing) or broken."""

    check: str
    state: str
    detail: str
    fix: str = ""


def gpu(facts: Facts) -> Iterator[Finding]:
    """The GPUs of the driver; without any, why an existing card is not among them."""
    driver, state = facts.driver, facts.severity
    runs = f"driver {driver.version or 'of unknown version'}" + (f" (CUDA {driver.cuda})" if driver.cuda else "")
    if driver.gpus:
        names = ", ".join(name if n == 1 else f"{n} x {name}" for name, n in Counter(driver.gpus).items())
        yield Finding("gpu", "ok", f"{names}, {runs}")
    elif driver.trouble:
        fix = "Restart the machine after a driver update; nvidia-smi has to list the GPU."
        yield Finding("gpu", state, f"{runs} fails: {driver.trouble}", fix)
    elif driver.cuda:
        yield Finding("gpu", state, f"{runs} shows no GPU", "Check CUDA_VISIBLE_DEVICES and nvidia-smi.")
    elif facts.card:
        fix = "Install NVIDIA's driver, or start the container with its GPUs (docker run --gpus all)."
        yield Finding("gpu", state, "there is an NVIDIA card, but its driver is not installed", fix)
    elif facts.gpu_requested:
        yield Finding("gpu", "broken", "none", "Use --device cpu.")
    else:
        yield Finding("gpu", "ok", "none")


def libraries(facts: Facts) -> Iterator[Finding]:
    """FAISS, ONNX Runtime and torch: one wheel each, and a GPU build where a GPU is expected."""
    for module in OWNED:
        wheels = facts.owners.get(module, ())
        listed = ", ".join(f"{wheel} {facts.wheels.get(wheel, '')}".strip() for wheel in wheels)
        if len(wheels) > 1:
            again = f"{UNINSTALL} {' '.join(wheels)} && {install(facts)}"
            yield Finding(module, "broken", f"{listed} own the same module", again)
        elif module in facts.builds:
            yield _build(facts, module, listed or facts.builds[module].version or "of unknown origin")
        elif module == "torch":
            needed = "needed only for training and for models that are not exported to ONNX"
            yield Finding(module, "ok", f"not installed; {needed}")
        else:
            yield Finding(module, "broken", "not installed", install(facts))


def optional(facts: Facts) -> Iterator[Finding]:
    """Packages that only some models and commands need."""
    for name in OPTIONAL:
        yield Finding(name, "ok", facts.wheels.get(name, "not installed"))


def cuda(facts: Facts) -> Iterator[Finding]:
    """The CUDA major versions of the builds and of the driver fit each other."""
    problems = [*_driver(facts), *_majors(facts)]
    majors = majors_of(facts)
    if majors and not problems:
        problems = [Finding("cuda", "ok", f"every GPU build is for CUDA {min(majors.values())}")]
    yield from problems


def majors_of(facts: Facts) -> dict[str, int]:
    """The CUDA major version of each GPU build that names one."""
    majors = {part: build.cuda.partition(".")[0] for part, build in facts.builds.items() if build.gpu}
    return {part: int(major) for part, major in majors.items() if major.isdigit()}


def _build(facts: Facts, module: str, listed: str) -> Finding:
    build = facts.builds[module]
    if build.gpu:
        return Finding(module, "ok", f"{listed}, GPU build" + (f" for CUDA {build.cuda}" if build.cuda else ""))
    missing = facts.gpu_requested and not (facts.driver.present or facts.card)  # a finding of gpu() above
    if missing or not facts.gpu_expected:
        return Finding(module, "ok", f"{listed}, CPU build")
    encoders = [facts.builds[part] for part in ("torch", "onnxruntime") if part in facts.builds]
    state = "note" if module == "faiss" or any(one.gpu for one in encoders) else facts.severity
    why = "there is a GPU" if facts.driver.gpus else "others are GPU builds"
    why = "a GPU was requested" if facts.gpu_requested else why
    wheels = " ".join(facts.owners.get(module, ())) or module
    return Finding(module, state, f"{listed}, CPU build, though {why}", f"{UNINSTALL} {wheels} && {GPU_EXTRA}")


def _driver(facts: Facts) -> Iterator[Finding]:
    """Builds for a CUDA version that the driver cannot run."""
    newest = facts.driver.cuda.partition(".")[0]
    for part, major in majors_of(facts).items():
        if facts.driver.present and newest.isdigit() and major > int(newest):
            runs = f"the driver{f' {facts.driver.version}' if facts.driver.version else ''} runs {facts.driver.cuda}"
            fix = f"Install a driver of {DRIVERS.get(major, max(DRIVERS.values()))} or later"
            wheels = " ".join(facts.owners.get(part, ())) or part
            fix += f", or: {UNINSTALL} {wheels} && {GPU_EXTRA}" if int(newest) >= MAJOR and major > MAJOR else "."
            yield Finding("cuda", facts.severity, f"{part} is for CUDA {major}, {runs}", fix)


def _majors(facts: Facts) -> Iterator[Finding]:
    """Builds for several CUDA major versions."""
    majors = majors_of(facts)
    if len(set(majors.values())) > 1:
        builds = ", ".join(f"{part} for CUDA {major}" for part, major in majors.items())
        others = [part for part, major in majors.items() if major != MAJOR]
        wheels = " ".join(wheel for part in others for wheel in facts.owners.get(part, (part,)))
        detail = f"{builds}: each loads its own libraries, and some of them share a name"
        yield Finding("cuda", "note", detail, f"{UNINSTALL} {wheels} && {GPU_EXTRA}")


def install(facts: Facts) -> str:
    """The command that brings FAISS and ONNX Runtime to this machine."""
    return GPU_EXTRA if facts.gpu_expected else install_command("cpu")
