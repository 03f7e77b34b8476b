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
from semsearch.utils.json_files import read_object

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

    `tokens` has those of mask, sep, cls and pad that exist. `longest` input in tokens, or None.
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
    if path.is_file():
        content = _parsed(path.read_text(encoding="utf-8"), path)
        amended = _amended(content, config, lower=lower)
        if not amended:
            return Vocabulary(WHOLE, safetensors_files.sha256(path), _tokens(folder, config, content), _longest(config))
    else:
        name = f"tokenizers/{identity}.json"
        known = user_cache.read(name)
        text = known.decode() if known else _converted(folder, trust)
        if not known:
            _keep(name, text)
        content, path = _parsed(text, folder), user_cache.folder() / name
        amended = _amended(content, config, lower=lower)
    if amended:
        identity = safetensors_files.combine_hashes([identity, *amended])
        path = _keep(f"tokenizers/{identity}.json", json.dumps(content, ensure_ascii=False))
    return Vocabulary(str(path), identity, _tokens(folder, config, content), _longest(config))


def there(folder: Path) -> list[Path]:
    """The files that define a tokenizer in `folder`."""
    return [folder / name for name in (WHOLE, *OLDER) if (folder / name).is_file()]


def _parsed(text: str, where: Path) -> JsonObject:
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
        raise MissingExtra(f"the tokenizer of {folder}, which has no {WHOLE},", "train") from error
    return convert_tokenizer(folder, trust=trust)


def _amended(content: JsonObject, config: JsonMapping, *, lower: bool) -> list[str]:
    """Amend a tokenizer's `content` as its configuration requires; the names of the amendments made."""
    done = []
    if lower and not _lowers(content.get("normalizer")):
        steps = [{"type": "Lowercase"}, *_listed(content.get("normalizer"), "normalizers")]
        content["normalizer"] = {"type": "Sequence", "normalizers": steps}
        done.append("lower")
    start = _content(config.get("bos_token"))
    if config.get("add_bos_token") and start and not _begins_with(content.get("post_processor"), start):
        number = next((each["id"] for each in content["added_tokens"] if each["content"] == start), None)
        number = content["model"].get("vocab", {}).get(start) if number is None else number
        if number is not None:
            steps = [*_listed(content.get("post_processor"), "processors"), _before_all(start, number)]
            content["post_processor"] = {"type": "Sequence", "processors": steps}
            done.append("bos")
    return done


def _lowers(normalizer: JsonObject | None) -> bool:
    steps = _listed(normalizer, "normalizers")
    return any(step["type"] == "Lowercase" or step.get("lowercase") is True for step in steps)


def _listed(part: JsonObject | None, key: str) -> list[JsonObject]:
    """The steps of a normalizer or post-processor, which may be a sequence."""
    if part is None:
        return []
    return list(part[key]) if part.get("type") == "Sequence" else [part]


def _begins_with(processor: JsonObject | None, token: str) -> bool:
    """Whether a post-processor adds `token` before a text."""
    for step in _listed(processor, "processors"):
        first = (step.get("single") or [{}])[0]
        if first.get("SpecialToken", {}).get("id") == token or token in step.get("cls", ())[:1]:
            return True
    return False


def _before_all(token: str, number: int) -> JsonObject:
    one, text = {"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    pair = [one, text, {"Sequence": {"id": "B", "type_id": 1}}]
    known = {token: {"id": token, "ids": [number], "tokens": [token]}}
    return {"type": "TemplateProcessing", "single": [one, text], "pair": pair, "special_tokens": known}


def _tokens(folder: Path, config: JsonMapping, content: JsonMapping) -> dict[str, str]:
    """The names of mask, sep, cls and pad: those configured, else common ones that the tokenizer has."""
    special = read_object(folder / NAMED)
    added = {each["content"] for each in content.get("added_tokens", ())}
    found = {}
    for name, usual in USUAL.items():
        configured = _content(config.get(f"{name}_token")) or _content(special.get(f"{name}_token"))
        token = configured or next((token for token in usual if token in added), "")
        if token:
            found[name] = token
    return found


def _content(token: object) -> str:
    """A token in a configuration: a string, or an object with its content."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else ""


def _longest(config: JsonMapping) -> int | None:
    length = config.get("model_max_length")
    return int(length) if isinstance(length, int | float) and 0 < length < UNBOUNDED else None


def _keep(name: str, text: str) -> Path:
    path = user_cache.write(name, text.encode())
    if path is None:
        raise SemsearchError(
            f"a converted tokenizer cannot be stored in {user_cache.folder()}.",
            "Free disk space there, or make it writable.",
        )
    return path
