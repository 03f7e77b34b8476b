"""ONNX back end: a bundle on ONNX Runtime and tokenizers, without torch.

On a CPU, one session with one thread is run by one worker per core. int8 takes one text per run: dynamic quantisation
has one activation scale for a whole batch, so in larger batches a vector would depend on the other texts (cosine down
to 0.979 in a batch of 16); it is also the fastest. fp32 takes small batches of texts of similar length. ONNX
Runtime falls back to the CPU without a warning, so the provider in use is read back.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import onnxruntime as ort

from semsearch.encoders import device as _device
from semsearch.encoders.base import BundleBackend
from semsearch.errors import Corrupt, NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models.batching import Rows, batches_by_length, each, halve_when_full, pad
from semsearch.models.bundle import Bundle, Saved
from semsearch.models.postprocessing import TRUNCATE
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import Prompt
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from semsearch.types import Vectors

CPU_TEXTS = 8  # in a batch of fp32; 4 to 16 are the fastest, 1 and 32 take 1.1 to 1.3 times as long
CPU_TOKENS = 512
GPU_TEXTS = 256
GPU_TOKENS = 32_768
QUIET = 3  # log severity: errors only
Provider: TypeAlias = str | tuple[str, Mapping[str, object]]  # with its options
AGAIN = "Copy its folder again, or export it again."
INPUTS = ("input_ids", "attention_mask")
TYPES, POSITIONS = "token_type_ids", "position_ids"  # of some graphs of the hub
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


class OnnxSession(Protocol):
    """The part of ONNX Runtime's InferenceSession that is used here."""

    def get_providers(self) -> list[str]: ...
    def get_provider_options(self) -> Mapping[str, Mapping[str, str]]: ...
    def get_inputs(self) -> Sequence[Named]: ...
    def get_outputs(self) -> Sequence[Named]: ...
    def run(self, outputs: None, inputs: Mapping[str, NDArray[np.int64]], /) -> list[ArrayLike]: ...


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str] | None: ...


class OnnxFiles(Saved, Protocol):
    """What a session needs to know of a saved model: an encoder's bundle, or a reranker's."""

    @property
    def precision(self) -> str: ...
    @property
    def origin(self) -> JsonMapping: ...
    def path(self, which: str, /) -> Path: ...


