"""A process that loads an encoder and encodes: a damaged graph might crash it."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import onnxruntime  # noqa: F401  here, so that no process has to import it
import tokenizers  # noqa: F401

from semsearch.encoders import onnx  # noqa: F401
from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError


def encode(folder: Path, texts: list[str], answer: Connection) -> None:
    """Send what the encoder says of itself and the bytes of its vectors, or the error that refuses it."""
    try:
        encoder = Encoder.load(folder, device="cpu", threads=1)
        vectors = [encoder.encode_query(texts).tobytes(), encoder.encode_document(texts).tobytes()]
        answer.send(({**encoder.info, "folder": ""}, tuple(encoder.background), vectors))
    except SemsearchError as error:
        answer.send(str(error))
