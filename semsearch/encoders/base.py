"""Base classes of encoders: the defaults of an encoder of your own, and the contract of a back end.

class Mine(BaseEncoder):
    name, fingerprint, dim = "mine", "mine-1", 256

    def encode(self, texts, /, *, role):
        return unit_rows(...)  # (n, 256) float32
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from semsearch.errors import UsageError
from semsearch.types import TruncationStats

if TYPE_CHECKING:
    from semsearch.models.bundle import Bundle
    from semsearch.models.tokenization import Tokenizer
    from semsearch.prompts import Prompt
    from semsearch.types import EncoderLike, JsonObject, Role, Vectors

REQUIRED = ("name", "fingerprint", "dim", "encode")
BYTES_PER_TOKEN = 4  # a rule of thumb: a token has 4 to 5 letters in English, and 3 bytes or more in Chinese
T = TypeVar("T")


class BaseEncoder(ABC):
    """An encoder with defaults for everything but `name`, `fingerprint`, `dim` and `encode` (types.EncoderProtocol)."""

    name: str
    fingerprint: str
    dim: int

    @abstractmethod
    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim) float32 unit rows in their order, (0, dim) for none."""

    def close(self) -> None:
        """Close the files that are open; by default there are none."""
        return

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text alone; by default an estimate from its length in bytes."""
        return [-(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN) for text in texts]

    @property
    def background(self) -> Sequence[float]:
        """Quantiles of the cosines of unrelated texts; empty: unknown, an index measures its own."""
        return ()

    @property
    def languages(self) -> Sequence[str]:
        """Codes of the languages that it reads; empty: it does not say."""
        return ()

    @property
    def info(self) -> JsonObject:
        """The facts about this encoder in `semsearch info`."""
        return {"name": self.name, "fingerprint": self.fingerprint, "dim": self.dim}

    @property
    def reference(self) -> str:
        """The name or reference with which `Encoder.load` loads this encoder."""
        return self.name

    @property
    def embedded(self) -> int | None:
        """Texts that went through the model so far; None: not counted."""
        return None

    @property
    def truncation(self) -> TruncationStats:
        """Truncated texts and tokens so far."""
        return TruncationStats()

    @property
    def backend(self) -> EncoderBackend | None:
        """The back end that runs the model; None for an encoder of your own."""
        return None


class WrappedEncoder(BaseEncoder):
    """An encoder around another one, `model`, which answers for everything that is not defined here."""

    @property
    @abstractmethod
    def model(self) -> BaseEncoder:
        """The encoder inside."""

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        return list(self.model.count_tokens(texts))

    @property
    def background(self) -> Sequence[float]:
        return self.model.background

    @property
    def languages(self) -> Sequence[str]:
        return self.model.languages

    @property
    def info(self) -> JsonObject:
        return self.model.info

    @property
    def reference(self) -> str:
        return self.model.reference

    @property
    def embedded(self) -> int | None:
        return self.model.embedded

    @property
    def backend(self) -> EncoderBackend | None:
        return self.model.backend


class EncoderBackend(BaseEncoder):
    """Runs a model, by itself or inside an Encoder: a class of encoders/onnx, torch_backend or hashing.

    `embed` is the only way from text to vectors. `bundle` describes the model, `device` is where it really runs:
    cpu or cuda:N. `max_tokens` is the longest input, special tokens included.
    """

    runtime: Literal["numpy", "ONNX Runtime", "PyTorch"]
    max_tokens: int
    prompts: Mapping[Role, Prompt]
    device: str = "cpu"
    bundle: Bundle | None = None
    embedded: int = 0  # texts passed to `encode` so far
    overlaps: ClassVar[bool] = False  # may run in another thread, and ends when told to (models/batching)

    @abstractmethod
    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        """n texts under `prompt` -> (n, dim) float32 unit rows in their order; `batch_size` is a limit, for speed."""

    def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
        """n texts under the prompt of `role` -> (n, dim) float32 unit rows in their order."""
        self.embedded += len(texts)
        return self.embed(texts, self.prompts[role])

    @property
    def backend(self) -> EncoderBackend:
        """Itself."""
        return self


class BundleBackend(EncoderBackend):
    """A back end that runs the model of a bundle with its tokenizer."""

    bundle: Bundle
    _tokenizer: Tokenizer

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens."""
        return self._tokenizer.count(texts)

    @property
    def background(self) -> tuple[float, ...]:
        """That of the bundle; empty if it was not measured."""
        return self.bundle.background

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that the bundle states."""
        return self.bundle.languages

    @property
    def truncation(self) -> TruncationStats:
        """Truncated texts and tokens since loading."""
        return self._tokenizer.truncation


def as_encoder(encoder: EncoderLike) -> BaseEncoder:
    """`encoder` with defaults for missing members. Raises UsageError for an object that is no encoder.

    >>> as_encoder(object())
    Traceback (most recent call last):
    ...
    semsearch.errors.UsageError: a value of type object is not an encoder: it has no name, fingerprint, dim, encode. ...
    """
    if isinstance(encoder, BaseEncoder):
        return encoder
    if missing := [member for member in REQUIRED if not hasattr(encoder, member)]:
        raise UsageError(
            f"a value of type {type(encoder).__name__} is not an encoder: it has no {', '.join(missing)}.",
            "Use Encoder.load(NAME), or a subclass of semsearch.encoders.base.BaseEncoder.",
        )
    return _Adapted(encoder)


class _Adapted(BaseEncoder):
    """A foreign encoder with defaults for missing members. Only here are members of an encoder looked up."""

    def __init__(self, foreign: EncoderLike) -> None:
        self.name, self.fingerprint, self.dim = foreign.name, foreign.fingerprint, foreign.dim
        self._foreign = foreign

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        return self._foreign.encode(texts, role=role)

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        return list(self._own("count_tokens", super().count_tokens)(texts))

    @property
    def background(self) -> Sequence[float]:
        return self._own("background", super().background)

    @property
    def languages(self) -> Sequence[str]:
        return self._own("languages", super().languages)

    @property
    def info(self) -> JsonObject:
        return dict(self._own("info", super().info))

    @property
    def reference(self) -> str:
        return self._own("reference", super().reference)

    @property
    def embedded(self) -> int | None:
        return self._own("embedded", super().embedded)

    @property
    def truncation(self) -> TruncationStats:
        return self._own("truncation", super().truncation)

    @property
    def backend(self) -> EncoderBackend | None:
        backend = self._own("backend", super().backend)
        return backend if isinstance(backend, EncoderBackend) else None  # of a SentenceTransformer it is a word

    def close(self) -> None:
        self._own("close", super().close)()

    def _own(self, member: str, default: T) -> T:
        own: T = getattr(self._foreign, member, default)
        return own
