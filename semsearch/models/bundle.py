"""A saved encoder: one folder with encoder.json, weights and tokenizer, and the fingerprint of its vector space.

The fingerprint is computed from everything that determines the vector of a text: method, prompts with every space,
hashes of weights, their configuration and the tokenizer, pooling, layer, longest input, post-processing, normalisation
and precision class. It is stored, and verified on reading.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from semsearch.errors import Corrupt, NotFound
from semsearch.models import postprocessing as post
from semsearch.models import safetensors_files as weights
from semsearch.models.model_ref import Reference
from semsearch.models.postprocessing import Step
from semsearch.prompts import MARKS, Prompt
from semsearch.types import JsonMapping, JsonObject, Role

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FORMAT = 1
CHECKSUM = "sha256"  # of the rest of a manifest; those of before have none
MANIFEST = "encoder.json"
ONNX = ".onnx"
TOKENIZER = "tokenizer.json"
GRAPH = "onnx_repository"  # the method of a graph of the hub, whose vectors are pooled and normalised after it
DIGITS = 16  # of a fingerprint
AGAIN = "Install semsearch again, or copy the encoder's folder again."
sha256 = weights.hashed  # of a file, as a manifest records it
IDENTITY = ("method", "pooling", "layer", "max_tokens", "normalize", "precision")  # beside prompts, options and hashes


class Saved(Protocol):
    """What the manifests of encoders and of rerankers have in common."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Bundle:
    """The manifest of a saved encoder. `parity` are figures measured at export, against the full-precision model.

    `post` lists the post-processing steps of the method's vectors, and `dim` is the width after them. `options` are
    those of the method that differ from its defaults, `tokens` the tokenizer's own mask, sep, cls and pad.
    `config_sha256` covers the part of the model's configuration that decides how its weights are run. `origin` has the
    sha256 of the weights and the tokenizer that an export was made from, and the operators and the opset of its graph.
    `languages` are the codes of those that the encoder reads; none: not stated.
    `background`: ascending quantiles of the cosine of unrelated texts, p = 0 … 1 in equal steps. `weights` is an ONNX
    file, or the safetensors file (or the index of several) of a Hugging Face folder.
    """

    name: str
    method: str
    dim: int
    max_tokens: int
    precision: str
    pooling: str
    layer: int
    normalize: bool
    prompts: Mapping[Role, Prompt]
    weights: str
    weights_sha256: str
    tokenizer: str
    tokenizer_sha256: str
    licence: str
    source: str
    options: JsonMapping = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)
    config_sha256: str = ""
    origin: JsonMapping = field(default_factory=dict)
    fingerprint: str = ""
    parity: JsonMapping = field(default_factory=dict)
    background: tuple[float, ...] = ()
    post: tuple[Step, ...] = ()
    languages: tuple[str, ...] = ()
    folder: Path = field(default=Path(), compare=False)

    def with_fingerprint(self) -> Bundle:
        """The same bundle with its fingerprint computed.

        An fp32 export is verified to equal its source, so it has the hashes of the source; any other has its own.
        """
        proven = self.origin if self.precision == "fp32" else {}
        parts: JsonObject = {key: getattr(self, key) for key in IDENTITY}
        parts["prompts"] = {role: prompt.as_dict() for role, prompt in self.prompts.items()}
        parts["weights_sha256"] = proven.get("weights_sha256", self.weights_sha256)
        parts["tokenizer_sha256"] = proven.get("tokenizer_sha256", self.tokenizer_sha256)
        if self.options:
            parts["options"] = dict(self.options)
        if self.config_sha256:
            parts["config_sha256"] = self.config_sha256
        if any(mark in prompt.text for prompt in self.prompts.values() for mark in MARKS):
            parts["tokens"] = dict(self.tokens)
        if self.post:
            parts["post"] = [step.identity for step in self.post]
        return replace(self, fingerprint=checksum(parts)[:DIGITS])

    def truncate(self, dim: int | None) -> Bundle:
        """The same encoder with vectors truncated to `dim`; None leaves them. Raises UsageError if they are narrower.

        Parity and background are dropped, since they were measured on whole vectors.
        """
        if dim is None or dim == self.dim:
            return self
        steps, name = post.truncate(self.post, dim, self.dim), str(Reference.parse(self.name).with_(dim=dim))
        width = dim if self.dim else 0
        return replace(self, name=name, dim=width, post=steps, parity={}, background=()).with_fingerprint()

    def path(self, which: str) -> Path:
        """The verified file of `weights` or `tokenizer`. Raises Corrupt if the sha256 differs, NotFound without it."""
        return verified(self, which, self._identity, "encoder", AGAIN)

    def _identity(self, path: Path) -> str:
        """The hash of a tokenizer, or of the weights with a pipeline's modules and a learned prompt."""
        if path != self.folder / self.weights:
            return weights.identity(path)
        further = (self.folder / name for name in self.options.get("then", ()) if (self.folder / name).is_dir())
        modules = (each for one in further for each in weights.of_module(one))
        return weights.combine_hashes([weights.identity(path), *modules, *weights.of_prompt(self.folder, self.method)])

    def describe(self, device: str, provider: str) -> JsonObject:
        """The facts in `semsearch info` about this encoder, run on `device` with `provider`."""
        shown = ("name", "fingerprint", "method", "dim", "max_tokens", "precision", "licence", "source")
        prompts = {role: [prompt.before, prompt.after] for role, prompt in self.prompts.items()}
        facts = {key: getattr(self, key) for key in shown}
        if self.post:
            facts["post"] = [str(step) for step in self.post]
        if self.languages:
            facts["languages"] = list(self.languages)
        return facts | {"device": device, "provider": provider, "prompts": prompts}

    def files(self) -> list[Path]:
        """The files of the encoder beside its manifest."""
        fitted = [] if self.weights.endswith(ONNX) else [at for at, step in enumerate(self.post) if step.sha256]
        further = [f"{post.FOLDER}/{at}/{file}" for at in fitted for file in ("config.json", weights.WHOLE)]
        return [self.folder / name for name in (self.weights, self.tokenizer, *self.origin.get("files", {}), *further)]


