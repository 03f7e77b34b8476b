"""Description of the machine behind a measurement: processor, cores, memory, system, and library versions."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "faiss-cpu", "torch", "transformers", "sentence-transformers")
CAPTION = "{processor}, {cores} cores, {memory}; {system}; {libraries}"


def describe() -> dict[str, str]:
    """This machine, in words for a table's caption."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1),
        "memory": f"{int(_field('/proc/meminfo', 'MemTotal').removesuffix('kB') or 0) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "libraries": ", ".join(f"{name} {installed}" for name in LIBRARIES if (installed := version(name))),
    }


def caption() -> str:
    """This machine, on one line."""
    return CAPTION.format(**describe())


def version(name: str) -> str:
    """The version of an installed package; "" if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _field(file: str, name: str) -> str:
    lines = Path(file).read_text(encoding="utf-8").splitlines() if Path(file).is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
