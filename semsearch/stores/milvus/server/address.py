"""The address of a Milvus server, as it stands after `--store milvus:`.

http://host:19530?index=HNSW&consistency=Session&database=team&patience=300, where all after the ? may be left out. A
path that ends in .db is a file of Milvus Lite, for trying things out and for tests. The token, or user:password, comes
from the environment variable SEMSEARCH_MILVUS_TOKEN.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from semsearch.errors import UnknownName, UsageError

TOKEN = "SEMSEARCH_MILVUS_TOKEN"
INDEXES = ("AUTOINDEX", "DISKANN", "FLAT", "GPU_CAGRA", "HNSW", "IVF_FLAT", "IVF_SQ8")
CONSISTENCY = ("Bounded", "Eventually", "Session", "Strong")
OPTIONS = ("consistency", "database", "index", "patience")
PATIENCE = 120.0  # seconds: a standalone server that was killed answered again after 57
_EXAMPLE = "For example: milvus:http://localhost:19530"


@dataclass(frozen=True, slots=True)
class Address:
    """A server and how to use it. `patience`: seconds for which a call is tried again while the server is away."""

    uri: str
    index: str
    consistency: str = "Strong"
    database: str = ""
    patience: float = PATIENCE

    @property
    def is_file(self) -> bool:
        """Whether it is a file of Milvus Lite."""
        return "://" not in self.uri

    @property
    def token(self) -> str:
        """What the environment says; "" for nothing."""
        return os.environ.get(TOKEN, "")


def absolute(text: str) -> str:
    """The address with the path of a file made absolute, so that it means the same in every folder."""
    path, mark, options = text.partition("?")
    return text if "://" in path or not path else f"{Path(path).absolute()}{mark}{options}"


def parse(text: str) -> Address:
    """Raises UsageError for what is no address, UnknownName for an option or a value that does not exist."""
    place, _, query = text.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise UnknownName("option of a Milvus address", name, OPTIONS)
    _check_place(place)
    is_file = "://" not in place
    return Address(
        place.rstrip("/"),
        _one_of("index of Milvus", options.get("index", "FLAT" if is_file else "HNSW"), INDEXES),
        _one_of("consistency", options.get("consistency", "Strong"), CONSISTENCY),
        options.get("database", ""),
        _seconds(options.get("patience", str(PATIENCE))),
    )


def _check_place(place: str) -> None:
    if "://" not in place:
        if not place.endswith(".db"):
            raise UsageError(f"{place!r} is neither the address of a Milvus server nor a file *.db.", _EXAMPLE)
        return
    parts = urlsplit(place)
    if parts.password or parts.username:
        raise UsageError("a password does not belong into an address.", f"Set {TOKEN}=user:password instead.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{place!r} is no address of a Milvus server.", _EXAMPLE)


def _one_of(kind: str, name: str, known: tuple[str, ...]) -> str:
    """The known name that is spelt like this but for its case."""
    for one in known:
        if one.lower() == name.lower():
            return one
    raise UnknownName(kind, name, known)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"patience is a number of seconds, not {text!r}.", "Give a number above 0, such as 300.")
    return seconds
