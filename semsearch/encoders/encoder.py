"""The public Encoder: text to unit vectors, under the names of sentence-transformers.

A back end (encoders/onnx, torch_backend, hashing) computes the vectors. The Encoder adds loading by name, roles and
prompts, the embedding cache, and arguments and shapes like those of sentence-transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from semsearch import settings
from semsearch.encoders import factory, pair_similarity
from semsearch.encoders.base import BaseEncoder, EncoderBackend
from semsearch.errors import MissingExtra, UnknownName, UsageError
from semsearch.models import local_models
from semsearch.models.model_ref import Reference
from semsearch.prompts import Prompt
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from semsearch.encoders.embedding_cache import VectorCache
    from semsearch.types import JsonMapping, JsonObject, Role, TruncationStats, Vectors

WINDOW = 1024  # texts between two steps of the progress bar, which are lost at most in a crash
ROLES: Mapping[str, Role] = {"query": "query", "passage": "passage", "document": "passage"}


class OutputOptions(TypedDict, total=False):
    """The keywords of `Encoder.encode` about its result, and those of sentence-transformers that it refuses."""

    role: Role
    output_value: str | None
    precision: str
    convert_to_numpy: bool
    convert_to_tensor: bool
    device: str | None
    normalize_embeddings: bool
    truncate_dim: int | None
    inputs: str | Sequence[str]
    pool: object
    chunk_size: object


class LoadOptions(TypedDict, total=False):
    """The options of `Encoder.load`."""

    device: str
    backend: str
    threads: int
    cache: Path | None
    cache_mb: int
    template: str | None
    dtype: str | None
    layer: int | None
    options: JsonMapping | None
    truncate_dim: int | None
    trust_remote_code: bool


class Encoder(BaseEncoder):
    """Turns text into (n, d) float32 rows of length 1, so that a dot product is a cosine.

    >>> encoder = Encoder.load("hashing")
    >>> encoder.encode(["a diesel engine", "a bowl of soup"]).shape
    (2, 256)
    >>> encoder.encode("a diesel engine").shape
    (256,)
    """

    def __init__(self, backend: EncoderBackend, cache: VectorCache | None = None, reference: str = "") -> None:
        self._backend = backend
        self._cache = cache
        self.name, self.fingerprint, self.dim = backend.name, backend.fingerprint, backend.dim
        self.max_tokens = backend.max_tokens
        self._reference = reference or backend.name
        self._embedded = 0

    catalogue = staticmethod(local_models.catalogue)
    models_dir = staticmethod(local_models.models_dir)
    list_local = staticmethod(local_models.list_local)
    is_local = staticmethod(local_models.is_local)
    find_local = staticmethod(factory.find_local)
    shipped_fingerprint = staticmethod(factory.shipped_fingerprint)
    successor = staticmethod(factory.successor)
    pull = staticmethod(local_models.pull)
    remove = staticmethod(local_models.remove)

    @classmethod
    def load(
        cls,
        name: str | Path = "default",
        *,
        device: str = "auto",
        backend: str = "auto",
        threads: int = 0,
        cache: Path | None = None,
        cache_mb: int = 1024,
        template: str | None = None,
        dtype: str | None = None,
        layer: int | None = None,
        options: JsonMapping | None = None,
        truncate_dim: int | None = None,
        trust_remote_code: bool = False,
    ) -> Encoder:
        """The encoder called `name`: "default", another name of the catalogue, a folder, or hf:owner/name.

        A folder has a bundle, or a Hugging Face or sentence-transformers model, which is read under `template`: a
        name of the library, a TOML file, or a text with [X]. `dtype` is fp32, bf16, fp16 or, for decoders, nf4;
        `layer` and `options` are those of the template's method; `truncate_dim` leaves the first numbers of every
        vector, for an encoder that was trained for it (Matryoshka). All of them can be part of the name, as in
        "bert#cot-bert" or "bert#dim=64,template=mean". `device` is auto, cpu, cuda or cuda:N; `threads` 0 means one
        worker per core; `backend` is auto, onnx or torch. With `cache`, passages are embedded once, ever: their vectors
        are stored in that SQLite file, of at most `cache_mb` megabytes. Code that comes with a model runs only with
        `trust_remote_code`.

        Raises NotFound, UsageError, DeviceUnavailable, and MissingExtra if a model needs torch.

        >>> Encoder.load("defualt")
        Traceback (most recent call last):
        ...
        semsearch.errors.NotFound: no encoder is called 'defualt'. Did you mean 'default'? Choose from: ...
        """
        reference = Reference.parse(name).with_(
            template=template, dtype=dtype, layer=layer, options=options, dim=truncate_dim
        )
        running, resolved = factory.open_backend(
            reference, device=device, backend=backend, threads=threads, trust=trust_remote_code
        )
        return cls._with_cache(running, resolved, cache, cache_mb)

    @classmethod
    def from_settings(cls, name: str, *, trust_remote_code: bool = False) -> Encoder:
        """`load` with the user's settings and embedding cache, on the engine that `semsearch bench --keep` found."""
        chosen = settings.load()
        running, resolved = factory.open_backend(
            Reference.parse(name),
            device=chosen.device,
            threads=chosen.threads,
            trust=trust_remote_code,
            fastest=True,
        )
        cache = settings.cache_file() if chosen.embedding_cache_mb else None
        return cls._with_cache(running, resolved, cache, chosen.embedding_cache_mb)

    @classmethod
    def _with_cache(cls, running: EncoderBackend, resolved: Reference, cache: Path | None, cache_mb: int) -> Encoder:
        if cache is None:
            return cls(running, reference=str(resolved))
        from semsearch.encoders.embedding_cache import VectorCache  # sqlite3: 20 ms that a query does not need

        return cls(running, VectorCache(cache, running.dim, cache_mb << 20), str(resolved))

    def __repr__(self) -> str:
        return f"Encoder({self.name!r}, dim={self.dim}, device={self.device!r})"

    @property
    def backend(self) -> EncoderBackend:
        """The back end that runs the model; see `factory.torch_backend` for its network."""
        return self._backend

    @property
    def background(self) -> Sequence[float]:
        """Quantiles of the cosine of unrelated texts, for strengths; measured once for a model without them."""
        if self._backend.background or self._backend.bundle is None:
            return self._backend.background
        prompt = self._backend.prompts["passage"]
        return pair_similarity.background(self.fingerprint, lambda texts: self._backend.embed(texts, prompt))

    @property
    def languages(self) -> Sequence[str]:
        """ISO 639-1 codes of the languages that it reads; empty: the model does not say."""
        return self._backend.languages

    @property
    def info(self) -> JsonObject:
        """Name, fingerprint, method, width, limits, prompts, licence, source, and the device in use."""
        return dict(self._backend.info)

    @property
    def reference(self) -> str:
        """The reference with which `load` loads this encoder from any working directory."""
        return self._reference

    @property
    def embedded(self) -> int:
        """Texts that went through the model since loading; the others came from the cache."""
        return self._embedded

    @property
    def truncation(self) -> TruncationStats:
        """The numbers of truncated texts (`passages`) and of their truncated `tokens` since loading."""
        return self._backend.truncation

    @property
    def device(self) -> str:
        """The device that really runs: cpu, or cuda:N."""
        return self._backend.device

    def close(self) -> None:
        """Close the file of the embedding cache; the next passage opens it again."""
        if self._cache is not None:
            self._cache.close()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens.

        >>> Encoder.load("hashing").count_tokens(["three small words", ""])
        [3, 0]
        """
        return self._backend.count_tokens(texts)

    @overload
    def encode(
        self,
        sentences: str | Sequence[str],
        prompt_name: str | None = ...,
        prompt: str | None = ...,
        batch_size: int | None = ...,
        show_progress_bar: bool | None = ...,
        *,
        role: Role = ...,
        normalize_embeddings: bool = ...,
        truncate_dim: int | None = ...,
    ) -> Vectors: ...
    @overload
    def encode(
        self,
        sentences: str | Sequence[str] = ...,
        prompt_name: str | None = ...,
        prompt: str | None = ...,
        batch_size: int | None = ...,
        show_progress_bar: bool | None = ...,
        **options: Unpack[OutputOptions],
    ) -> Any: ...
    def encode(
        self,
        sentences: str | Sequence[str] | None = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        *,
        role: Role = "passage",
        inputs: str | Sequence[str] | None = None,
        **other: object,
    ) -> Any:
        """n texts -> (n, d) float32 unit rows in their order, (0, d) for none; a str gives (d,).

        The arguments are those of sentence-transformers. `prompt` is put before each text; without it `prompt_name`
        (query, document) or `role` chooses one of the encoder's own. `batch_size` is a limit, for speed only. Rows
        have length 1 already; `normalize_embeddings` matters together with `truncate_dim`, which leaves the first
        columns. `convert_to_tensor` returns a torch tensor, and `convert_to_numpy=False` a list of them.

        >>> Encoder.load("hashing").encode(["soup"], prompt_name="query", truncate_dim=16).shape
        (1, 16)
        """
        sentences = inputs if sentences is None else sentences
        texts = _strings(sentences)
        _refuse(other, output_value, device, self.device)
        chosen = self._prompt(prompt, prompt_name, role)
        with _progress(bool(show_progress_bar), len(texts)) as step:
            vectors = self._embed(texts, chosen, batch_size, step, cached=role != "query")
        if truncate_dim is not None:
            vectors = np.ascontiguousarray(vectors[:, :truncate_dim])
            vectors = unit_rows(vectors) if normalize_embeddings else vectors
        rows = _quantised(vectors, precision)
        result = rows[0] if isinstance(sentences, str) else rows
        return result if convert_to_numpy and not convert_to_tensor else _tensors(result, convert_to_tensor)

    def encode_query(
        self,
        sentences: str | Sequence[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        **options: Unpack[OutputOptions],
    ) -> Any:
        """`encode` under the prompt for queries.

        >>> Encoder.load("hashing").encode_query("diesel").shape
        (256,)
        """
        options.setdefault("role", "query")
        return self.encode(sentences, prompt_name, prompt, batch_size, show_progress_bar, **options)

    def encode_document(
        self,
        sentences: str | Sequence[str],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        **options: Unpack[OutputOptions],
    ) -> Any:
        """`encode` under the prompt for passages, which is also that of plain `encode`."""
        options.setdefault("role", "passage")
        return self.encode(sentences, prompt_name, prompt, batch_size, show_progress_bar, **options)

    def similarity(self, a: ArrayLike, b: ArrayLike) -> Vectors:
        """Cosines (n, m) of vectors a (n, d) and b (m, d); one vector (d,) counts as one row.

        >>> encoder = Encoder.load("hashing")
        >>> encoder.similarity(encoder.encode("soup"), encoder.encode(["soup", "knots"])).round(2).tolist()
        [[1.0, 0.0]]
        """
        left, right = (unit_rows(np.atleast_2d(np.asarray(each, dtype=np.float32))) for each in (a, b))
        return np.asarray(left @ right.T, dtype=np.float32)

    def _prompt(self, prompt: str | None, name: str | None, role: Role) -> Prompt:
        if prompt is not None:
            return Prompt(before=prompt)
        if name is not None and name not in ROLES:
            raise UnknownName("prompt", name, ROLES)
        return self._backend.prompts[ROLES[name or role]]

    def _embed(
        self, texts: Sequence[str], prompt: Prompt, batch_size: int | None, step: Callable[[int], None], *, cached: bool
    ) -> Vectors:
        """Distinct texts in windows, each from the cache or from the model; rows in the order of `texts`."""
        places = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        distinct = list(places)
        vectors = np.empty((len(distinct), self.dim), dtype=np.float32)
        for start in range(0, len(distinct), WINDOW):
            window = distinct[start : start + WINDOW]
            vectors[start : start + len(window)] = self._window(window, prompt, batch_size, cached=cached)
            step(len(window))
        step(len(texts) - len(distinct))
        return vectors if len(distinct) == len(texts) else vectors[[places[text] for text in texts]]

    def _window(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None, *, cached: bool) -> Vectors:
        if self._cache is None or not cached:
            self._embedded += len(texts)
            return self._backend.embed(texts, prompt, batch_size)
        rules = prompt.as_dict()
        identity = repr((self.fingerprint, rules.pop("before"), rules.pop("after"), *sorted(rules.items())))
        cached_rows = self._cache.get(identity, texts)
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for at, vector in cached_rows.items():
            vectors[at] = vector
        if missing := [at for at in range(len(texts)) if at not in cached_rows]:
            self._embedded += len(missing)
            unknown = [texts[at] for at in missing]
            vectors[missing] = self._backend.embed(unknown, prompt, batch_size)
            self._cache.put(identity, unknown, vectors[missing])
        return self._cache.rounded(vectors)


def _strings(texts: object) -> list[str]:
    """A string, or any iterable of strings, as a list."""
    if not isinstance(texts, Iterable):
        raise UsageError(f"encode() takes a text or several, not {texts!r}.", 'For example: encode(["a red car"]).')
    strings = [texts] if isinstance(texts, str) else list(texts)
    for at, text in enumerate(strings):
        if not isinstance(text, str):
            raise UsageError(f"text {at} is not a string but {type(text).__name__}.")
    return strings


def _refuse(other: Mapping[str, object], output_value: str | None, device: str | None, runs_on: str) -> None:
    """Raises UsageError for unsupported arguments of sentence-transformers, and for unknown ones."""
    named = {key: value for key, value in other.items() if value is not None}
    for key in ("pool", "chunk_size"):
        if named.pop(key, None) is not None:
            raise UsageError(f"encode: {key} is not supported.", "All cores are used anyway; see `threads` of load.")
    if named:
        raise UsageError(f"encode: unknown arguments {', '.join(sorted(named))}.")
    if output_value != "sentence_embedding":
        raise UsageError(f"encode: output_value {output_value!r} is not supported.", "Use 'sentence_embedding'.")
    if device is not None and str(device).partition(":")[0] != runs_on.partition(":")[0]:
        raise UsageError(f"encode: this encoder was loaded on {runs_on}.", f"Encoder.load(name, device={device!r})")


def _quantised(vectors: Vectors, precision: str) -> NDArray[np.generic]:
    """float32 unchanged; for binary and ubinary one bit per component, packed as in sentence-transformers."""
    if precision == "float32":
        return vectors
    bits = np.packbits(vectors > 0, axis=1)
    if precision == "ubinary":
        return bits
    if precision == "binary":
        return (bits.astype(np.int16) - 128).astype(np.int8)
    raise UsageError(f"encode: precision {precision!r} is not supported.", "Choose from: float32, binary, ubinary.")


def _tensors(vectors: NDArray[np.generic], whole: bool) -> object:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("a torch tensor", "train", "PyTorch") from error
    tensor = torch.from_numpy(np.ascontiguousarray(vectors))
    return tensor if whole or tensor.ndim == 1 else list(tensor)


@contextmanager
def _progress(show: bool, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if `show`."""
    if not show:
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("Encoding", total=total)
        yield lambda count: bar.advance(task, count)
