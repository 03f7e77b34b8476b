"""The ONNX graph of an encoder: token ids and mask (n, t) in, unit vectors (n, d) out.

The graph is traced from `BaseMethod.embed`, so that no second implementation can diverge from it. In the last layer
only the pooled tokens are computed, since `embed` requests no others.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import onnx
import torch
from torch import Tensor, nn

from semsearch.errors import SemsearchError, UsageError
from semsearch.models.methods import BaseMethod, Batch
from semsearch.models.tokenization import PromptTokens

OPSET = 20  # the first with Gelu as one operator
MOST_BYTES = 2_000_000_000  # protobuf is limited to 2 GiB: larger weights go to a file of their own
EXTERNAL_SUFFIX = ".data"  # of that file's name
BIAS = "bias_of_the_prompt"
BIAS_ROWS = 64  # rows of a prompt's bias computed at once
PROMPT_FIELDS = ("before", "after", "place")  # attributes of a frame that differ between prompts

ENCODER_INPUTS = ("input_ids", "attention_mask")
TRACED = "vectors"  # the name of the result while tracing: a node inside is called "embedding" already

Inputs = tuple[Tensor, Tensor]


class Graph(nn.Module):
    """input_ids and attention_mask (n, t) -> unit vectors (n, d) in float32. `post` is applied after the method."""

    def __init__(
        self,
        method: BaseMethod,
        network: nn.Module,
        frame: PromptTokens,
        bias: Tensor | None,
        post: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.method, self.network, self.frame = method, network, frame
        self.post = nn.Identity() if post is None else post  # precision.py finds its initializers by this name
        self.register_buffer(BIAS, bias)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        batch = Batch(input_ids, attention_mask, self.frame, getattr(self, BIAS))
        return nn.functional.normalize(self.post(self.method.embed(self.network, batch).float()), dim=1)


class RecordingFrame:
    """A frame that records access to its prompt: if there was any, the graph is valid for this prompt only."""

    def __init__(self, frame: PromptTokens) -> None:
        self.frame, self.was_read = frame, False

    def __getattr__(self, name: str) -> object:
        self.was_read = self.was_read or name in PROMPT_FIELDS
        return getattr(self.frame, name)

    def __len__(self) -> int:
        self.was_read = True
        return len(self.frame)


def depends_on_prompt(graph: Graph, example: Inputs) -> bool:
    """Whether the vectors depend on the prompt beyond its token ids."""
    recording = RecordingFrame(graph.frame)
    frame = cast("PromptTokens", recording)
    with torch.no_grad():
        Graph(graph.method, graph.network, frame, getattr(graph, BIAS), graph.post)(*example)
    return recording.was_read


def trace(
    network: nn.Module,
    example: tuple[Tensor, ...],
    path: Path,
    longest: int,
    *,
    inputs: Sequence[str] = ENCODER_INPUTS,
    output: str = "embedding",
    most_bytes: int = MOST_BYTES,
) -> Path:
    """Write `network` as an ONNX file with dynamic batch and length, without metadata about this machine.

    `inputs` are the parameters of its forward(), each (n, t), and `output` is the name of its result. Weights of more
    than `most_bytes` go to a file beside it. Raises UsageError where torch cannot trace the network.
    """
    shape = {0: torch.export.Dim("n"), 1: torch.export.Dim("t", max=longest)}
    try:
        with quiet(), torch.no_grad():
            program = torch.onnx.export(
                network,
                example,
                input_names=list(inputs),
                output_names=[TRACED],
                dynamic_shapes=dict.fromkeys(inputs, shape),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # torch.export raises many classes
        raise UsageError(
            f"this model cannot be written as an ONNX graph: {_root_cause(error)}",
            "It runs in PyTorch: use it without export.",
        ) from error
    if program is None:
        raise SemsearchError("torch.onnx.export returned no program.")
    if sum(each.nbytes for each in (*network.parameters(), *network.buffers())) > most_bytes:
        program.save(path, external_data=True)
        model = onnx.load(path, load_external_data=False)
    else:
        model = program.model_proto
    _strip_metadata(model)
    _rename(model, {output: f"word_{output}", TRACED: output})
    onnx.save(model, path)
    return path


def _strip_metadata(model: onnx.ModelProto) -> None:
    """Remove the paths and lines of code that a graph was traced from."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    graph.ClearField("value_info")


def _rename(model: onnx.ModelProto, names: dict[str, str]) -> None:
    """Rename values throughout the graph."""
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in model.graph.output:
        value.name = names.get(value.name, value.name)


def _root_cause(error: BaseException) -> str:
    """The innermost cause of an error of torch, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:300]


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings: the exporter's about unsupported features, the quantiser's about pre-processing.

    Real failures raise, and pre-processing would not change these graphs.
    """
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
