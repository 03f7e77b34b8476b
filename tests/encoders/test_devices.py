"""Devices: the requested device runs or is an error, a fallback is said, and a full memory halves the batch.

The GPUs are simulated: torch.cuda, ONNX Runtime's sessions and NVIDIA's driver are stand-ins that compute on the CPU.
"""

from __future__ import annotations

import ctypes
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from helpers.arithmetic import ROUNDING
from helpers.commandline import CommandLine
from helpers.models import described, minilm

from semsearch.encoders import device as _device
from semsearch.encoders import onnx as onnx_encoder
from semsearch.encoders.device import Driver
from semsearch.encoders.onnx import CPU, CUDA, OnnxBackend
from semsearch.errors import Corrupt, DeviceUnavailable, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.bundle import Bundle

TEXTS = ["A man is eating food.", "tea", "The engine does not start on a cold morning, whatever is done.", "ice"] * 3
CARD = Driver(("NVIDIA H200",), "550.54.15", "12.4")


@pytest.fixture(autouse=True)
def _untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning is given once a process; every test is to see its own."""
    _device.fell_back.cache_clear()


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU", "cuda:-1", ""])
def test_a_device_that_has_no_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="no device"):
        _device.parse(name)


# ---- the driver


class Library:
    """libcuda of a machine with two GPUs, or with one fault."""

    def __init__(self, failed: int = 0) -> None:
        self.failed = failed

    def cuInit(self, flags: int) -> int:
        return self.failed

    def cuDriverGetVersion(self, number: Any) -> int:
        number._obj.value = 12040
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, at: int) -> int:
        device._obj.value = at
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = f"Card {device.value}".encode()
        return 0

    def cuGetErrorString(self, failed: int, text: Any) -> int:
        text._obj.value = b"system not yet initialized"
        return 0


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (0, Driver(("Card 0", "Card 1"), "550.54.15", "12.4")),
        (100, Driver((), "550.54.15", "12.4")),
        (802, Driver((), "550.54.15", "12.4", "CUDA error 802: system not yet initialized")),
    ],
)
def test_the_driver_tells_its_gpus(
    failed: int, expected: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = tmp_path / "version"
    version.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\nGCC 12.2.0\n"
    )
    monkeypatch.setattr(_device, "KERNEL", version)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(failed))
    found = _device.driver.__wrapped__()
    assert found == expected
    assert found.present == (failed != 100)


def test_no_driver_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert _device.driver.__wrapped__() == Driver()


# ---- torch


@pytest.fixture
def torch_gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes torch a CUDA build that finds `count` GPUs; `warning` as it checks, `failure` as it computes."""
    torch = pytest.importorskip("torch")

    def simulate(count: int, *, warning: str = "", failure: str = "", driver: Driver = CARD) -> None:
        ones = torch.ones

        def available() -> bool:
            if warning:
                warnings.warn(warning, stacklevel=1)
            return count > 0

        def on_card(*size: int, device: str) -> Any:
            if failure:
                raise RuntimeError(failure)
            return ones(*size)

        monkeypatch.setattr(torch.version, "cuda", "12.8")
        monkeypatch.setattr(torch.cuda, "is_available", available)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch, "ones", on_card)
        monkeypatch.setattr(_device, "driver", lambda: driver)

    return simulate


def test_torch_takes_the_gpu_that_is_there(torch_gpus: Any, caplog: pytest.LogCaptureFixture) -> None:
    torch_gpus(2)
    asked = ("auto", "cuda", "cuda:1", "cpu")
    assert [_device.torch_device(device) for device in asked] == ["cuda:0", "cuda:0", "cuda:1", "cpu"]
    assert not caplog.records