class OnnxBackend(BundleBackend):
    """Runs a bundle whose weights are an ONNX graph. `provider` is the one that ONNX Runtime really uses."""

    runtime = "ONNX Runtime"
    overlaps = True

    def __init__(self, bundle: Bundle, *, device: str = "auto", threads: int = 0) -> None:
        self.bundle = bundle
        self.name, self.fingerprint, self.dim = bundle.name, bundle.fingerprint, bundle.dim
        self.max_tokens, self.prompts = bundle.max_tokens, bundle.prompts
        self._cut = bundle.post[-1].dim if bundle.post and bundle.post[-1].kind == TRUNCATE else None
        self._threads = threads or _device.cores()
        self._session = new_session(bundle, _device.parse(device))
        self.provider: str = self._session.get_providers()[0]
        self.device = device_of(self._session)
        self._tokenizer = Tokenizer(bundle.path("tokenizer"), bundle.max_tokens, bundle.tokens)
        self._output = _chosen_output(self._session)
        self._further = [each.name for each in self._session.get_inputs() if each.name not in INPUTS]
        if unknown := set(self._further) - {TYPES, POSITIONS}:
            raise UsageError(
                f"the graph of {bundle.name} wants {', '.join(sorted(unknown))}, which an encoder has not.",
                "Use a graph exported for feature extraction.",
            )
        if not self.dim:  # of a repository of the hub
            self.dim = self._compute([[0]]).shape[1]
            self.bundle = replace(bundle, dim=self.dim)

    @property
    def info(self) -> JsonObject:
        return self.bundle.describe(self.device, self.provider)

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        """n texts under `prompt` -> (n, dim) float32 unit rows in their order.

        `batch_size` limits the texts of a batch; it affects speed only, and int8 takes one text at a time anyway.
        Raises UsageError if the graph is for another prompt.
        """
        self._check(prompt)
        rows = self._tokenizer.ids(texts, prompt)
        vectors = np.empty((len(rows), self.dim), dtype=np.float32)
        max_texts, max_tokens = batch_limits(self.bundle.precision, self.device)
        max_texts = min(max_texts, batch_size or max_texts)
        batches = list(batches_by_length([len(row) for row in rows], max_texts=max_texts, max_tokens=max_tokens))

        def fill(batch: NDArray[np.int64]) -> None:
            vectors[batch] = self._run([rows[at] for at in batch])

        each(fill, batches, self._threads if self.device == "cpu" else 1)
        return vectors

    def _check(self, prompt: Prompt) -> None:
        """Raises UsageError if the graph reads other [MASK]s than `prompt` has, or depends on the text of its own."""
        own, only = self.prompts.values(), self.bundle.origin.get("for_its_prompts_only", False)
        sides = {(each.before, each.after) for each in own}
        if {each.masks for each in own} != {prompt.masks} or (only and (prompt.before, prompt.after) not in sides):
            raise UsageError(
                f"encoder {self.name} was exported for its own prompt, and cannot read {prompt.text!r}.",
                "Leave out the prompt, or export the model with that template.",
            )

    def _run(self, rows: Rows) -> Vectors:
        """The vectors of one batch, which is halved if memory is full."""
        try:
            return halve_when_full(self._compute, rows, self.device)
        except SemsearchError:
            raise
        except Exception as error:  # onnxruntime raises a class of its own for every status code
            raise SemsearchError(f"encoder {self.name} failed on {self.device}: {error}") from error

    def _compute(self, rows: Rows) -> Vectors:
        ids, mask = pad(rows)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if TYPES in self._further:
            inputs[TYPES] = np.zeros_like(ids)
        if POSITIONS in self._further:
            inputs[POSITIONS] = np.maximum(mask.cumsum(axis=1) - 1, 0)
        vectors = np.asarray(self._session.run(None, inputs)[self._output])
        if self.bundle.method == bundles.GRAPH:
            vectors = unit_rows(pooled(vectors, mask, self.bundle.pooling) if vectors.ndim == 3 else vectors)
        truncated = self._cut is None or vectors.shape[1] <= self._cut  # a graph may truncate them itself
        return vectors if truncated else unit_rows(vectors[:, : self._cut])


def pooled(vectors: NDArray[np.float32], mask: NDArray[np.int64], way: str) -> NDArray[np.float32]:
    """Vectors of tokens (n, t, h) -> of texts (n, h). mask (n, t) of 0/1, padding at the end, a token in each row.

    >>> pooled(np.array([[[1.0], [3.0], [9.0]]]), np.array([[1, 1, 0]]), "mean").tolist()
    [[2.0]]
    """
    if way == "cls":
        return np.asarray(vectors[:, 0])
    if way == "lasttoken":
        return np.asarray(vectors[np.arange(len(vectors)), mask.sum(axis=1) - 1])
    weights = mask[:, :, None].astype(vectors.dtype)
    if way == "max":
        return np.asarray(np.where(weights > 0, vectors, -np.inf).max(axis=1))
    return np.asarray((vectors * weights).sum(axis=1) / weights.sum(axis=1))


def _chosen_output(session: OnnxSession) -> int:
    """The first output of vectors of tokens (texts, tokens, h); without one, the first."""
    ranks = [len(each.shape or ()) for each in session.get_outputs()]
    return ranks.index(3) if 3 in ranks else 0


def available() -> list[str]:
    """The providers of this build of ONNX Runtime; only a session shows whether one starts."""
    return list(ort.get_available_providers())


