"""The encoder of an index, loaded by the first call that needs it and refused if the index was built with another.

An index without one has the `NoEncoder`: its vectors come from the caller, and texts are searched by their words.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from semsearch.encoders.base import BaseEncoder, WrappedEncoder, as_encoder
from semsearch.errors import EncoderMismatch, EncodingFailed, NotFound, SemsearchError, UsageError
from semsearch.types import TruncationStats
from semsearch.utils.late_numpy import np
from semsearch.utils.untrusted import one_line
from semsearch.utils.vectors import OWN_VECTORS, defect

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.encoders.encoder_pool import EncoderPool
    from semsearch.types import EncoderLike, Role, Vectors


class LazyEncoder(WrappedEncoder):
    """The encoder `encoder`, which has to have the fingerprint of the index `index`.

    Name, fingerprint and width are those of the index. `recorded` is the reference in the index of its encoder;
    it is loaded if `encoder` is None, and downloaded only with `fetch`; None for an index without an encoder, "" where
    it is not known. owned: `encoder` was loaded for this object, which then closes it. What `pool` has is not loaded
    again, unless `encoder` names one. Threads may share one.
    """

    def __init__(
        self,
        index: str,
        name: str,
        fingerprint: str,
        dim: int,
        *,
        recorded: str | None,
        encoder: EncoderLike | str | None,
        owned: bool = False,
        fetch: bool = True,
        pool: EncoderPool | None = None,
    ) -> None:
        self.name, self.fingerprint, self.dim = name, fingerprint, dim
        self._index, self._recorded, self._encoder = index, recorded, encoder
        self._owned = owned or isinstance(encoder, str) or encoder is None
        self.fetch = fetch
        self._pool = pool if encoder is None and recorded is not None else None
        self._lock = threading.RLock()
        self._model: BaseEncoder | None = None
        self._before: tuple[int | None, TruncationStats] = (0, TruncationStats())  # the model's counters when loaded

    @property
    def model(self) -> BaseEncoder:
        """The encoder itself. Raises EncoderMismatch, NotFound, UsageError."""
        with self._lock:
            if self._model is None:
                model = self._load() if self._pool is None else self._pool.borrow(self.fingerprint, self._load)
                self._before = model.embedded, replace(model.truncation)
                self._model = model
            return self._model

    def close(self) -> None:
        """Close an encoder that was loaded here, or give it back to the pool; one passed in stays open."""
        with self._lock:
            if self._model is None:
                return
            if self._pool is not None:
                self._pool.give_back(self.fingerprint)
                self._pool, self._owned = None, False
            elif self._owned:
                self._model.close()

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim) float32, all of them fit to be stored. Raises EncodingFailed."""
        model = self.model
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        try:
            vectors = model.encode(texts, role=role)
        except (SemsearchError, MemoryError):
            raise
        except Exception as error:
            reason = one_line(f"{type(error).__name__}: {error}")
            raise EncodingFailed(f"the encoder {self.name} failed with {reason}.", "Check the encoder.") from error
        if problem := defect(vectors, len(texts), self.dim):
            message = f"the encoder {self.name} failed: {problem}."
            raise EncodingFailed(message, "Check the encoder.")
        return np.ascontiguousarray(vectors, dtype=np.float32)

    @property
    def embedded(self) -> int | None:
        """Texts that went through the model since it was loaded or passed in; None: not counted."""
        if self._model is None:
            return 0
        now, before = self._model.embedded, self._before[0]
        return None if now is None or before is None else now - before

    @property
    def truncation(self) -> TruncationStats:
        """Truncated texts and tokens since the model was loaded or passed in."""
        if self._model is None:
            return TruncationStats()
        now, before = self._model.truncation, self._before[1]
        return TruncationStats(now.passages - before.passages, now.tokens - before.tokens)

    def _load(self) -> BaseEncoder:
        running = self._recorded if self._encoder is None else self._encoder
        if running is None:
            return NoEncoder(self._index, self.dim)
        if self._encoder is None and not self.fetch:
            require_local(self._index, str(running))
        if not running:
            return _with_fingerprint(self.fingerprint) or self._unknown()
        if isinstance(running, str) and self._encoder is None:  # its model is not loaded only to find it another
            shipped = _encoders().shipped_fingerprint(running)
            if shipped not in (None, self.fingerprint) and (local := _with_fingerprint(self.fingerprint)):
                return local
        try:
            model = load(running) if isinstance(running, str) else as_encoder(running)
        except NotFound as error:
            if self._encoder is not None:
                raise
            if local := _with_fingerprint(self.fingerprint):
                return local
            again = self._command(_encoders().successor(str(running)) or "MODEL")
            raise NotFound(
                f"index {self._index} was built with the encoder {running!r}, which cannot be loaded by name: "
                f"{error.message}",
                f'Encode it again: {again}. Until then, search with mode="keyword", or pass its encoder: '
                "Index.open(NAME, encoder=ENCODER).",
                f"Encode it again with another: {again} (until then, search with --mode keyword).",
            ) from error
        if model.fingerprint == self.fingerprint:
            return model
        if self._encoder is None and (local := _with_fingerprint(self.fingerprint)):
            model.close()
            return local
        if self.fingerprint == OWN_VECTORS:
            raise UsageError(
                f"index {self._index} was built without an encoder, from vectors of your own.",
                "Open it without encoder=, and pass vector= to search.",
                "Open it in Python, with vectors of your own.",
            )
        changed = isinstance(running, str) and running == self._recorded
        first = f"{running} has changed since then: restore it" if changed else f"Use the encoder {self.name}"
        move = f"or encode the index again with {model.name}: {self._command(model.reference)}"
        raise EncoderMismatch(
            self._index,
            built_with=f"{self.name}@{self.fingerprint[:8]}",
            got=f"{model.name}@{model.fingerprint[:8]}",
            fix=f'{first}, search with mode="keyword", {move}',
            command=f"{first}, search with --mode keyword, {move}",
        )

    def _unknown(self) -> NoReturn:
        raise NotFound(
            f"index {self._index} has vectors of the encoder {self.name}@{self.fingerprint[:8]}, and does not know "
            "where that is.",
            f"Encode the index with an encoder of yours: {self._command('MODEL')}",
        )

    def _command(self, model: str) -> str:
        """The command that moves the index to another encoder."""
        return f"semsearch reembed {self._index} -m {model}"


