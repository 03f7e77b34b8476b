"""Reference: one string that names a model and how it is read, wherever a model may be named.

    MODEL                                    default, a catalogue name, a folder, hf:owner/name[@revision]
    MODEL#TEMPLATE                           bert-base#cot-bert        ./bert#query: [X]
    MODEL#key=value,…,template=TEMPLATE      ./opt#dtype=bf16,layer=-2,template=prompteol

TEMPLATE is a name of the library, a TOML file, or a text with [X]. `template=` comes last and takes all that follows;
so does a text with [X]. Other keys: dtype, layer, max_tokens, dim (the first numbers of a vector that are kept),
revision, and the options of the method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from semsearch.errors import UsageError
from semsearch.prompts import SLOT
from semsearch.types import JsonObject

HUB = "hf:"
KEY = re.compile(r"([A-Za-z_]\w*)=")
NUMBER = re.compile(r"-?\d+")
PRECISIONS = ("fp32", "fp16", "bf16", "int8", "nf4")
ALSO = {"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "4bit": "nf4", "int4": "nf4"}
WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Reference:
    """A model and how it is read. "" and None: whatever the model or the template says. `options` are the method's."""

    model: str
    template: str = ""
    dtype: str = ""
    layer: int | None = None
    max_tokens: int | None = None
    revision: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    dim: int | None = None

    @classmethod
    def parse(cls, text: str | Path) -> Reference:
        """The reference that `text` writes. Raises UsageError.

        >>> read = Reference.parse("opt#dtype=bf16,denoise=pad,template=a, b [X]")
        >>> read.model, read.dtype, read.options, read.template
        ('opt', 'bf16', {'denoise': 'pad'}, 'a, b [X]')
        """
        if isinstance(text, Path):
            return cls(str(text))
        model, fragment = _split(text)
        if not model:
            raise UsageError(f"{text!r} names no model.", "Write MODEL or MODEL#TEMPLATE: see semsearch models list")
        given: JsonObject = {}
        while fragment:
            key, value, fragment = _next(fragment)
            if key in given:
                raise UsageError(f"{text!r} says {key} twice.", "Say it once.")
            given[key] = value
        if model.startswith(HUB) and "revision" not in given:
            model, _, given["revision"] = model.partition("@")
        return cls(model).with_(**given)

    def with_(self, **given: Any) -> Reference:
        """The same with other parts; None among them says nothing. Raises UsageError for a value that cannot be.

        >>> str(Reference("bert").with_(template="cot-bert", layer=-2, head=None))
        'bert#layer=-2,template=cot-bert'
        """
        told = {key: value for key, value in given.items() if value is not None}
        options = {**self.options, **told.pop("options", {})}
        known = {key: _checked(key, told.pop(key)) for key in (*FIELDS, "model") if key in told}
        return replace(self, **known, options={**options, **told})

    def __str__(self) -> str:
        model = f"{self.model}@{self.revision}" if self.revision and self.model.startswith(HUB) else self.model
        told = {key: getattr(self, key) for key in ("dtype", "layer", "max_tokens", "dim", "revision")}
        if model != self.model:
            told["revision"] = ""
        told |= dict(sorted(self.options.items()))
        parts = [f"{key}={_written(value)}" for key, value in told.items() if value not in ("", None)]
        if not parts and self.template and _plain(self.template):
            return f"{model}#{self.template}"
        parts += [f"template={self.template}"] if self.template else []
        return f"{model}#{','.join(parts)}" if parts else model


def _split(text: str) -> tuple[str, str]:
    """The model and what is behind its #. A folder's name may hold a # itself."""
    places = [at for at, letter in enumerate(text) if letter == "#"]
    if not places or _is_folder(text):
        return text, ""
    at = next((at for at in places[:0:-1] if _is_folder(text[:at])), places[0])
    return text[:at], text[at + 1 :]


def _is_folder(path: str) -> bool:
    try:
        return Path(path).expanduser().is_dir()
    except (OSError, ValueError):  # a template can be too long for a file's name, or hold a NUL
        return False


def _next(fragment: str) -> tuple[str, Any, str]:
    """Key and value of the first part of `fragment`, and the rest."""
    found = KEY.match(fragment)
    if found is None and SLOT in fragment:
        return "template", fragment, ""
    if found is not None and found[1] == "template":
        return "template", fragment[found.end() :], ""
    part, _, rest = fragment.partition(",")
    if found is None:
        return "template", part, rest
    value = part[found.end() :]
    return found[1], value if found[1] in ("dtype", "revision") else _read(value), rest


def _read(value: str) -> Any:
    """A whole number, true or false, else the text."""
    return int(value) if NUMBER.fullmatch(value) else WORDS.get(value, value)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(template: str) -> bool:
    """Whether `template` needs no key in front of it."""
    return _next(template) == ("template", template, "")


def _checked(key: str, value: Any) -> Any:
    right, wanted = FIELDS.get(key, (str, "a text"))
    value = ALSO.get(value, value) if key == "dtype" else value
    wrong = not isinstance(value, right) or isinstance(value, bool)
    if (
        wrong
        or (key in ("max_tokens", "dim") and int(value) < 1)
        or (key == "dtype" and value not in ("", *PRECISIONS))
    ):
        raise UsageError(f"{key} cannot be {value!r}.", f"It has to be {wanted}.")
    return value


FIELDS: dict[str, tuple[type, str]] = {
    "template": (str, "a name of `semsearch templates list`, a TOML file, or a text with [X]"),
    "dtype": (str, f"one of {', '.join(PRECISIONS)}"),
    "layer": (int, "a whole number: 0 is the embeddings, -1 the last layer"),
    "max_tokens": (int, "a whole number, 1 or more"),
    "dim": (int, "a whole number, 1 or more"),
    "revision": (str, "a branch, a tag or a commit"),
}
