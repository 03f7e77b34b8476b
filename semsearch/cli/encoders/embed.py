"""`embed`: vectors for texts, without an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semsearch.cli.common import DeviceOption, DtypeOption, LayerOption, ModelOption, TemplateOption, TrustFlag, loaded
from semsearch.cli.output import text as show
from semsearch.cli.search.batch import read_texts
from semsearch.errors import UsageError
from semsearch.types import Role

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.types import Vectors

AT_ONCE = 1024  # texts that are encoded before their vectors are written


def embed(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT|-|FILE", help="A text, or - or a file with one text a line.")],
    model: ModelOption = None,
    role: Annotated[
        Role, typer.Option("--role", help="What the text is for: some encoders treat them apart.")
    ] = "passage",
    shape: Annotated[
        Literal["jsonl", "npy"] | None, typer.Option("--format", help="[default: jsonl, or by the suffix of OUT]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT", help="A file instead of stdout.")
    ] = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
) -> None:
    """Print the vectors of texts.

    TEXT is one text; - and a file hold one a line.

    jsonl: {"text": …, "vector": […]} a line. npy: one float32 array, row n for line n; blank lines count. Of a
    file that ends in .jsonl the field `text` is read.
    """
    shape = shape or ("npy" if output and output.suffix == ".npy" else "jsonl")
    if shape == "npy" and output is None and sys.stdout.isatty():
        raise UsageError("npy is not for a terminal.", "Say -o FILE, or pipe it.")
    texts = read_texts(text) if text == "-" or _is_file(text) else [text]
    encoder = loaded(ctx.obj, model, device, template=template, dtype=dtype, layer=layer, trust=trust)
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
    except (OSError, ValueError):  # a text can be too long for a file's name, or hold a NUL
        return False


def _jsonl(texts: Sequence[str], encoder: Encoder, role: Role) -> Iterator[str]:
    for first in range(0, len(texts), AT_ONCE):
        some = texts[first : first + AT_ONCE]
        for text, vector in zip(some, encoder.encode(some, role=role), strict=True):
            # the shortest figures that give the same float32 again
            yield show.dumps({"text": text, "vector": [float(str(value)) for value in vector]})


def _write_npy(vectors: Vectors, output: Path | None) -> None:
    import numpy as np

    if output is None:
        np.save(sys.stdout.buffer, vectors, allow_pickle=False)
        return
    with output.open("wb") as file:  # np.save would add a suffix to a name
        np.save(file, vectors, allow_pickle=False)
