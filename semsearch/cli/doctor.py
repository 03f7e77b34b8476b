"""`doctor`: what this installation is made of, what really runs, and what is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from semsearch import __version__, settings
from semsearch.cli import show
from semsearch.cli.common import DeviceOption, JsonFlag, ModelOption, Options, end_with, loaded
from semsearch.errors import SemsearchError

LITTLE_SPACE = 1 << 30  # bytes: an index of a hundred thousand passages and its rebuild
OWNED = ("faiss", "onnxruntime")  # modules that several wheels install over one another
ALIKE = ("A man is eating food.", "A man eats something.", "The engine does not start.")  # the first two are
BATCH_TOLERANCE = 1e-3  # fp32 sums in another order on a GPU; on a CPU the difference is 0
PARTS = ("numpy", "tokenizers", "sqlite-utils", "typer", "rich")
Check = Callable[[Options, str | None, str | None], Iterator["Finding"]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `state`: ok, note (works, but worth knowing) or broken."""

    check: str
    state: str
    detail: str
    fix: str = ""


def doctor(
    ctx: typer.Context, model: ModelOption = None, device: DeviceOption = None, as_json: JsonFlag = False
) -> None:
    """Check this installation. Exit 1 if something is broken.

    Versions, wheels that overwrite each other, backends, the encoder and what runs it, the disk.
    """
    found = [finding for check in CHECKS for finding in _tried(check, ctx.obj, model, device)]
    broken = [finding for finding in found if finding.state == "broken"]
    failed = SemsearchError(f"{show.count(len(broken), 'thing')} broken.", broken[0].fix) if broken else None
    if as_json:
        done = {"schema": 1, "ok": not broken, "checks": [asdict(finding) for finding in found]}
        show.emit({**done, "error": show.error_object(failed)} if failed else done)
    else:
        show.table([[f.state, f.check, f.detail + (f" -> {f.fix}" if f.fix else "")] for f in found])
    if failed:
        end_with(failed)


def _tried(check: Check, options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    """A check's findings; one that breaks down is a finding too."""
    name = check.__name__.strip("_")
    try:
        yield from check(options, model, device)
    except SemsearchError as error:
        yield Finding(name, "broken", error.message, error.fix)
    except Exception as error:  # whatever it is, the other checks are wanted
        yield Finding(
            name, "broken", f"{type(error).__name__}: {error}", "Install semsearch anew in a fresh environment."
        )


def _versions(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    import platform
    from importlib import metadata

    yield Finding("semsearch", "ok", f"{__version__} at {Path(__file__).parents[1]}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for part in PARTS:
        yield Finding(part, "ok", metadata.version(part))


def _sqlite(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    """SQLite with full-text search, and the trigram tokenizer that finds CJK words (3.34 and later)."""
    import sqlite3

    memory = sqlite3.connect(":memory:")
    for wanted in ("porter unicode61", "trigram"):
        try:
            memory.execute(f"CREATE VIRTUAL TABLE \"{wanted}\" USING fts5(text, tokenize='{wanted}')")
        except sqlite3.OperationalError as error:
            yield Finding(
                "sqlite", "broken", f"{sqlite3.sqlite_version}: {error}", "Use a Python with SQLite 3.34 or later."
            )
            return
    yield Finding("sqlite", "ok", f"{sqlite3.sqlite_version} with FTS5 and trigram")


def _wheels(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    """Exactly one wheel may own a module: a second one overwrites half of the first."""
    from importlib import metadata

    owners = metadata.packages_distributions()
    for module in OWNED:
        wheels = sorted(set(owners.get(module, ())))
        listed = ", ".join(f"{wheel} {metadata.version(wheel)}" for wheel in wheels)
        if not wheels:
            yield Finding(module, "broken", "not installed", "pip install 'semsearch[cpu]'")
        elif len(wheels) > 1:
            again = f"pip uninstall {' '.join(wheels)}, then pip install 'semsearch[cpu]' or 'semsearch[gpu]'"
            yield Finding(module, "broken", f"{listed} own the same module", again)
        else:
            yield Finding(module, "ok", listed)


def _vector_search(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    """A vector finds itself through every backend."""
    import numpy as np

    from semsearch import backends, plugins

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(64, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = np.arange(1, 65, dtype=np.int64)
    for name in plugins.names(backends):
        built = plugins.load(backends, name).Backend.build(32, lambda: iter([(ids, vectors)]), count=64)
        found, _ = built.search(vectors[:8], 1)
        itself = found[:, 0].tolist() == ids[:8].tolist()
        fix = "" if itself else "Install faiss-cpu anew."
        yield Finding(
            f"backend {name}", "ok" if itself else "broken", "a vector finds itself" if itself else "wrong answers", fix
        )


def _encoder(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    """The encoder loads (weights are checked by their sha256), runs where it says, and its vectors mean something."""
    import numpy as np

    encoder = loaded(options, model, device)
    known: Mapping[str, Any] = encoder.info
    ran = known.get("provider") or known.get("device")
    yield Finding("encoder", "ok", f"{encoder.name} ({encoder.fingerprint[:12]}), width {encoder.dim}, runs on {ran}")
    vectors = encoder.encode(ALIKE)
    alone = np.stack([encoder.encode(text) for text in ALIKE])
    off = float(np.abs(vectors - alone).max())
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4):
        yield Finding("vectors", "broken", "they do not have length 1", "Install the model anew.")
    elif off > BATCH_TOLERANCE:
        yield Finding("vectors", "broken", f"they depend on the batch: off by {off:.1e}", "Use --device cpu.")
    elif vectors[0] @ vectors[1] <= vectors[0] @ vectors[2]:
        yield Finding("vectors", "broken", "what is alike is not closer than what is not", "Install the model anew.")
    else:
        yield Finding("vectors", "ok", "length 1, the same in any batch, alike where meaning is")


def _folders(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    import shutil

    for name, folder in (("home", options.folder()), ("embedding cache", settings.cache_file().parent)):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        detail = f"{folder}, {show.size(free)} free"
        if not _writable(there):
            yield Finding(name, "broken", f"{detail}, cannot be written to", "Say --home DIR, or change its rights.")
        elif free < LITTLE_SPACE:
            yield Finding(name, "note", detail, "Make room: a full disk stops an index from growing.")
        else:
            yield Finding(name, "ok", detail)


def _indexes(options: Options, model: str | None, device: str | None) -> Iterator[Finding]:
    names = settings.names(options.folder())
    yield Finding(
        "indexes", "ok", f"{len(names)} in {options.folder()}" + (f": {', '.join(names[:10])}" if names else "")
    )


def _writable(folder: Path) -> bool:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS: tuple[Check, ...] = (_versions, _sqlite, _wheels, _vector_search, _encoder, _folders, _indexes)