def test_torch_refuses_a_gpu_that_is_not_there(torch_gpus: Any) -> None:
    torch_gpus(2)
    with pytest.raises(DeviceUnavailable, match="cuda:7 was requested, but torch finds 2 GPUs"):
        _device.torch_device("cuda:7")
    torch_gpus(0, driver=Driver())
    with pytest.raises(DeviceUnavailable, match=r"torch \(CUDA 12.8\) finds no GPU"):
        _device.torch_device("cuda")


OLD = "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).\nPlease update"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"count": 0, "warning": OLD}, "too old"),
        ({"count": 1, "failure": "CUDA error: no kernel image is available\nfor execution"}, "no kernel image"),
    ],
)
def test_torch_falls_back_with_one_line_or_refuses_with_the_reason(
    torch_gpus: Any, how: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    torch_gpus(**how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch's own warnings, of several lines, do not get out
        assert _device.torch_device("auto") == _device.torch_device("auto") == "cpu"
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert why in record.getMessage()
    assert "\n" not in record.getMessage()
    with pytest.raises(DeviceUnavailable, match=why):
        _device.torch_device("cuda")


def test_torch_is_silent_where_there_is_no_gpu(torch_gpus: Any, caplog: pytest.LogCaptureFixture) -> None:
    torch_gpus(0, driver=Driver())
    assert _device.torch_device("auto") == "cpu"
    assert not caplog.records


# ---- ONNX Runtime


class Cards:
    """What ONNX Runtime with CUDA does: `fault` is "", "raises" or "silent", `count` the GPUs it finds."""

    def __init__(self, count: int = 1, fault: str = "") -> None:
        self.count, self.fault = count, fault
        self.asked: list[Any] = []

    def session(self, weights: Any, options: Any, providers: Sequence[Any], **how: Any) -> Session:
        assert how == {"enable_fallback": 0}  # or it prints to stdout
        self.asked.append(providers)
        return Session(self, weights, options, providers)


class Session:
    """A session that says it runs on CUDA, and computes on the CPU."""

    real = ort.InferenceSession

    def __init__(self, cards: Cards, weights: Any, options: Any, providers: Sequence[Any]) -> None:
        self._providers: list[str] = [CPU]
        self._card: dict[str, Any] = {}
        if isinstance(providers[0], tuple):
            name, self._card = providers[0]
            if cards.fault == "raises" or self._card["device_id"] >= cards.count:
                print("EP Error: this would spoil stdout")
                raise RuntimeError("CUDA failure 101: invalid device ordinal\nmore")
            self._providers = [CPU] if cards.fault == "silent" else [name, CPU]
        self._session = self.real(weights, options, [CPU])

    def get_providers(self) -> list[str]:
        return self._providers

    def __getattr__(self, name: str) -> Any:  # inputs and outputs
        return getattr(self._session, name)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {CUDA: {key: str(value) for key, value in self._card.items()}}

    def run(self, *given: Any) -> Any:
        return self._session.run(*given)


@pytest.fixture
def fp32() -> Bundle:
    """The default encoder, as if it were not int8."""
    return replace(bundles.read(model_folders.find("minilm")), precision="fp32")


@pytest.fixture
def onnx_gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cards]:
    """Makes ONNX Runtime a GPU build."""

    def simulate(driver: Driver = CARD, **how: Any) -> Cards:
        cards = Cards(**how)
        monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, CPU])
        monkeypatch.setattr(ort, "InferenceSession", cards.session)
        monkeypatch.setattr(ort, "preload_dlls", lambda: print("Failed to load libcublasLt.so.12: no such file"))
        monkeypatch.setattr(_device, "driver", lambda: driver)
        return cards

    return simulate