class NoEncoder(BaseEncoder):
    """Encodes nothing, for the index `index` with vectors of width `dim`."""

    name, fingerprint = "none", OWN_VECTORS

    def __init__(self, index: str, dim: int) -> None:
        self.dim = dim
        self._index = index

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """Raises UsageError."""
        refuse(self._index)

    @property
    def embedded(self) -> int:
        return 0


def refuse(index: str) -> NoReturn:
    """Raise the error for a query by text."""
    raise UsageError(
        f"index {index} has no encoder, so a text cannot be compared by meaning.",
        'Search near a vector, vector=, or by words, mode="keyword".',
        "Search by words, --mode keyword, or near a document of the index, --like ID.",
    )


def refuse_text(index: str) -> NoReturn:
    """Raise the error for a document without a vector."""
    raise UsageError(
        f"index {index} has no encoder, so every text needs a vector of its own.",
        "Add documents with their vectors: add(documents, vectors=…).",
        "Add documents with their vectors in Python.",
    )


def require_local(index: str, name: str) -> None:
    """Raise NotFound if the encoder `name`, which a restored `index` names, would have to be downloaded."""
    if not _encoders().is_local(name) and not _encoders().successor(name):
        raise NotFound(
            f"index {index} was restored from a dump with the encoder {name!r}, which is not on this machine.",
            "If you trust the dump, allow the download with semsearch.admin.trust(index).",
            f"If you trust the dump, allow the download: semsearch trust {index}",
        )


def load(name: str) -> Encoder:
    """The encoder called `name`, run as in the settings. Raises NotFound, UsageError, DeviceUnavailable."""
    return _encoders().from_settings(name)


def _with_fingerprint(fingerprint: str) -> Encoder | None:
    """An encoder of this machine with the fingerprint, under whatever name: `default` may be another one by now."""
    name = _encoders().find_local(fingerprint)
    return None if name is None else load(name)


def _encoders() -> type[Encoder]:
    from semsearch.encoders.encoder import Encoder  # 20 ms that a keyword search does not need

    return Encoder
