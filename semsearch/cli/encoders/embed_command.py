"""`embed`: the vectors of texts, without an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

import semsearch
from semsearch.cli.input_files import read_texts
from semsearch.cli.lookup import load_encoder
from semsearch.cli.options import EncoderOptions, ModelOption, PrecisionOption, value
from semsearch.cli.output import console
from semsearch.documents import vector_files
from semsearch.errors import UsageError
from semsearch.types import Role

Shape: TypeAlias = Literal["jsonl", "npy", "parquet"]
if TYPE_CHECKING:
    from semsearch.types import Vectors

_SHAPES: dict[str, Shape] = {".npy": "npy", ".parquet": "parquet"}
BATCH_SIZE = 1024  # texts that are encoded before their vectors are written


def embed(
    ctx: typer.Context,
    *,
    text: Annotated[
        str, typer.Argument(metavar="TEXT|-|FILE", help="A text; or a file, or - for stdin, with one text per line.")
    ],
    model: ModelOption = None,
    role: Annotated[Role, typer.Option(help="Use of the text: some encoders distinguish the two.")] = "passage",
    shape: Annotated[
        Shape | None,
        typer.Option("--format", help="Output format.  [default: jsonl, or by the suffix of OUT]"),
    ] = None,
    precision: PrecisionOption = "float32",
    output: Annotated[Path | None, value("OUT", "Write to this file instead of stdout.", "-o", "--output")] = None,
    options: EncoderOptions,
) -> None:
    """Print the vectors of texts.

    jsonl prints {"text": …, "vector": […]} for each text. npy is one array whose row n is the vector of line n; blank
    lines count. parquet has the columns text and vector. In a .jsonl file, the text is the field `text`.
    """
    shape = shape or (_SHAPES.get(output.suffix, "jsonl") if output else "jsonl")
    if shape == "npy" and output is None and sys.stdout.isatty():
        raise UsageError("npy cannot be printed to a terminal.", "Pass -o FILE, or pipe the output.")
    if shape == "parquet" and output is None:
        raise UsageError("parquet is written to a file.", "Pass -o FILE.parquet.")
    if shape == "jsonl" and precision != "float32":
        raise UsageError("--precision is for npy and parquet.", "Pass -o FILE.npy or FILE.parquet.")
    texts = read_texts(text) if text == "-" or _is_file(text) else [text]
    encoder = load_encoder(ctx.obj, model, options)
    if shape == "jsonl":
        with output.open("w", encoding="utf-8") if output else nullcontext(sys.stdout) as lines:
            lines.writelines(_jsonl(texts, encoder, role))
        return
    batches = _encoded(texts, encoder, role)
    if shape == "parquet" and output is not None:
        vector_files.write_parquet(output, batches, encoder.dim, precision)
        return
    with output.open("wb") if output else nullcontext(sys.stdout.buffer) as file:
        writer = vector_files.NpyWriter(file, encoder.dim, precision, len(texts))
        for _, vectors in batches:
            writer.write(vectors)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a text can be too long for a file name, or contain NUL
        return False


def _encoded(texts: Sequence[str], encoder: semsearch.Encoder, role: Role) -> Iterator[tuple[Sequence[str], Vectors]]:
    """Some texts at a time, and their vectors."""
    for first in range(0, len(texts), BATCH_SIZE):
        some = texts[first : first + BATCH_SIZE]
        yield some, encoder.encode(some, role=role)


def _jsonl(texts: Sequence[str], encoder: semsearch.Encoder, role: Role) -> Iterator[str]:
    for some, vectors in _encoded(texts, encoder, role):
        for text, vector in zip(some, vectors, strict=True):
            # the shortest decimals that give the same float32 again
            yield console.dumps({"text": text, "vector": [float(str(number)) for number in vector]}) + "\n"