@pytest.mark.parametrize(("device", "ran"), [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1")])
def test_onnx_runs_on_the_gpu_and_says_so(onnx_gpus: Any, fp32: Bundle, device: str, ran: str) -> None:
    prompt = fp32.prompts["passage"]
    right = OnnxBackend(fp32, device="cpu").embed(TEXTS, prompt, 1)
    onnx_gpus(count=2)
    encoder = OnnxBackend(fp32, device=device)
    assert (encoder.info["device"], encoder.info["provider"]) == (ran, CUDA)
    np.testing.assert_allclose(encoder.embed(TEXTS, prompt, 1), right, atol=ROUNDING)


@pytest.mark.parametrize(("fault", "why"), [("raises", "invalid device ordinal"), ("silent", "fell back to CPU")])
def test_onnx_falls_back_with_one_line_or_refuses_with_the_reason(
    onnx_gpus: Any, fp32: Bundle, fault: str, why: str, caplog: pytest.LogCaptureFixture, capsys: Any
) -> None:
    onnx_gpus(fault=fault)
    encoder = OnnxBackend(fp32)
    assert (encoder.info["device"], encoder.info["provider"]) == ("cpu", CPU)
    [record] = caplog.records
    assert why in record.getMessage()
    assert "libcublasLt.so.12" in record.getMessage()
    assert "\n" not in record.getMessage()
    with pytest.raises(DeviceUnavailable, match=why):
        OnnxBackend(fp32, device="cuda")
    assert capsys.readouterr().out == ""


def test_onnx_refuses_a_gpu_that_is_not_there(onnx_gpus: Any, fp32: Bundle) -> None:
    onnx_gpus(count=1)
    with pytest.raises(DeviceUnavailable, match="cuda:7 was requested, but CUDA failure 101"):
        OnnxBackend(fp32, device="cuda:7")


def test_onnx_does_not_try_cuda_where_there_is_no_gpu(
    onnx_gpus: Any, fp32: Bundle, caplog: pytest.LogCaptureFixture
) -> None:
    cards = onnx_gpus(driver=Driver(), fault="raises")
    assert OnnxBackend(fp32).device == "cpu"
    assert cards.asked == [[CPU]]
    assert not caplog.records


def test_int8_stays_on_the_cpu(onnx_gpus: Any) -> None:
    onnx_gpus()
    assert OnnxBackend(bundles.read(model_folders.find("minilm"))).device == "cpu"
    with pytest.raises(DeviceUnavailable, match="int8"):
        OnnxBackend(bundles.read(model_folders.find("minilm")), device="cuda")


def test_a_broken_file_is_not_blamed_on_the_device(onnx_gpus: Any, fp32: Bundle, tmp_path: Path) -> None:
    onnx_gpus()
    file = tmp_path / "broken.onnx"
    file.write_bytes(b"no graph")
    broken = replace(fp32, folder=tmp_path, weights=file.name, weights_sha256=bundles.sha256(file))
    with pytest.raises(Corrupt, match="cannot load"):
        onnx_encoder.new_session(broken, "cuda")


# ---- memory that is full


class Full:
    """Wraps a computation on batches; more than `most` rows do not fit."""

    def __init__(self, compute: Callable[..., Any], most: int, error: Exception, rows: Callable[..., int]) -> None:
        self.compute, self.most, self.error, self.rows = compute, most, error, rows
        self.refused = 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self.rows(*given, **named) > self.most:
            self.refused += 1
            raise self.error
        return self.compute(*given, **named)


ONNX_ERRORS = [
    RuntimeError("BFCArena::AllocateRawInternal Available memory of 0 is smaller than requested bytes of 512"),
    RuntimeError("Failed to allocate memory for requested buffer of size 4096"),
    MemoryError("std::bad_alloc"),
]


@pytest.mark.parametrize("error", ONNX_ERRORS, ids=lambda error: str(error)[:12])
def test_onnx_halves_a_batch_that_does_not_fit(fp32: Bundle, error: Exception) -> None:
    encoder = OnnxBackend(fp32, device="cpu", threads=1)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    full = Full(encoder._session.run, 1, error, lambda names, given: len(given["input_ids"]))
    encoder._session = Running(full)
    np.testing.assert_allclose(encoder.encode(TEXTS), alone, atol=ROUNDING)
    assert full.refused > 0


def test_one_text_that_does_not_fit_is_an_error_that_says_so(fp32: Bundle) -> None:
    encoder = OnnxBackend(fp32, device="cpu", threads=1)
    encoder._session = Running(Full(encoder._session.run, 0, ONNX_ERRORS[0], lambda names, given: 1))
    with pytest.raises(SemsearchError, match="does not hold one text of 7 tokens"):
        encoder.encode(["a text of five words"])


def test_another_error_is_not_taken_for_a_full_memory(fp32: Bundle) -> None:
    encoder = OnnxBackend(fp32, device="cpu", threads=1)
    full = Full(encoder._session.run, 0, RuntimeError("the graph is broken"), lambda names, given: 1)
    encoder._session = Running(full)
    with pytest.raises(SemsearchError, match="failed on cpu: the graph is broken"):
        encoder.encode(["two texts", "of words"])
    assert full.refused == 1


class Running:
    """A session that has nothing but `run`."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run

    def get_providers(self) -> list[str]:
        return [CPU]


@pytest.fixture(scope="module")
def torch_encoder() -> Iterator[Any]:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    from semsearch.encoders.torch_backend import MaskedBackend

    yield MaskedBackend(described(minilm()), device="cpu", threads=1)
    torch.set_num_threads(threads)


def torch_errors() -> dict[str, Callable[[], Exception]]:
    import torch

    return {
        "gpu": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        "cpu": lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        "cublas": lambda: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
    }


@pytest.mark.parametrize("kind", ["gpu", "cpu", "cublas"])
def test_torch_halves_a_batch_that_does_not_fit(torch_encoder: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = np.concatenate([torch_encoder.encode([text]) for text in TEXTS])
    method = torch_encoder.method
    full = Full(method.embed, 2, torch_errors()[kind](), lambda network, batch: len(batch.ids))
    monkeypatch.setattr(torch_encoder, "method", Embedding(method, full))
    np.testing.assert_allclose(torch_encoder.encode(TEXTS), alone, atol=ROUNDING)
    assert full.refused > 0


def test_torch_says_which_text_does_not_fit(torch_encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    method = torch_encoder.method
    for error, said in ((torch_errors()["gpu"](), "does not hold one text of 7 tokens"), (RuntimeError("odd"), "odd")):
        full = Full(method.embed, 0, error, lambda network, batch: len(batch.ids))
        monkeypatch.setattr(torch_encoder, "method", Embedding(method, full))
        with pytest.raises((SemsearchError, RuntimeError), match=said):
            torch_encoder.encode(["a text of five words"])


class Embedding:
    """A method whose `embed` is another."""

    def __init__(self, method: Any, embed: Callable[..., Any]) -> None:
        self._method, self.embed = method, embed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)


# ---- the command line


def no_gpu() -> None:
    if _device.driver().present:
        pytest.skip("this machine has a GPU")


@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
@pytest.mark.parametrize("model", ["default", "hashing", "folder"])
def test_a_device_that_is_absent_ends_with_6(cli: CommandLine, model: str, device: str) -> None:
    no_gpu()
    ran = cli("embed", "a", "-m", minilm() if model == "folder" else model, "--device", device)
    assert ran.code == 6, ran.err
    [line] = ran.err.splitlines()
    assert f"device {device} was requested" in line
    assert "--device cpu" in line
    assert not ran.out


def test_auto_says_in_one_line_on_stderr_that_the_gpu_is_of_no_use(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    no_gpu()
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(_device, "driver", lambda: Driver(("NVIDIA H200",), "470.1", "11.4"))
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    ran = cli.ok("embed", "a", "-m", minilm(), "--device", "auto")
    [line] = ran.err.splitlines()
    assert line.startswith("warning: torch runs on the CPU: torch (CUDA 12.8) finds no GPU")
    assert ran.out
    assert capfd.readouterr() == ("", "")
