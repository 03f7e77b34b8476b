"""An encoder that takes the vectors of passages from the shards of a job, and runs its model for all other texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.documents.vector_files import arrow
from semsearch.encoders.base import BaseEncoder, WrappedEncoder
from semsearch.errors import EncodingFailed
from semsearch.scale.encoding import KEY_COLUMN, VECTOR_COLUMN, text_key
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.types import TruncationStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Role, Vectors

FILES = 4  # whose vectors are in memory: a run reads documents in the order of the shards


class VectorTable:
    """The vectors of the shards `names`, by the key of their text: 24 bytes of memory a passage, and FILES files."""

    def __init__(self, folder: ShardFolder, names: Sequence[str]) -> None:
        self._files = [folder.checked_file(name) for name in names if folder.done[name].bytes]
        keys = [_keys(file) for file in self._files]
        counts = [len(each) for each in keys]
        every = np.concatenate([np.empty(0, "S16"), *keys])
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._file = np.repeat(np.arange(len(keys), dtype=np.int32), counts)[order]
        self._row = np.concatenate([np.empty(0, np.int32), *(np.arange(n, dtype=np.int32) for n in counts)])[order]
        self._vectors: Callable[[int], Vectors] = lru_cache(FILES)(lambda at: _vectors(self._files[at]))

    def find(self, texts: Sequence[str]) -> dict[int, Vectors]:
        """Position in `texts` -> its vector (d,), for those that are there."""
        wanted = np.array([text_key(text) for text in texts], "S16")
        places = np.minimum(np.searchsorted(self._keys, wanted), max(len(self._keys) - 1, 0))
        if not len(self._keys):
            return {}
        there = np.flatnonzero(self._keys[places] == wanted).tolist()
        return {at: self._vectors(int(self._file[places[at]]))[self._row[places[at]]] for at in there}


class FoundVectors(WrappedEncoder):
    """The encoder `model`; once `use` was called, passages in the shards have the vectors that are there.

    `found`: texts that were taken from there so far.
    """

    def __init__(self, model: BaseEncoder) -> None:
        self._model = model
        self.name, self.fingerprint, self.dim = model.name, model.fingerprint, model.dim
        self._table: VectorTable | None = None
        self._failed: dict[bytes, str] = {}
        self._cut = TruncationStats()
        self.found = 0

    @property
    def model(self) -> BaseEncoder:
        return self._model

    @property
    def embedded(self) -> int | None:
        own = self._model.embedded
        return None if own is None else own + self.found

    @property
    def truncation(self) -> TruncationStats:
        """Texts and tokens that were cut here, and on the cluster once a vector was taken from there."""
        here, there = self._model.truncation, self._cut if self.found else TruncationStats()
        return TruncationStats(here.passages + there.passages, here.tokens + there.tokens)

    def use(self, folder: ShardFolder, names: Sequence[str]) -> None:
        """Take the vectors of these shards, and raise EncodingFailed for the texts of what they set aside.

        A text that another document has as well, and that has a vector there, is none of these.
        """
        self._table = VectorTable(folder, names)
        markers = [folder.done[name] for name in names]
        set_aside = (one for marker in markers for one in marker.failed)
        self._failed = {bytes.fromhex(key): one.reason for one in set_aside for key in one.keys}
        self._cut = TruncationStats(
            sum(marker.cut_passages for marker in markers), sum(marker.cut_tokens for marker in markers)
        )

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        if self._table is None or role != "passage":
            return self._model.encode(texts, role=role)
        known = self._table.find(texts)
        for at, text in enumerate(texts if self._failed else ()):
            if at not in known and (reason := self._failed.get(text_key(text))):
                raise EncodingFailed(reason, "Look at the document.")
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for at, vector in known.items():
            vectors[at] = vector
        self.found += len(known)
        if missing := [at for at in range(len(texts)) if at not in known]:
            vectors[missing] = self._model.encode([texts[at] for at in missing], role=role)
        return vectors

    def close(self) -> None:
        self._model.close()


def _keys(file: Path) -> NDArray[np.bytes_]:
    """The keys of a shard. A type of 16 bytes leaves out zeros at the end, on both sides of a comparison."""
    column = arrow("a shard", parquet=True).read_table(file, columns=[KEY_COLUMN]).column(0)
    return np.array(column.to_pylist(), "S16")


def _vectors(file: Path) -> Vectors:
    column = arrow("a shard", parquet=True).read_table(file, columns=[VECTOR_COLUMN]).column(0).combine_chunks()
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False), np.float32).reshape(len(column), -1)
