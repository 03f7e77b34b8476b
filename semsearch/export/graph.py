"""What a method does, as an ONNX graph: ids and mask (n, t) in, vectors (n, d) of length 1 out.

The graph is the trace of `Method.embed` and of nothing else, so that no second implementation can drift. Of the last
layer it holds what the tokens that are read need, since `embed` asks the network for no more.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import torch
from torch import Tensor, nn

from semsearch.errors import SemsearchError, UsageError
from semsearch.models.methods import Batch

if TYPE_CHECKING:
    from semsearch.models.methods import Method
    from semsearch.models.tokenization import Frame

OPSET = 20  # the first with Gelu as one operator
MOST_BYTES = 2_000_000_000  # protobuf cannot hold 2 GiB: weights beyond this lie in a file of their own
BESIDE = ".data"  # what that file's name ends with
BIAS = "bias_of_the_prompt"
BIAS_ROWS = 64  # of a prompt's bias that are computed at once
FRAME = ("before", "after")  # what of a frame differs between prompts

Inputs = tuple[Tensor, Tensor]


class Graph(nn.Module):
    """input_ids and attention_mask (n, t) -> unit vectors (n, d) in float32. `post` follows the method."""

    def __init__(
        self, method: Method, network: nn.Module, frame: Frame, bias: Tensor | None, post: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.method, self.network, self.frame = method, network, frame
        self.post = nn.Identity() if post is None else post  # by this name its numbers are found in the graph
        self.register_buffer(BIAS, bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        batch = Batch(input_ids, attention_mask, self.frame, getattr(self, BIAS))
        return nn.functional.normalize(self.post(self.method.embed(self.network, batch).float()), dim=1)


class Watched:
    """A frame that knows whether its prompt was looked at: then the graph holds for this prompt only."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.seen = frame, False

    def __getattr__(self, name: str) -> Any:
        self.seen = self.seen or name in FRAME
        return getattr(self.frame, name)

    def __len__(self) -> int:
        self.seen = True
        return len(self.frame)


def looks_at_the_prompt(graph: Graph, example: Inputs) -> bool:
    """Whether the vectors depend on more of the prompt than on its ids."""
    watched = Watched(graph.frame)
    again: Any = watched
    with torch.no_grad():
        Graph(graph.method, graph.network, again, getattr(graph, BIAS), graph.post)(*example)
    return watched.seen


@torch.no_grad()
def bias_table(method: Method, network: Any, frame: Frame, rows: int, device: str) -> Tensor:
    """What the prompt says around 0 … rows - 1 tokens of nothing: (rows, d)."""
    some = torch.split(torch.arange(rows, device=device), BIAS_ROWS)
    return torch.cat([method.bias(network, frame, lengths) for lengths in some])


def traced(network: nn.Module, example: Inputs, path: Path, longest: int) -> Path:
    """Write `network` as an ONNX file with free batch and length, without notes on where it was made.

    Weights beyond MOST_BYTES lie beside it. Raises UsageError where torch cannot follow the network.
    """
    shape = {0: torch.export.Dim("n"), 1: torch.export.Dim("t", max=longest)}
    try:
        with _quiet(), torch.no_grad():
            program = torch.onnx.export(
                network,
                example,
                input_names=["input_ids", "attention_mask"],
                output_names=["vectors"],  # a node inside is called "embedding" already
                dynamic_shapes={"input_ids": shape, "attention_mask": shape},
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # torch.export has a class for every thing that it cannot follow
        raise UsageError(
            f"this model cannot be written as an ONNX graph: {reason(error)}",
            "It runs in Torch: use it without export.",
        ) from error
    if program is None:
        raise SemsearchError("torch.onnx.export gave nothing.")
    if size(network) > MOST_BYTES:
        program.save(path, external_data=True)
        model = onnx.load(path, load_external_data=False)
    else:
        model = program.model_proto
    scrub(model)
    rename(model, {"embedding": "word_embedding", "vectors": "embedding"})
    onnx.save(model, path)
    return path


def scrub(model: onnx.ModelProto) -> None:
    """Take out what says where and from which lines of code a graph was made."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    graph.ClearField("value_info")


def rename(model: onnx.ModelProto, names: dict[str, str]) -> None:
    """Give values other names throughout the graph."""
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in model.graph.output:
        value.name = names.get(value.name, value.name)


def size(network: nn.Module) -> int:
    """Bytes of parameters and buffers."""
    return sum(each.numel() * each.element_size() for each in (*network.parameters(), *network.buffers()))


def reason(error: BaseException) -> str:
    """What is at the bottom of an error of torch, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:300]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's remarks on what it does not support; what matters of them is raised."""
    names = ("torch.onnx", "torch.onnx._internal.exporter._registration", "torch.export", "onnxscript", "onnx_ir")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
