"""The weights of an exported encoder, read back from its graph into a folder that can be trained.

Of most encoders here only a graph in 8 or 4 bits exists. However a matrix is stored in it, its product with the
identity is the matrix itself (0 and 1 are exact in any number of bits), and so is the table of word vectors what it
gives for all tokens. Only networks like BERT are read; the result counts if it encodes as the graph does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file
from torch import nn

from semsearch.encoders import pair_similarity
from semsearch.encoders.onnx import OnnxBackend
from semsearch.encoders.torch_backend import MaskedBackend
from semsearch.errors import SemsearchError, UsageError
from semsearch.export import parity
from semsearch.models import bundle as bundles
from semsearch.models import hf_config
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.models.networks import post
from semsearch.models.networks.post import Whitening
from semsearch.models.safetensors_files import WHOLE

NETWORK = re.compile(r"network\.(?:model\.)?(?=embeddings|encoder)")  # before the names of a graph
WORDS = "embeddings.word_embeddings.weight"
LOOKS_UP = ("Gather", "GatherBlockQuantized", "DequantizeLinear", "Cast", "Mul")  # of which word vectors are made
MEAN_COSINE = 0.95  # to the graph; int8 activations alone cost up to 0.025, a wrong number of heads 0.3 and more
HEAD_SIZES = (64, 32, 128, 96, 48, 16, 8)  # the usual ones first
KINDS = ("bert", "roberta")

Array = NDArray[Any]


def trainable_folder(bundle: Bundle, out: Path) -> Bundle:
    """Write the encoder of an ONNX `bundle` into the empty folder `out`, in float32; its manifest there.

    Raises UsageError where its weights cannot be had from the graph.
    """
    failure = "its graph is not that of a BERT"
    try:
        graph = _Graph(bundle.path("weights"))
        tensors = graph.tensors()
        (out / bundles.TOKENIZER).write_bytes(bundle.path("tokenizer").read_bytes())
        save_file(tensors, out / WHOLE, {"format": "pt"})
        if bundle.post:
            post.save(nn.Sequential(*map(graph.whitening, range(len(bundle.post)))), out)
        texts = pair_similarity.unrelated_texts()[:16]
        expected = OnnxBackend(bundle, device="cpu").embed(texts, bundle.prompts["passage"])
        for config in _configs(tensors):
            (out / hf_config.CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
            written = _manifest(bundle, out)
            got = MaskedBackend(written, device="cpu").embed(texts, bundle.prompts["passage"])
            if parity.cosine_of_each(got, expected).mean() >= MEAN_COSINE:
                return written
        failure = "what is read from its graph encodes otherwise"
    except (KeyError, IndexError, StopIteration, SemsearchError, onnx.checker.ValidationError, ValueError) as error:
        failure = f"{failure} ({error})"
    raise UsageError(
        f"{bundle.name} cannot be trained: its weights are those of an ONNX export, and {failure}.",
        "Name the model that it was made from: base=.",
        "Name the model that it was made from, a folder or hf:owner/name: --base MODEL",
    )


def _manifest(bundle: Bundle, out: Path) -> Bundle:
    described = hf_config.describe(out, Reference(str(out)), name=bundle.name, source=bundle.source)
    files = {key: getattr(described, key) for key in ("weights", "weights_sha256", "config_sha256")}
    files |= {"tokenizer": bundles.TOKENIZER, "tokenizer_sha256": bundles.sha256(out / bundles.TOKENIZER)}
    origin = {key: value for key, value in bundle.origin.items() if key == "trained"}
    as_read = replace(
        bundle, precision="fp32", parity={}, background=(), tokens=bundle.tokens or described.tokens, **files
    )
    return bundles.write(replace(as_read, origin={**origin, "read_from": bundle.fingerprint}), out)


def _configs(tensors: dict[str, Array]) -> Iterator[dict[str, Any]]:
    """The configurations of transformers that such tensors may have, the likeliest first."""
    words, hidden = tensors[WORDS].shape
    for kind in KINDS:
        for size in HEAD_SIZES:
            if hidden % size == 0:
                yield {
                    "model_type": kind,
                    "architectures": ["BertModel" if kind == "bert" else "RobertaModel"],
                    "vocab_size": words,
                    "hidden_size": hidden,
                    "num_hidden_layers": 1 + max(int(name.split(".")[2]) for name in tensors if ".layer." in name),
                    "num_attention_heads": hidden // size,
                    "intermediate_size": len(tensors["encoder.layer.0.intermediate.dense.bias"]),
                    "max_position_embeddings": len(tensors["embeddings.position_embeddings.weight"]),
                    "type_vocab_size": len(tensors["embeddings.token_type_embeddings.weight"]),
                    "pad_token_id": 0 if kind == "bert" else 1,
                    **({} if kind == "bert" else {"layer_norm_eps": 1e-5}),
                }


class _Graph:
    """The graph in a file, parts of which can be run."""

    def __init__(self, path: Path) -> None:
        self._model = onnx.load(path)
        nodes = self._model.graph.node
        self._made_by = {name: node for node in nodes for name in node.output}
        self._users = {name: node for node in nodes for name in node.input}
        self._numbers = {each.name: each for each in self._model.graph.initializer}

    def tensors(self) -> dict[str, Array]:
        """Every weight of the network by its name in transformers; matrices are (outputs, inputs) as there."""
        tensors = {}
        for name in self._numbers:
            plain = name.removesuffix("_quantized")
            if NETWORK.match(name) and plain.endswith((".weight", ".bias")):
                tensors[NETWORK.sub("", plain)] = self._stored(plain)
        layers = {name: name.removesuffix("bias") for name in tensors if name.endswith("dense.bias") or "self" in name}
        hidden = len(tensors["embeddings.LayerNorm.bias"])
        for bias, layer in layers.items():
            narrows = layer.endswith(".output.dense.") and "attention" not in layer
            inputs = len(tensors[layer.replace("output", "intermediate") + "bias"]) if narrows else hidden
            tensors[f"{layer}weight"] = self._matrix(bias, inputs)
        return tensors | {WORDS: self._words()}

    def whitening(self, at: int) -> Whitening:
        """Step `at` of the post-processing. Raises KeyError for another kind."""
        mean, kernel = (self._stored(f"post.{at}.{part}") for part in ("mean", "kernel"))
        return Whitening.of(mean, kernel)

    def _stored(self, name: str) -> Array:
        if name in self._numbers:
            return np.array(numpy_helper.to_array(self._numbers[name]), np.float32)
        value, zero, scale = (
            numpy_helper.to_array(self._numbers[f"{name}_{part}"]).astype(np.float32)
            for part in ("quantized", "zero_point", "scale")
        )
        return (value - zero) * scale

    def _matrix(self, bias: str, inputs: int) -> Array:
        """The matrix (outputs, inputs) of the product to which a bias is added."""
        name = next(each for each in self._numbers if NETWORK.sub("", each) == bias)
        product = self._users[name]
        within = any(each in self._numbers for each in product.input if each != name)
        if not within:  # an addition of its own
            product = self._made_by[next(each for each in product.input if each != name)]
        source = product.input[0]
        if (before := self._made_by.get(source)) is not None and before.op_type == "DynamicQuantizeLinear":
            source = before.input[0]
        value = self._run(source, np.eye(inputs, dtype=np.float32), product.output[0])
        return np.ascontiguousarray((value - self._stored(name) if within else value).T, np.float32)

    def _words(self) -> Array:
        """The table of word vectors: what is looked up for all tokens."""
        looked_up = next(
            node for node in self._model.graph.node if "input_ids" in node.input and "Gather" in node.op_type
        )
        rows = self._numbers[looked_up.input[0]].dims[0]
        while looked_up.op_type in LOOKS_UP:
            name = looked_up.output[0]
            looked_up = self._users[name]
        return np.array(self._run("input_ids", np.arange(rows)[None], name)[0], np.float32)

    def _run(self, source: str, value: Array, target: str) -> Array:
        """What `target` is where `source` has this value."""
        nodes: list[onnx.NodeProto] = []
        waiting, seen = [target], {source}
        while waiting:
            if (name := waiting.pop()) not in seen and (node := self._made_by.get(name)) is not None:
                nodes.append(node)
                waiting += node.input
                seen.update(node.output)
        ordered = [node for node in self._model.graph.node if any(node is one for one in nodes)]
        used = [self._numbers[name] for node in ordered for name in node.input if name in self._numbers]
        part = onnx.helper.make_graph(
            ordered,
            "part",
            [
                onnx.helper.make_tensor_value_info(
                    source, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
            ],
            [onnx.helper.make_empty_tensor_value_info(target)],
            list({each.name: each for each in used}.values()),
        )
        model = onnx.helper.make_model(part, opset_imports=self._model.opset_import, ir_version=self._model.ir_version)
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        result: Array = np.asarray(session.run([target], {source: value})[0])
        return result
