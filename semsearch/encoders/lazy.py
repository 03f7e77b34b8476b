"""The encoder of an index, loaded by the first call that needs it and refused where it is not the one of the index."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from semsearch.encoders.base import BaseEncoder, as_encoder
from semsearch.errors import EncoderMismatch, NotFound
from semsearch.types import EncoderLike, JsonObject, TruncationStats

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.types import Role, Vectors


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model, and its counters at the moment it was loaded."""

    model: BaseEncoder
    embedded: int | None
    truncation: TruncationStats


class LazyEncoder(BaseEncoder):
    """The encoder `wanted`, which has to have the fingerprint that index `index` was built with.

    Name, fingerprint and width are those of the index. `recorded` is the reference that the index has of its encoder;
    it is loaded where `wanted` is None. owned: `wanted` was loaded for this object, which then closes it. Threads may
    share one.
    """

    def __init__(
        self,
        index: str,
        name: str,
        fingerprint: str,
        dim: int,
        *,
        recorded: str,
        wanted: EncoderLike | str | None,
        owned: bool = False,
    ) -> None:
        self.name, self.fingerprint, self.dim = name, fingerprint, dim
        self._index, self._recorded, self._wanted = index, recorded, wanted
        self._owned = owned or isinstance(wanted, str) or wanted is None
        self._lock = threading.RLock()
        self._loaded: list[_Loaded] = []  # the one model, once it is there

    @property
    def model(self) -> BaseEncoder:
        """The encoder itself. Raises EncoderMismatch, NotFound, UsageError."""
        with self._lock:
            if not self._loaded:
                self._loaded.append(self._load())
            return self._loaded[0].model

    def close(self) -> None:
        """Close what was loaded here; an encoder that was handed in stays open."""
        for loaded in self._loaded:
            if self._owned:
                loaded.model.close()

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim) float32 unit rows in their order."""
        return self.model.encode(texts, role=role)

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens."""
        return list(self.model.count_tokens(texts))

    @property
    def background(self) -> Sequence[float]:
        return self.model.background

    @property
    def info(self) -> JsonObject:
        return self.model.info

    @property
    def reference(self) -> str:
        return self.model.reference

    @property
    def embedded(self) -> int | None:
        """Texts that went through the model since this object has used it; None: not counted."""
        if not self._loaded:
            return 0
        now, before = self._loaded[0].model.embedded, self._loaded[0].embedded
        return None if now is None or before is None else now - before

    @property
    def truncation(self) -> TruncationStats:
        """What was too long since this object has used the model."""
        if not self._loaded:
            return TruncationStats()
        now, before = self._loaded[0].model.truncation, self._loaded[0].truncation
        return TruncationStats(now.passages - before.passages, now.tokens - before.tokens)

    def _load(self) -> _Loaded:
        running = self._recorded if self._wanted is None else self._wanted
        try:
            model = load(running) if isinstance(running, str) else as_encoder(running)
        except NotFound as error:
            if self._wanted is not None:
                raise
            raise NotFound(
                f"index {self._index} was built with the encoder {running!r}, which cannot be loaded by name: "
                f"{error.message}",
                "Pass the encoder: Index.open(NAME, encoder=ENCODER), or -m MODEL on the command line.",
            ) from error
        if model.fingerprint == self.fingerprint:
            return _Loaded(model, model.embedded, replace(model.truncation))
        changed = isinstance(running, str) and running == self._recorded
        first = f"{running} has changed since: put it back" if changed else f"Use the encoder {self.name}"
        raise EncoderMismatch(
            self._index,
            built_with=f"{self.name}@{self.fingerprint[:8]}",
            got=f"{model.name}@{model.fingerprint[:8]}",
            fix=f"{first}, search with --mode keyword, or build the index anew "
            f"(semsearch rm {self._index}, then semsearch index).",
        )


def load(name: str) -> Encoder:
    """The encoder of this name, as the settings have it run. Raises NotFound, UsageError, DeviceUnavailable."""
    from semsearch.encoders.encoder import Encoder  # 20 ms that a keyword search does not need

    return Encoder.from_settings(name)
