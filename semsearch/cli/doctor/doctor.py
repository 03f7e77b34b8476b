"""`doctor`: what this installation is made of, what really runs, and what is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from semsearch import __version__, settings
from semsearch.cli.doctor import findings
from semsearch.cli.doctor.facts import Facts, gather
from semsearch.cli.doctor.findings import Finding
from semsearch.cli.lookup import load_encoder, use_device
from semsearch.cli.options import DeviceOption, JsonFlag, ModelOption, Options
from semsearch.cli.output import console
from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder

LITTLE_SPACE = 1 << 30  # bytes: an index of a hundred thousand passages and its rebuild
ALIKE = ("A man is eating food.", "A man eats something.", "The engine does not start.")  # the first two are
BATCH_TOLERANCE = 1e-3  # fp32 sums in another order on a GPU; on a CPU the difference is 0
PARTS = ("numpy", "tokenizers", "sqlite-utils", "typer", "rich")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line gave, and the facts of the machine."""

    options: Options
    model: str | None
    facts: Facts


Check = Callable[[Asked], Iterator[Finding]]


def doctor(
    ctx: typer.Context, model: ModelOption = None, device: DeviceOption = None, as_json: JsonFlag = False
) -> None:
    """Check this installation. Exit 1 if something is broken.

    Versions, wheels that overwrite each other, backends, the encoder and what runs it, the disk.
    """
    use_device(device)
    asked = Asked(ctx.obj, model, gather(settings.load().device))
    found = [finding for check in CHECKS for finding in _tried(check, asked)]
    broken = [finding for finding in found if finding.state == "broken"]
    failed = SemsearchError(f"{console.count(len(broken), 'thing')} broken.", broken[0].fix) if broken else None
    if as_json:
        done = {"schema": 1, "ok": not broken, "checks": [asdict(finding) for finding in found]}
        console.emit({**done, "error": console.error_object(failed)} if failed else done)
    else:
        console.table([[f.state, f.check, f.detail + (f" -> {f.fix}" if f.fix else "")] for f in found])
    if failed:
        console.exit_with(failed)


def _tried(check: Check, asked: Asked) -> Iterator[Finding]:
    """A check's findings; one that breaks down is a finding too."""
    name = check.__name__.strip("_")
    try:
        yield from check(asked)
    except SemsearchError as error:
        yield Finding(name, "broken", error.message, error.fix)
    except Exception as error:  # whatever it is, the other checks are wanted
        yield Finding(
            name, "broken", f"{type(error).__name__}: {error}", "Install semsearch anew in a fresh environment."
        )


