"""Rerankers for tests: saved ones whose graph adds up a number for each word, and tiny ones of random weights."""

from __future__ import annotations

import atexit
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
KNOWN = """a an and are as at bread by car compression diesel engine engines fast for fuel green has have how ignite
    ignites in is it kettle needs no of on or petrol plug salt scale spark tea the them time to vinegar water what where
    which with without . , ?"""
WORDS = KNOWN.split()
DECISIVE = {"compression": 6.0, "vinegar": 3.0, "[CLS]": -2.0}  # a pair has the sum of what its words have


def tokenizer(folder: Path) -> Path:
    """A tokenizer.json of whole words, with the frame that BERT gives a pair."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: at for at, word in enumerate([*SPECIAL, *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(list(SPECIAL))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def saved(folder: Path, values: Mapping[str, float] = DECISIVE, *, max_tokens: int = 64, **changes: Any) -> Path:
    """A saved reranker without a network: the logit of a pair is the sum of what each of its tokens has."""
    onnx = pytest.importorskip("onnx")
    from semsearch.models.rerankers import manifest

    folder.mkdir(parents=True, exist_ok=True)
    names = [*SPECIAL, *WORDS]
    table = np.array([[values.get(name, 0.0)] for name in names], dtype=np.float32)
    numbers = [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(np.array([1]), "axis")]
    make, kinds = onnx.helper.make_node, onnx.TensorProto
    nodes = [
        make("Gather", ["table", "input_ids"], ["rows"]),
        make("Cast", ["attention_mask"], ["mask"], to=kinds.FLOAT),
        make("Unsqueeze", ["mask", "last"], ["column"]),
        make("Mul", ["rows", "column"], ["real"]),
        make("ReduceSum", ["real", "axis"], ["logit"], keepdims=0),
    ]
    numbers.append(onnx.numpy_helper.from_array(np.array([2]), "last"))
    given = [
        onnx.helper.make_tensor_value_info(name, kinds.INT64, ["n", "t"]) for name in ("input_ids", "attention_mask")
    ]
    result = onnx.helper.make_tensor_value_info("logit", kinds.FLOAT, ["n", 1])
    graph = onnx.helper.make_graph(nodes, "words", given, [result], numbers)
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
        folder / "model.onnx",
    )
    described = manifest.RerankerBundle(
        **{
            "name": "words", "max_tokens": max_tokens, "precision": "fp32", "segments": False, "positive": None,
            "weights": "model.onnx", "weights_sha256": manifest.weights.hashed(folder / "model.onnx"),
            "tokenizer": "tokenizer.json",
            "tokenizer_sha256": manifest.weights.identity(tokenizer(folder)), "licence": "", "source": "", **changes,
        }
    )  # fmt: skip
    manifest.write(described, folder)
    return folder


def checkpoint(folder: Path, kind: str = "bert", *, labels: Sequence[str] = ("LABEL_0",), layers: int = 2) -> Path:
    """A tiny sequence classifier of random weights, as Hugging Face publishes one."""
    torch = pytest.importorskip("torch")
    import transformers

    size = {"vocab_size": len(SPECIAL) + len(WORDS), "hidden_size": 32, "num_hidden_layers": layers,
            "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 66}  # fmt: skip
    named = {"id2label": dict(enumerate(labels)), "label2id": {name: at for at, name in enumerate(labels)}}
    configs = {
        "bert": lambda: transformers.BertConfig(**size, **named),
        "roberta": lambda: transformers.RobertaConfig(**size, **named, pad_token_id=0, type_vocab_size=1),
        "distilbert": lambda: transformers.DistilBertConfig(
            vocab_size=size["vocab_size"], dim=32, n_layers=layers, n_heads=2, hidden_dim=64,
            max_position_embeddings=66, **named
        ),
    }  # fmt: skip
    torch.manual_seed(11)
    made = transformers.AutoModelForSequenceClassification.from_config(configs[kind]())
    with torch.no_grad():
        for name, weights in made.named_parameters():
            if weights.dim() > 1 and "norm" not in name.lower():
                weights.normal_(0, 0.2)  # of 0.02 all pairs would have one logit
    made.save_pretrained(folder)
    tokenizer(folder)
    return folder


def rewritten(folder: Path, **values: Any) -> Path:
    """`folder` with keys of its config.json set; None takes a key out."""
    content = json.loads((folder / "config.json").read_text(encoding="utf-8")) | values
    kept = {key: value for key, value in content.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder


def _temporary(make: Callable[[Path], Path]) -> Path:
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return make(Path(folder))


# a folder for each file runtimes/<kind>.py
SAMPLES: Mapping[str, Callable[[], Path]] = {
    "onnx": lambda: _temporary(saved),
    "torch": lambda: _temporary(checkpoint),
}


class Own:
    """A reranker of somebody's own: a function from a passage to its score."""

    name, fingerprint = "own", "own-1"

    def __init__(self, judge: Callable[[str], float]) -> None:
        self._judge = judge
        self.read: list[tuple[str, str]] = []

    def score(self, query: str, passages: Sequence[str], /) -> list[float]:
        self.read += [(query, passage) for passage in passages]
        return [self._judge(passage) for passage in passages]
