"""`embed`: the vectors of texts, without an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import semsearch
from semsearch.cli.input_files import read_texts
from semsearch.cli.lookup import load_encoder
from semsearch.cli.options import EncoderOptions, ModelOption, option_groups
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.types import Role

if TYPE_CHECKING:
    from semsearch.types import Vectors

BATCH_SIZE = 1024  # texts that are encoded before their vectors are written


@option_groups
def embed(
    ctx: typer.Context,
    *,
    text: Annotated[
        str, typer.Argument(metavar="TEXT|-|FILE", help="A text; or a file, or - for stdin, with one text per line.")
    ],
    model: ModelOption = None,
    role: Annotated[Role, typer.Option(help="Use of the text: some encoders distinguish the two.")] = "passage",
    shape: Annotated[
        Literal["jsonl", "npy"] | None,
        typer.Option("--format", help="Output format.  [default: jsonl, or by the suffix of OUT]"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="Write to this file instead of stdout.")
    ] = None,
    options: EncoderOptions,
) -> None:
    """Print the vectors of texts.

    jsonl prints {"text": …, "vector": […]} for each text. npy is one float32 array whose row n is the vector of
    line n; blank lines count. In a .jsonl file, the text is the field `text`.
    """
    shape = shape or ("npy" if output and output.suffix == ".npy" else "jsonl")
    if shape == "npy" and output is None and sys.stdout.isatty():
        raise UsageError("npy cannot be printed to a terminal.", "Pass -o FILE, or pipe the output.")
    texts = read_texts(text) if text == "-" or _is_file(text) else [text]
    encoder = load_encoder(ctx.obj, model, options)
    if shape == "npy":
        _write_npy(encoder.encode(texts, role=role), output)
        return
    lines = _jsonl(texts, encoder, role)
    if output is None:
        for line in lines:
            print(line)
        return
    with output.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a text can be too long for a file name, or contain NUL
        return False


def _jsonl(texts: Sequence[str], encoder: semsearch.Encoder, role: Role) -> Iterator[str]:
    for first in range(0, len(texts), BATCH_SIZE):
        some = texts[first : first + BATCH_SIZE]
        for text, vector in zip(some, encoder.encode(some, role=role), strict=True):
            # the shortest decimals that give the same float32 again
            yield console.dumps({"text": text, "vector": [float(str(value)) for value in vector]})


def _write_npy(vectors: Vectors, output: Path | None) -> None:
    import numpy as np  # 0.1 s that --help does without

    if output is None:
        np.save(sys.stdout.buffer, vectors, allow_pickle=False)
        return
    with output.open("wb") as file:  # np.save would add a suffix to a name
        np.save(file, vectors, allow_pickle=False)
