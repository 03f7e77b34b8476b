"""The description of what is searchable in a folder of shards: the file that is written last, and decides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from semsearch.documents.vector_files import JOB
from semsearch.errors import Corrupt, NotFound, SemsearchError
from semsearch.stores.records import Space
from semsearch.stores.shards.location import MANIFEST, SEARCH, build_command, no_shards
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils.atomic_write import write_text
from semsearch.utils.strength import NullDistribution

FORMAT = 1
SPACE = 1  # the only one
AGAIN = "Run the same `index --engine ray --to-shards` again."


@dataclass(frozen=True, slots=True)
class Shard:
    """A Parquet file of `rows` rows. Row r is the passage `base` + r + 1, whatever other shards come and go."""

    name: str
    base: int
    rows: int
    bytes: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"shard-{self.name}.parquet"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What can be searched. number: that of its folder, which ascends. highest: no passage has a higher id, or had.

    reference: loads the encoder `encoder`. probes: lists that a search reads, of `lists`, and the `recall` with that,
    of the kind of questions that has the least.
    left_out: documents whose id an earlier shard has. files: size and SHA-256 of each of its own files.
    """

    number: int
    reference: str
    encoder: str
    fingerprint: str
    dim: int
    info: JsonMapping
    splitter: JsonMapping
    context: bool
    shards: tuple[Shard, ...]
    highest: int
    documents: int
    passages: int
    left_out: tuple[str, ...]
    lists: int
    probes: int
    recall: float
    at: str
    files: Mapping[str, tuple[int, str]]
    quantiles: tuple[float, ...] = ()

    def space(self) -> Space:
        """The space of its vectors."""
        measured = NullDistribution.recorded(self.quantiles, self.passages)
        return Space(SPACE, self.fingerprint, self.encoder, self.dim, dict(self.info), measured)

    def folder(self, location: Path) -> Path:
        """The folder of its own files, for the shards at `location`."""
        return location / SEARCH / str(self.number)

    def write(self, location: Path) -> None:
        """Put it in place of the one before, on disk when this returns."""
        found = {"format": FORMAT, **asdict(self)}
        write_text(location / SEARCH / MANIFEST, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def read(location: Path) -> Manifest:
    """What can be searched at `location`. Raises NotFound, Corrupt, SemsearchError for one of a newer version."""
    file = location / SEARCH / MANIFEST
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        version = found.pop("format")
        if version == FORMAT:
            return _manifest(found)
    except FileNotFoundError:
        raise NotFound(f"the shards of {location} cannot be searched yet.", build_command(location)) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"{file} is damaged: {error}.", build_command(location)) from error
    raise SemsearchError(f"{file} has format {version!r}; this version reads {FORMAT}.", "Install a newer semsearch.")


def job(location: Path) -> JsonObject:
    """What `index --to-shards` recorded: encoder, splitter, names of the shards. Raises NotFound, Corrupt."""
    file = location / JOB
    try:
        found: JsonObject = json.loads(file.read_text(encoding="utf-8"))
        _ = (
            found["fingerprint"],
            found["encoder"],
            found["dim"],
            found["splitter"],
            [str(one) for one in found["shards"]],
        )
    except FileNotFoundError:
        raise no_shards(location) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{file} is damaged.", AGAIN) from error
    return found


def _manifest(found: JsonObject) -> Manifest:
    shards = tuple(Shard(**one) for one in found["shards"])
    files = {name: (int(size), str(sha256)) for name, (size, sha256) in found["files"].items()}
    lists = {"left_out": tuple(found["left_out"]), "quantiles": tuple(found["quantiles"])}
    known = {field.name: found[field.name] for field in fields(Manifest)}
    return Manifest(**{**known, **lists, "shards": shards, "files": files})
