"""A shard: files, or parts of files, whose documents are embedded and stored together."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from semsearch.documents.loaders import Fields, Place
from semsearch.types import JsonObject

BEGIN = Place()


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: the name that its documents get, where it is, and how it is read.

    source: the number of the file in a store into which workers write.
    """

    uri: str
    location: str
    size: int
    kind: str
    fields: Fields
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or its records from the place `start` up to byte `end`.

    `sha256`: of these bytes, and of the first line, which names the columns of a table.
    """

    file: File
    start: Place = BEGIN
    end: int | None = None
    sha256: str = ""

    @property
    def size(self) -> int:
        """Its bytes."""
        return (self.file.size if self.end is None else self.end) - self.start.at

    @property
    def is_last(self) -> bool:
        """Whether it goes to the end of its file."""
        return self.end is None or self.end >= self.file.size

    def to_json(self) -> JsonObject:
        """What `from_json` makes the same piece of."""
        return asdict(self)

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Piece:
        """The inverse of `to_json`, also after a way through JSON."""
        file = dict(recorded["file"])
        fields: JsonObject = {
            key: tuple(one) if isinstance(one, list) else one for key, one in file.pop("fields").items()
        }
        return cls(
            File(**file, fields=Fields(**fields)), Place(*recorded["start"]), recorded["end"], recorded["sha256"]
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """Some pieces, whose documents are embedded and stored together."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(piece.size for piece in self.pieces)
