"""Tokenizer files of a Hugging Face folder: the defining file, its hash, and the names of special tokens.

tokenizer.json is used as it is. Older files (vocab.txt, vocab.json and merges.txt, a sentencepiece model) are converted
once into the user's cache; so is a tokenizer.json that needs an amendment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from semsearch.errors import Corrupt, MissingExtra, NotFound, SemsearchError
from semsearch.models import safetensors_files
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils import user_cache
from semsearch.utils.file_contents import read_object

WHOLE = "tokenizer.json"
OLDER = ("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "sentencepiece.bpe.model", "spiece.model")
CONFIG, NAMED = "tokenizer_config.json", "special_tokens_map.json"
USUAL = {  # common names of special tokens
    "mask": ("[MASK]", "<mask>"),
    "sep": ("[SEP]", "</s>"),
    "cls": ("[CLS]", "<s>"),
    "pad": ("[PAD]", "<pad>"),
}
UNBOUNDED = 1_000_000  # tokens: model_max_length is 10^30 if it was never set


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`file` is a name in the folder or an absolute path; `sha256` is that of the source files in the folder.

    `tokens` names the mask, sep, cls and pad that exist. `longest` input in tokens, or None.
    """

    file: str
    sha256: str
    tokens: Mapping[str, str]
    longest: int | None


def read(folder: Path, *, lower: bool = False, trust: bool = False) -> Vocabulary:
    """The tokenizer in `folder`; with `lower` texts are lower-cased first. Raises NotFound, Corrupt."""
    config, path = read_object(folder / CONFIG), folder / WHOLE
    files = there(folder)
    if not files:
        raise NotFound(f"{folder} has no tokenizer: no {WHOLE}.", "Copy the whole model, or name another folder.")
    configs = [folder / CONFIG] if config else []
    identity = safetensors_files.combine_hashes(map(safetensors_files.sha256, (*files, *configs)))
    whole = path.is_file()
    text = path.read_bytes() if whole else user_cache.read(_cached(identity)) or _converted(folder, trust).encode()
    content = _parsed(text, path if whole else folder)
    tokens, length = _tokens(folder, config, content), config.get("model_max_length")
    longest = int(length) if isinstance(length, int | float) and 0 < length < UNBOUNDED else None
    if amended := _amended(content, config, lower=lower):
        identity = safetensors_files.combine_hashes([identity, *amended])
        text = json.dumps(content, ensure_ascii=False).encode()
    elif whole:
        return Vocabulary(WHOLE, safetensors_files.sha256(path), tokens, longest)
    return Vocabulary(_store(identity, text), identity, tokens, longest)


def there(folder: Path) -> list[Path]:
    """The files that define a tokenizer in `folder`."""
    return [folder / name for name in (WHOLE, *OLDER) if (folder / name).is_file()]


def _parsed(text: bytes, where: Path) -> JsonObject:
    try:
        content: JsonObject = json.loads(text)
        _ = content["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"{where} is not a tokenizer: {error}.", "Copy the model again.") from error
    return content


def _converted(folder: Path, trust: bool) -> str:
    try:
        from semsearch.models.networks.loading import convert_tokenizer
    except ImportError as error:
        raise MissingExtra(
            f"the tokenizer of {folder}, which has no {WHOLE},", "train", error.name or "transformers"
        ) from error
    return convert_tokenizer(folder, trust=trust)


def _amended(content: JsonObject, config: JsonMapping, *, lower: bool) -> list[str]:
    """Amend a tokenizer's `content` as its configuration requires; the names of the amendments made."""
    done = []
    steps = _listed(content.get("normalizer"), "normalizers")
    if lower and not any(step["type"] == "Lowercase" or step.get("lowercase") is True for step in steps):
        content["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, *steps]}
        done.append("lower")
    start, steps = _content(config.get("bos_token")), _listed(content.get("post_processor"), "processors")
    if config.get("add_bos_token") and start and not _begin_with(steps, start):
        number = next((each["id"] for each in content["added_tokens"] if each["content"] == start), None)
        number = content["model"].get("vocab", {}).get(start) if number is None else number
        if number is not None:
            content["post_processor"] = {"type": "Sequence", "processors": [*steps, _before_all(start, number)]}
            done.append("bos")
    return done


def _listed(part: JsonObject | None, key: str) -> list[JsonObject]:
    """The steps of a normalizer or post-processor, which may be a sequence."""
    if part is None:
        return []
    return list(part[key]) if part.get("type") == "Sequence" else [part]


def _begin_with(steps: list[JsonObject], token: str) -> bool:
    """Whether post-processing steps add `token` before a text."""
    firsts = [(step.get("single") or [{}])[0].get("SpecialToken", {}).get("id") for step in steps]
    return token in firsts or any(token in step.get("cls", ())[:1] for step in steps)


def _before_all(token: str, number: int) -> JsonObject:
    """A post-processor that adds `token` before every text."""
    one, text = {"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    pair = [one, text, {"Sequence": {"id": "B", "type_id": 1}}]
    special = {token: {"id": token, "ids": [number], "tokens": [token]}}
    return {"type": "TemplateProcessing", "single": [one, text], "pair": pair, "special_tokens": special}


def _tokens(folder: Path, config: JsonMapping, content: JsonMapping) -> dict[str, str]:
    """The names of mask, sep, cls and pad: those configured, else common ones that the tokenizer has."""
    special = read_object(folder / NAMED)
    added = {each["content"] for each in content.get("added_tokens", ())}
    names = {}
    for name, usual in USUAL.items():
        configured = _content(config.get(f"{name}_token")) or _content(special.get(f"{name}_token"))
        token = configured or next((token for token in usual if token in added), "")
        if token:
            names[name] = token
    return names


def _content(token: object) -> str:
    """A token in a configuration: a string, or an object with its content."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _store(identity: str, content: bytes) -> str:
    """The path of a tokenizer's `content` in the user's cache, where it is written if necessary."""
    name = _cached(identity)
    if user_cache.read(name) != content and user_cache.write(name, content) is None:
        raise SemsearchError(
            f"a converted tokenizer cannot be stored in {user_cache.folder()}.",
            "Free disk space there, or make it writable.",
        )
    return str(user_cache.folder() / name)


def _cached(identity: str) -> str:
    return f"tokenizers/{identity}.json"
