"""`embed`: the vectors of texts, without an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

import semsearch
from semsearch.cli.input_files import read_texts
from semsearch.cli.lookup import load_encoder
from semsearch.cli.options import EncoderOptions, ModelOption, option_groups, value
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.types import Role

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
    output: Annotated[Path | None, value("OUT", "Write to this file instead of stdout.", "-o", "--output")] = None,
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
    if shape == "jsonl":
        with output.open("w", encoding="utf-8") if output else nullcontext(sys.stdout) as lines:
            lines.writelines(_jsonl(texts, encoder, role))
        return
    import numpy as np  # 0.1 s that --help does without

    with output.open("wb") if output else nullcontext(sys.stdout.buffer) as file:  # np.save adds a suffix to a name
        np.save(file, encoder.encode(texts, role=role), allow_pickle=False)


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
            yield console.dumps({"text": text, "vector": [float(str(number)) for number in vector]}) + "\n"
