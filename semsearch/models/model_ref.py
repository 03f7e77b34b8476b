"""References: one string that names a model and the way to read it.

    MODEL                                    default, a catalogue name, a folder, hf:owner/name[@revision]
    MODEL#TEMPLATE                           bert-base#cot-bert        ./bert#query: [X]
    MODEL#key=value,…,template=TEMPLATE      ./opt#dtype=bf16,layer=-2,template=prompteol

TEMPLATE is a name of the library, a TOML file, or a text with [X]. `template=` comes last and takes the rest of the
string; so does a text with [X]. Other keys: dtype, layer, max_tokens, dim (vectors are truncated to it), revision, and
the options of the method.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from semsearch.errors import UsageError
from semsearch.prompts import SLOT
from semsearch.types import JsonMapping, JsonObject

HUB = "hf:"
KEY = re.compile(r"([A-Za-z_]\w*)=")
NUMBER = re.compile(r"-?\d+")
DECIMAL = re.compile(r"-?\d+\.\d+")
PRECISIONS = ("fp32", "fp16", "bf16", "int8", "nf4")
ALSO = {"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "4bit": "nf4", "int4": "nf4"}
WORDS = {"true": True, "false": False}
Value: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Reference:
    """A model and the way to read it. "" and None leave a part to the model or template; `options` are the method's."""

    model: str
    template: str = ""
    dtype: str = ""
    layer: int | None = None
    max_tokens: int | None = None
    revision: str = ""
    options: JsonMapping = field(default_factory=dict)
    dim: int | None = None

    @classmethod
    def parse(cls, text: str | Path) -> Reference:
        """The reference written as `text`. Raises UsageError.

        >>> read = Reference.parse("opt#dtype=bf16,denoise=pad,template=a, b [X]")
        >>> read.model, read.dtype, read.options, read.template
        ('opt', 'bf16', {'denoise': 'pad'}, 'a, b [X]')
        """
        if isinstance(text, Path):
            return cls(str(text))
        if not isinstance(text, str):
            raise UsageError(f"an encoder is named by a text or a path, not {text!r}.", 'For example: "default".')
        model, fragment = _split(text)
        if not model:
            raise UsageError(
                f"{text!r} names no model.",
                "Write MODEL or MODEL#TEMPLATE.",
                "Write MODEL or MODEL#TEMPLATE: see semsearch models list",
            )
        parts: JsonObject = {}
        while fragment:
            key, value, fragment = _next(fragment)
            if key in parts:
                raise UsageError(f"{text!r} sets {key} twice.", "Set it once.")
            parts[key] = value
        if model.startswith(HUB) and "revision" not in parts:
            model, _, parts["revision"] = model.partition("@")
        return cls(model).with_(**parts)

    def with_(self, **parts: object) -> Reference:
        """The same with some parts changed; None leaves a part as it is. Raises UsageError for an invalid value.

        >>> str(Reference("bert").with_(template="cot-bert", layer=-2, head=None))
        'bert#layer=-2,template=cot-bert'
        """
        changes: JsonObject = {key: value for key, value in parts.items() if value is not None}
        options = {**self.options, **changes.pop("options", {})}
        fields: JsonObject = {key: _checked(key, changes.pop(key)) for key in (*FIELDS, "model") if key in changes}
        return replace(self, **fields, options={**options, **changes})

    def __str__(self) -> str:
        model = f"{self.model}@{self.revision}" if self.revision and self.model.startswith(HUB) else self.model
        values = {key: getattr(self, key) for key in ("dtype", "layer", "max_tokens", "dim", "revision")}
        if model != self.model:
            values["revision"] = ""
        values |= dict(sorted(self.options.items()))
        named = {key: value for key, value in values.items() if value not in ("", None)}
        parts = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in named.items()]
        if not parts and self.template and _next(self.template) == ("template", self.template, ""):  # needs no key
            return f"{model}#{self.template}"
        parts += [f"template={self.template}"] if self.template else []
        return f"{model}#{','.join(parts)}" if parts else model


def _split(text: str) -> tuple[str, str]:
    """The model and the fragment after its #. A folder's name may contain a # itself."""
    places = [at for at, letter in enumerate(text) if letter == "#"]
    if not places or _is_folder(text):
        return text, ""
    at = next((at for at in places[:0:-1] if _is_folder(text[:at])), places[0])
    return text[:at], text[at + 1 :]


def _is_folder(path: str) -> bool:
    try:
        return Path(path).expanduser().is_dir()
    except (OSError, ValueError):  # a template can be too long for a file name, or contain a NUL
        return False


def _next(fragment: str) -> tuple[str, Value, str]:
    """Key and value of the first part of `fragment`, and the rest."""
    key = KEY.match(fragment)
    if key is None and SLOT in fragment:
        return "template", fragment, ""
    if key is not None and key[1] == "template":
        return "template", fragment[key.end() :], ""
    part, _, rest = fragment.partition(",")
    if key is None:
        return "template", part, rest
    value = part[key.end() :]
    return key[1], value if key[1] in ("dtype", "revision") else _read(value), rest


def _read(value: str) -> Value:
    """A number, true or false, else the text."""
    if DECIMAL.fullmatch(value):
        return float(value)
    return int(value) if NUMBER.fullmatch(value) else WORDS.get(value, value)


def _checked(key: str, value: object) -> object:
    right, expected = FIELDS.get(key, (str, "a text"))
    if key == "dtype" and isinstance(value, str):
        value = ALSO.get(value, value)
    too_small = key in ("max_tokens", "dim") and isinstance(value, int) and value < 1
    unknown = key == "dtype" and value not in ("", *PRECISIONS)
    if not isinstance(value, right) or isinstance(value, bool) or too_small or unknown:
        raise UsageError(f"{key} cannot be {value!r}.", f"It has to be {expected}.")
    return value


FIELDS: dict[str, tuple[type, str]] = {
    "template": (str, "the name of a template, a TOML file, or a text with [X]"),
    "dtype": (str, f"one of {', '.join(PRECISIONS)}"),
    "layer": (int, "a whole number: 0 is the embeddings, -1 the last layer"),
    "max_tokens": (int, "a whole number, 1 or more"),
    "dim": (int, "a whole number, 1 or more"),
    "revision": (str, "a branch, a tag or a commit"),
}
