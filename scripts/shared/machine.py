"""What a published figure has to name, under the names that the scripts beside this one import."""

from pathlib import Path

from semsearch.evaluation.environment import caption, describe

__all__ = ["arithmetic", "caption", "describe"]
VNNI = ("avx512_vnni", "avx_vnni", "amx_int8")  # what multiplies bytes in one step, as Linux calls it


def arithmetic() -> str:
    """The kind of this processor as far as 8-bit arithmetic goes; "" where the system does not tell."""
    file = Path("/proc/cpuinfo")
    flags = set(file.read_text(encoding="utf-8").split()) if file.is_file() else set()
    found = [flag for flag in VNNI if flag in flags]
    return f"with {', '.join(found)}" if found else "without VNNI" if flags else ""
