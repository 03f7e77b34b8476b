"""`doctor`: the parts of this installation, what really runs, and what is broken."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import typer

import semsearch
from semsearch import __version__, settings
from semsearch.cli.doctor import findings
from semsearch.cli.doctor.facts import Facts, gather
from semsearch.cli.doctor.findings import Finding
from semsearch.cli.lookup import load_encoder, use_device
from semsearch.cli.options import DeviceOption, EncoderOptions, JsonFlag, ModelOption, Options
from semsearch.cli.output import console
from semsearch.encoders import device as _device
from semsearch.errors import SemsearchError
from semsearch.stores import drivers
from semsearch.utils import plugins

MIN_FREE_BYTES = 1 << 30  # an index of a hundred thousand passages, and its rebuild
SENTENCES = ("A man is eating food.", "A man eats something.", "The engine does not start.")  # the first two agree
BATCH_TOLERANCE = 1e-3  # fp32 sums in another order on a GPU; on a CPU the difference is 0
PARTS = ("numpy", "tokenizers", "sqlite-utils", "typer", "rich")


@dataclass(frozen=True, slots=True)
class Context:
    """The command line, and the facts of the machine."""

    options: Options
    model: str | None
    facts: Facts


Check = Callable[[Context], Iterator[Finding]]


def doctor(
    ctx: typer.Context, model: ModelOption = None, device: DeviceOption = None, as_json: JsonFlag = False
) -> None:
    """Check this installation. Exit 1 if something is broken.

    Versions, conflicting wheels, GPU and CUDA, vector search, the encoder and its device, disk space.
    """
    use_device(device)
    context = Context(ctx.obj, model, gather(settings.load().device))
    found = [finding for check in CHECKS for finding in _run(check, context)]
    broken = [finding for finding in found if finding.state == "broken"]
    failed = SemsearchError(f"{console.count(len(broken), 'thing')} broken.", broken[0].fix) if broken else None
    rows = [[f.state, f.check, f.detail + (f" -> {f.fix}" if f.fix else "")] for f in found]
    shown = {"ok": not broken, "checks": [asdict(finding) for finding in found]}
    console.result(shown, lambda: console.table(rows), as_json=as_json, failed=failed)


def _run(check: Check, context: Context) -> Iterator[Finding]:
    """The findings of a check; its failure is a finding too."""
    name = check.__name__.strip("_")
    try:
        yield from check(context)
    except SemsearchError as error:
        yield Finding(name, "broken", error.message, error.fix)
    except Exception as error:  # the other checks still run
        yield Finding(name, "broken", f"{type(error).__name__}: {error}", "Reinstall semsearch in a new environment.")


def _versions(context: Context) -> Iterator[Finding]:
    yield Finding("semsearch", "ok", f"{__version__} at {Path(__file__).parents[3]}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for part in PARTS:
        yield Finding(part, "ok", metadata.version(part))


def _sqlite(context: Context) -> Iterator[Finding]:
    """The database of the store, with full-text search."""
    yield Finding("sqlite", "ok", drivers.load().check_installation())


def _machine(context: Context) -> Iterator[Finding]:
    for about in (findings.gpu, findings.libraries, findings.optional, findings.cuda):
        yield from about(context.facts)


def _providers(context: Context) -> Iterator[Finding]:
    from semsearch.encoders import onnx as onnx_encoder

    yield Finding("providers", "ok", f"ONNX Runtime has {', '.join(onnx_encoder.available())}")


def _on_gpu(context: Context) -> Iterator[Finding]:
    """Torch and FAISS compute on the GPU. Tried only with a GPU build and a GPU, since importing torch takes 2 s."""
    facts, fix = context.facts, "See the findings gpu and cuda, or use --device cpu."
    if facts.device == "cpu" or not (facts.driver.present or facts.gpu_requested):
        return
    gpu_builds = {part for part, build in facts.builds.items() if build.gpu}
    if "torch" in gpu_builds:
        cudnn, trouble = _device.torch_facts(facts.device)
        works = Finding("torch gpu", "ok", "works" + (f", cuDNN {cudnn}" if cudnn else ""))
        yield Finding("torch gpu", facts.severity, trouble, fix) if trouble else works
    if "faiss" in gpu_builds:
        from semsearch.vector_index.backends import _gpu

        trouble = _gpu.trouble(facts.number)
        yield Finding("faiss gpu", "note", trouble, fix) if trouble else Finding("faiss gpu", "ok", "works")


def _vector_search(context: Context) -> Iterator[Finding]:
    """A vector finds itself through every backend."""
    import numpy as np

    from semsearch.vector_index import backends

    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(64, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = np.arange(1, 65, dtype=np.int64)
    for name in plugins.names(backends):
        built = plugins.load(backends, name).Backend.build(32, lambda: iter([(ids, vectors)]), count=64)
        if np.array_equal(built.search(vectors[:8], 1)[0][:, 0], ids[:8]):
            yield Finding(f"backend {name}", "ok", f"a vector finds itself on {getattr(built, 'device', 'cpu')}")
        else:
            yield Finding(f"backend {name}", "broken", "wrong answers", "Reinstall FAISS.")


def _encoder(context: Context) -> Iterator[Finding]:
    """The encoder loads, with weights of the right sha256, runs on its device, and its vectors are meaningful."""
    import numpy as np

    encoder = load_encoder(context.options, context.model, EncoderOptions(device=context.facts.device))
    yield _ran(context.facts, encoder)
    vectors = encoder.encode(SENTENCES)
    alone = np.stack([encoder.encode(text) for text in SENTENCES])
    off = float(np.abs(vectors - alone).max())
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4):
        yield Finding("vectors", "broken", "their length is not 1", "Reinstall the model.")
    elif off > BATCH_TOLERANCE:
        yield Finding("vectors", "broken", f"they depend on the batch: off by {off:.1e}", "Use --device cpu.")
    elif vectors[0] @ vectors[1] <= vectors[0] @ vectors[2]:
        detail, fix = "sentences of one meaning are not closer than unrelated ones", "Reinstall the model."
        if "#" in encoder.reference:
            fix = "Use another template, or a model that was trained with this one."
        yield Finding("vectors", "note" if "#" in encoder.reference else "broken", detail, fix)
    else:
        yield Finding("vectors", "ok", "length 1, the same in any batch, close for similar meanings")


def _ran(facts: Facts, encoder: semsearch.Encoder) -> Finding:
    """The actual device of the encoder, and why it is not an existing GPU."""
    known = encoder.info
    ran = known.get("device", "cpu")
    detail = f"{encoder.name} ({encoder.fingerprint[:12]}), {encoder.dim} dimensions, runs on {ran}"
    detail += f" by {known['provider']}" if known.get("provider") else ""
    if not facts.driver.gpus or ran != "cpu" or facts.device == "cpu":
        return Finding("encoder", "ok", detail)
    if known.get("precision") == "int8":
        return Finding("encoder", "ok", f"{detail}, as int8 always does; an fp32 model would use the GPU")
    return Finding("encoder", "note", f"{detail}, not on the GPU", "For the reason: semsearch doctor --device cuda")


def _folders(context: Context) -> Iterator[Finding]:
    for name, folder in (("home", context.options.folder()), ("embedding cache", settings.cache_file().parent)):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        detail = f"{folder}, {console.size(free)} free"
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError:
            fix = "Pass --home DIR, or change its permissions."
            yield Finding(name, "broken", f"{detail}, cannot be written to", fix)
            continue
        fix = "Free some space: an index cannot grow on a full disk." if free < MIN_FREE_BYTES else ""
        yield Finding(name, "note" if fix else "ok", detail, fix)


def _indexes(context: Context) -> Iterator[Finding]:
    names = settings.names(context.options.folder())
    listed = f": {', '.join(names[:10])}" if names else ""
    yield Finding("indexes", "ok", f"{len(names)} in {context.options.folder()}{listed}")


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS = (_versions, _sqlite, _machine, _providers, _on_gpu, _vector_search, _encoder, _folders, _indexes)