def _versions(asked: Asked) -> Iterator[Finding]:
    import platform
    from importlib import metadata

    yield Finding("semsearch", "ok", f"{__version__} at {Path(__file__).parents[3]}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for part in PARTS:
        yield Finding(part, "ok", metadata.version(part))


def _sqlite(asked: Asked) -> Iterator[Finding]:
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


def _machine(asked: Asked) -> Iterator[Finding]:
    for about in (findings.gpu, findings.libraries, findings.optional, findings.cuda):
        yield from about(asked.facts)


def _providers(asked: Asked) -> Iterator[Finding]:
    from semsearch.encoders import onnx as onnx_encoder

    yield Finding("providers", "ok", f"ONNX Runtime offers {', '.join(onnx_encoder.available())}")


def _on_gpu(asked: Asked) -> Iterator[Finding]:
    """Torch and FAISS compute on the GPU. Tried (torch takes 2 s to import) only where GPU build and GPU are there."""
    facts = asked.facts
    if facts.device == "cpu" or not (facts.driver.present or facts.asked):
        return
    if "torch" in facts.builds and facts.builds["torch"].gpu:
        from semsearch.encoders import device as _device

        yield _computes(facts, "torch gpu", *_device.torch_facts(facts.device))
    if "faiss" in facts.builds and facts.builds["faiss"].gpu:
        from semsearch.vector_index.backends import _gpu

        yield _computes(facts, "faiss gpu", "", _gpu.trouble(facts.number))


def _computes(facts: Facts, check: str, cudnn: str, trouble: str) -> Finding:
    if trouble:
        fix = "See the lines `gpu` and `cuda`, or use --device cpu."
        return Finding(check, "broken" if facts.asked and check == "torch gpu" else "note", trouble, fix)
    return Finding(check, "ok", "it computes" + (f", cuDNN {cudnn}" if cudnn else ""))


def _vector_search(asked: Asked) -> Iterator[Finding]:
    """A vector finds itself through every backend."""
    import numpy as np

    from semsearch.utils import plugins
    from semsearch.vector_index import backends

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(64, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = np.arange(1, 65, dtype=np.int64)
    for name in plugins.names(backends):
        built = plugins.load(backends, name).Backend.build(32, lambda: iter([(ids, vectors)]), count=64)
        found, _ = built.search(vectors[:8], 1)
        itself = found[:, 0].tolist() == ids[:8].tolist()
        fix = "" if itself else "Install FAISS anew."
        said = f"a vector finds itself on {getattr(built, 'device', 'cpu')}" if itself else "wrong answers"
        yield Finding(f"backend {name}", "ok" if itself else "broken", said, fix)


def _encoder(asked: Asked) -> Iterator[Finding]:
    """The encoder loads (weights are checked by their sha256), runs where it says, and its vectors mean something."""
    import numpy as np

    encoder = load_encoder(asked.options, asked.model, asked.facts.device)
    yield _ran(asked.facts, encoder)
    vectors = encoder.encode(ALIKE)
    alone = np.stack([encoder.encode(text) for text in ALIKE])
    off = float(np.abs(vectors - alone).max())
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4):
        yield Finding("vectors", "broken", "they do not have length 1", "Install the model anew.")
    elif off > BATCH_TOLERANCE:
        yield Finding("vectors", "broken", f"they depend on the batch: off by {off:.1e}", "Use --device cpu.")
    elif vectors[0] @ vectors[1] <= vectors[0] @ vectors[2]:
        state, fix = "broken", "Install the model anew."
        if "#" in encoder.reference:
            state, fix = "note", "Choose another template, or a model that was tuned for this one."
        yield Finding("vectors", state, "what is alike is not closer than what is not", fix)
    else:
        yield Finding("vectors", "ok", "length 1, the same in any batch, alike where meaning is")


def _ran(facts: Facts, encoder: Encoder) -> Finding:
    """What really runs the encoder, and why that is no GPU where one is."""
    known: Mapping[str, Any] = encoder.info
    ran = known.get("device", "cpu")
    said = f"{encoder.name} ({encoder.fingerprint[:12]}), width {encoder.dim}, runs on {ran}"
    said += f" by {known['provider']}" if known.get("provider") else ""
    if not facts.driver.gpus or ran != "cpu" or facts.device == "cpu":
        return Finding("encoder", "ok", said)
    if known.get("precision") == "int8":
        return Finding("encoder", "ok", f"{said}, as int8 always does; an fp32 model takes the GPU")
    return Finding(
        "encoder", "note", f"{said}, though a GPU is there", "For the reason: semsearch doctor --device cuda"
    )


def _folders(asked: Asked) -> Iterator[Finding]:
    import shutil

    for name, folder in (("home", asked.options.folder()), ("embedding cache", settings.cache_file().parent)):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        detail = f"{folder}, {console.size(free)} free"
        if not _writable(there):
            yield Finding(name, "broken", f"{detail}, cannot be written to", "Say --home DIR, or change its rights.")
        elif free < LITTLE_SPACE:
            yield Finding(name, "note", detail, "Make room: a full disk stops an index from growing.")
        else:
            yield Finding(name, "ok", detail)


def _indexes(asked: Asked) -> Iterator[Finding]:
    names = settings.names(asked.options.folder())
    yield Finding(
        "indexes", "ok", f"{len(names)} in {asked.options.folder()}" + (f": {', '.join(names[:10])}" if names else "")
    )


def _writable(folder: Path) -> bool:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS: tuple[Check, ...] = (
    _versions,
    _sqlite,
    _machine,
    _providers,
    _on_gpu,
    _vector_search,
    _encoder,
    _folders,
    _indexes,
)