def device_of(session: OnnxSession) -> str:
    """Where a session really runs: cpu or cuda:N."""
    if session.get_providers()[0] != CUDA:
        return "cpu"
    return f"cuda:{session.get_provider_options()[CUDA].get('device_id', '0')}"


def batch_limits(precision: str, device: str) -> tuple[int, int]:
    """The most texts, and the most tokens of several, that one run takes."""
    if precision == "int8":
        return 1, CPU_TOKENS
    return (CPU_TEXTS, CPU_TOKENS) if device == "cpu" else (GPU_TEXTS, GPU_TOKENS)


def new_session(bundle: OnnxFiles, device: str) -> OnnxSession:
    """A session, on the GPU only if it really started there.

    If the GPU cannot be used, auto takes the CPU with a warning; cuda and cuda:N raise DeviceUnavailable.
    """
    providers = _providers(bundle, device)
    if len(providers) == 1:
        return _open_session(bundle, providers)
    with redirect_stdout(io.StringIO()) as printed:  # ONNX Runtime prints errors of CUDA to stdout
        with suppress(Exception):  # 1.21 and later; if it fails, so does the session
            ort.preload_dlls()  # CUDA's libraries are among the wheels, where the loader does not look
        try:
            session = _open_session(bundle, providers)
            why = f"ONNX Runtime fell back to {session.get_providers()[0]}"
        except Corrupt as error:
            session, why = None, _device.first_line(error.__cause__)
    if session is not None and session.get_providers()[0] == CUDA:
        return session
    on_cpu = _open_session(bundle, [CPU])  # so that a broken file is not blamed on the device
    if printed.getvalue().strip():
        why += f" ({_device.first_line(printed.getvalue())})"
    if device != "auto":
        raise _device.absent(device, why)
    _device.fell_back("ONNX Runtime", why)
    return on_cpu


def _open_session(bundle: OnnxFiles, providers: Sequence[Provider]) -> OnnxSession:
    options = ort.SessionOptions()
    options.log_severity_level = QUIET
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the workers are the threads
    if len(providers) == 1 and bundle.precision != "fp16" and getattr(bundle, "method", "") != bundles.GRAPH:
        # the export has fused the graph for the CPU: a session opens in 26 ms, not in 47
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    weights = bundle.path("weights")
    _check_files(bundle)
    try:
        opened: OnnxSession = ort.InferenceSession(weights, options, providers, enable_fallback=0)
    except Exception as error:  # onnxruntime raises a class of its own for every status code
        raise Corrupt(f"ONNX Runtime {ort.__version__} cannot load the model {bundle.name}: {error}") from error
    return opened


def _check_files(bundle: OnnxFiles) -> None:
    """Check the weights beside a large model.onnx. Raises NotFound, Corrupt."""
    for name, recorded in bundle.origin.get("files", {}).items():
        path = bundle.folder / name
        if not path.is_file():
            raise NotFound(f"the model {bundle.name} lacks a part of its weights: {path}.", AGAIN)
        if bundles.sha256(path) != recorded:
            raise Corrupt(f"the weights of the model {bundle.name} are not what was written: {path}.", AGAIN)


def _providers(bundle: OnnxFiles, device: str) -> list[Provider]:
    """The providers to request. int8 has kernels for the CPU only."""
    has_cuda = CUDA in available()
    unfit = not has_cuda or bundle.precision == "int8"
    if device == "cpu" or (device == "auto" and (unfit or not _device.driver().present)):
        return [CPU]
    if not has_cuda:
        raise _device.absent(device, "this ONNX Runtime has no CUDA (semsearch[gpu] has, in place of semsearch[cpu])")
    if bundle.precision == "int8":
        raise _device.absent(
            device, f"the model {bundle.name} is int8, which runs on a CPU only (an fp32 export runs on both)"
        )
    card = {
        "device_id": _device.number(device),
        "arena_extend_strategy": "kSameAsRequested",
    }
    return [(CUDA, card), CPU]
