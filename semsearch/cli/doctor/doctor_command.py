"""`doctor`: the parts of this installation, what really runs, and what is broken."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import typer

import semsearch
from semsearch import __version__, encoders, settings
from semsearch.cli.doctor import findings
from semsearch.cli.doctor.facts import Facts, gather
from semsearch.cli.doctor.findings import Finding
from semsearch.cli.lookup import load_encoder, use_device
from semsearch.cli.options import DeviceOption, EncoderOptions, JsonFlag, ModelOption, Options
from semsearch.cli.output import console
from semsearch.encoders import device as _device
from semsearch.errors import MissingExtra, SemsearchError, install_command
from semsearch.stores import drivers
from semsearch.utils import plugins
from semsearch.utils.quantities import count

MIN_FREE_BYTES = 1 << 30  # an index of a hundred thousand passages, and its rebuild
SENTENCES = ("A man is eating food.", "A man eats something.", "The engine does not start.")  # the first two agree
BATCH_TOLERANCE = 1e-3  # fp32 sums in another order on a GPU; on a CPU the difference is 0
PARTS = ("numpy", "tokenizers", "sqlite-utils", "typer", "rich")


def doctor(
    ctx: typer.Context, model: ModelOption = None, device: DeviceOption = None, as_json: JsonFlag = False
) -> None:
    """Check this installation. Exit 1 if something is broken.

    Versions, conflicting wheels, GPU and CUDA, vector search, the encoder and its device, disk space.
    """
    use_device(device)
    facts = gather(settings.load().device)
    checks = {
        "versions": _versions(),
        "sqlite": _sqlite(),
        "gpu": findings.gpu(facts),
        "libraries": findings.libraries(facts),
        "optional": findings.optional(facts),
        "cuda": findings.cuda(facts),
        "providers": _providers(),
        "on_gpu": _on_gpu(facts),
        "vector_search": _vector_search(),
        "encoder": _encoder(ctx.obj, model, facts),
        "folders": _folders(ctx.obj),
        "indexes": _indexes(ctx.obj),
    }
    results = [finding for name, check in checks.items() for finding in _run(name, check, facts)]
    broken = [finding for finding in results if finding.state == "broken"]
    failed = SemsearchError(f"{count(len(broken), 'thing')} broken.", broken[0].fix) if broken else None
    rows = [[f.state, f.check, f.detail + (f" -> {f.fix}" if f.fix else "")] for f in results]
    shown = {"ok": not broken, "checks": [asdict(finding) for finding in results]}
    console.result(shown, lambda: console.table(rows), as_json=as_json, failed=failed)


def _run(name: str, check: Iterator[Finding], facts: Facts) -> Iterator[Finding]:
    """The findings of a check; its failure is a finding too."""
    try:
        yield from check
    except MissingExtra as error:
        engine = install_command("cpu") in error.command
        yield Finding(name, "broken", error.message, findings.install(facts) if engine else error.command)
    except SemsearchError as error:
        yield Finding(name, "broken", error.message, error.command)
    except Exception as error:  # the other checks still run
        yield Finding(name, "broken", f"{type(error).__name__}: {error}", "Reinstall semsearch in a new environment.")


def _versions() -> Iterator[Finding]:
    yield Finding("semsearch", "ok", f"{__version__} at {Path(__file__).parents[3]}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for part in PARTS:
        yield Finding(part, "ok", metadata.version(part))


def _sqlite() -> Iterator[Finding]:
    """The database of the store, with full-text search."""
    yield Finding("sqlite", "ok", drivers.load().check_installation())


def _providers() -> Iterator[Finding]:
    plugins.require(("onnxruntime",), "every encoder in ONNX", "cpu")
    yield Finding("providers", "ok", f"ONNX Runtime has {', '.join(encoders.onnx.available())}")


def _on_gpu(facts: Facts) -> Iterator[Finding]:
    """Torch and FAISS compute on the GPU. Tried only with a GPU build and a GPU, since importing torch takes 2 s."""
    fix = "See the findings gpu and cuda, or use --device cpu."
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


def _vector_search() -> Iterator[Finding]:
    """A vector finds itself through every backend."""
    plugins.require(("faiss",), "vector search", "cpu")
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


def _encoder(options: Options, model: str | None, facts: Facts) -> Iterator[Finding]:
    """The encoder loads, with weights of the right sha256, runs on its device, and its vectors are meaningful."""
    import numpy as np

    encoder = load_encoder(options, model, EncoderOptions(device=facts.device))
    yield _ran(facts, encoder)
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
    """The device that runs the encoder, and why it is not an existing GPU."""
    info = encoder.info
    ran = info.get("device", "cpu")
    detail = f"{encoder.name} ({encoder.fingerprint[:12]}), {encoder.dim} dimensions, runs on {ran}"
    detail += f" by {info['provider']}" if info.get("provider") else ""
    if not facts.driver.gpus or ran != "cpu" or facts.device == "cpu":
        return Finding("encoder", "ok", detail)
    if info.get("precision") == "int8":
        return Finding("encoder", "ok", f"{detail}, as int8 always does; an fp32 model would use the GPU")
    return Finding("encoder", "note", f"{detail}, not on the GPU", "For the reason: semsearch doctor --device cuda")


def _folders(options: Options) -> Iterator[Finding]:
    for name, folder in (("home", options.folder()), ("embedding cache", settings.cache_file().parent)):
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


def _indexes(options: Options) -> Iterator[Finding]:
    names = semsearch.admin.names(options.folder())
    listed = f": {', '.join(names[:10])}" if names else ""
    yield Finding("indexes", "ok", f"{len(names)} in {options.folder()}{listed}")
    for name in names[:10]:
        with suppress(SemsearchError), semsearch.Index.open(semsearch.admin.folder(name, options.folder())) as index:
            if unread := semsearch.admin.unread_warning(index, semsearch.admin.languages_of_index(index)):
                yield Finding(f"index {name}", "note", unread)