def read(folder: Path) -> Bundle:
    """The bundle saved in `folder`. Raises NotFound if it has no manifest, and Corrupt if that is damaged."""
    if not (folder / MANIFEST).is_file():
        raise NotFound(
            f"{folder} is not an encoder: it has no {MANIFEST}.",
            "Name the folder of an exported encoder.",
            "Name the folder of an exported encoder, or see: semsearch models list",
        )
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        recorded = content.pop(CHECKSUM, None)
        actual = checksum(content)
        bundle = _parse(content, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"{folder / MANIFEST} cannot be read: {error}.", AGAIN) from error
    if bundle.with_fingerprint().fingerprint != bundle.fingerprint:
        raise Corrupt(
            f"{folder / MANIFEST} was changed: it does not match the fingerprint {bundle.fingerprint}.", AGAIN
        )
    if recorded not in (None, actual):
        raise Corrupt(f"{folder / MANIFEST} was changed: it does not have its checksum.", AGAIN)
    return bundle


def write(bundle: Bundle, folder: Path) -> Bundle:
    """Write the manifest of `bundle`, with its fingerprint, into `folder`, which has its weights and tokenizer."""
    complete = replace(bundle, folder=folder).with_fingerprint()
    prompts = {role: prompt.as_dict() for role, prompt in complete.prompts.items()}
    write_manifest(folder / MANIFEST, asdict(complete) | {"prompts": prompts})
    return complete


def write_manifest(file: Path, fields: JsonObject) -> None:
    """Write the fields of an encoder or a reranker, but for its folder, with their checksum."""
    content = {"format": FORMAT, **{key: value for key, value in fields.items() if key != "folder"}}
    content[CHECKSUM] = checksum(content)
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def checksum(content: JsonMapping) -> str:
    """The sha256 of all that a manifest has beside it: the fingerprint leaves out figures, names and the licence."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def verified(saved: Saved, which: str, identity: Callable[[Path], str], kind: str, fix: str) -> Path:
    """The file of a model of that `kind` that its field `which` names: its `identity` is `{which}_sha256`.

    A converted tokenizer is in the user's cache, under the hash of its source, and is not read. Raises Corrupt if the
    sha256 differs, and NotFound if the file is missing.
    """
    name = Path(getattr(saved, which))
    path = saved.folder / name
    if name.is_absolute():
        return path
    try:
        actual = weights.hashed(path) if path.suffix == ONNX else identity(path)
    except OSError as error:
        raise NotFound(f"the {kind} {saved.name} lacks its {which}: {path}.", fix) from error
    if actual != getattr(saved, f"{which}_sha256"):
        raise Corrupt(f"the {which} of {kind} {saved.name} are not what was written: {path}.", fix)
    return path


def check_fields(content: JsonObject, kind: type[DataclassInstance]) -> None:
    """Take the format out of a manifest's content. Raises ValueError for another one, and for keys `kind` lacks."""
    if (version := content.pop("format")) != FORMAT:
        raise ValueError(f"it has format {version}, and this semsearch reads format {FORMAT}")
    if unknown := set(content) - {each.name for each in fields(kind)}:
        raise ValueError(f"it has unknown keys {sorted(unknown)}")


def _parse(content: JsonObject, folder: Path) -> Bundle:
    check_fields(content, Bundle)
    prompts = content["prompts"].items()
    content["prompts"] = {role: Prompt(**{**one, "remove": tuple(one.get("remove", ()))}) for role, one in prompts}
    content["background"] = tuple(content["background"])
    content["languages"] = tuple(content.get("languages", ()))
    content["post"] = tuple(Step(**step) for step in content.get("post", ()))
    return Bundle(**{**content, "folder": folder})
