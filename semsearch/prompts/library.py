"""The template library: one TOML file per paper beside this one, and a user's own file of the same shape.

A file says what holds for all of its templates at the top, and one table for each: [templates.NAME]; without such a
table the file itself is one template, called like the file. Keys: text (one for both roles, or { query = …,
passage = … }), method, options, kinds (bert, roberta, causal or any), rules (of Prompt; those at the top hold where
a template does not say otherwise), description, source, where, note.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.prompts.prompt import MASK, SLOT, Prompt, parse
from semsearch.types import JsonObject, Role

HERE = Path(__file__).parent
SUFFIX = ".toml"
KINDS = ("bert", "roberta", "causal", "any")
RULES = {each.name: each.default for each in fields(Prompt) if each.name not in ("before", "after")}
KEYS = ("text", "method", "description", "options", "kinds", "rules", "source", "where", "note")
KEY = re.compile(r"[\w-]+", re.ASCII)  # what TOML takes for a key without quotes
USUAL = {  # whose rules hold where a template has none
    "promptbert": "promptbert",
    "cot_bert": "cot-bert",
    "n_mask": "masks-3",
    "prompteol": "prompteol",
    "pretended_cot": "pretended-cot",
}


@dataclass(frozen=True, slots=True)
class Template:
    """What is put around a text for each role, how the text is rewritten for it, and the method that reads it."""

    name: str
    text: Mapping[Role, str]
    method: str
    description: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("any",)
    rules: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    note: str = ""

    @property
    def masks(self) -> int:
        """How many [MASK]s it has, the more of its two texts."""
        return max(text.count(MASK) for text in self.text.values())

    @property
    def prompts(self) -> dict[Role, Prompt]:
        """One for queries and one for passages. Raises UsageError where a text has not exactly one slot."""
        return {role: parse(text, **self.rules) for role, text in self.text.items()}

    def as_dict(self) -> JsonObject:
        """What JSON shows of it; `text` is one string where both roles share it."""
        told: JsonObject = {each.name: getattr(self, each.name) for each in fields(self)}
        texts = set(self.text.values())
        told["text"] = texts.pop() if len(texts) == 1 else dict(self.text)
        return told | {"options": dict(self.options), "kinds": list(self.kinds), "rules": dict(self.rules)}


@lru_cache(1)
def templates() -> Mapping[str, Template]:
    """Every template of the library by name, paper by paper.

    >>> templates()["promptbert"].text["passage"]
    'This sentence of "[X]" means[MASK].'
    """
    found: dict[str, Template] = {}
    for path in sorted(HERE.glob(f"*{SUFFIX}")):
        found |= _of_file(path)
    return found


def find(name: str) -> Template:
    """The library's template called `name`. Raises UnknownName with the nearest.

    >>> find("prompt-bert")
    Traceback (most recent call last):
    ...
    semsearch.errors.UnknownName: no template is called 'prompt-bert'. Did you mean 'promptbert'? Choose from: ...
    """
    known = templates()
    if name not in known:
        raise UnknownName("template", name, known)
    return known[name]


def resolve(spec: str, *, causal: bool = False) -> Template:
    """The one template that `spec` means: a name of the library, a file, NAME in a file (FILE.toml:NAME), or a text.

    A text is read by the method that its [MASK]s ask for, under the rules of that method's paper; one without is
    read by PromptEOL on a `causal` model, and averaged on others. Raises UsageError, NotFound.

    >>> resolve('"[X]" means [MASK] .').method, resolve('query: [X]').method
    ('promptbert', 'mean')
    """
    found = resolve_all(spec, causal=causal)
    if len(found) > 1:
        raise UsageError(
            f"{spec} holds {len(found)} templates.",
            f"Say which, as FILE:NAME, with one of: {', '.join(one.name for one in found)}.",
        )
    for text in found[0].text.values():
        parse(text)
    return found[0]


def resolve_all(spec: str, *, causal: bool = False) -> list[Template]:
    """Every template that `spec` means, as resolve() does; whether each has one slot is not looked at."""
    path, _, name = spec.rpartition(f"{SUFFIX}:")
    if path or spec.endswith(SUFFIX):
        return from_toml(path + SUFFIX if path else spec, name if path else "", causal=causal)
    if spec not in templates() and not re.fullmatch(r"[\w.-]+", spec):
        return [from_text(spec, causal=causal)]
    try:
        return [find(spec)]
    except UnknownName as error:
        error.fix += f" Or give a TOML file, or a text with {SLOT} where the sentence stands."
        raise


def from_text(text: str, *, causal: bool = False) -> Template:
    """The template of a text, whether or not it has one slot."""
    return _template("", {"text": text}, causal)


def from_toml(path: str | Path, name: str = "", *, causal: bool = False) -> list[Template]:
    """The templates of a file of the library's shape, or the one called `name`. Raises NotFound, UsageError."""
    found = _of_file(Path(path).expanduser(), causal)
    if name and name not in found:
        raise UnknownName(f"template of {path}", name, found)
    return [found[name]] if name else list(found.values())


def to_toml(template: Template) -> str:
    """A file that holds this template alone.

    >>> print(to_toml(from_text("[X] means [MASK] .")).splitlines()[0])
    text = "[X] means [MASK] ."
    """
    told = {key: value for key, value in template.as_dict().items() if value and key not in ("name", "rules")}
    lines = [f"{key} = {_toml(told[key])}" for key in KEYS if key in told]
    return "\n".join([*lines, f"rules = {_toml(dict(template.rules))}", ""])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{key if KEY.fullmatch(key) else json.dumps(key)} = {_toml(one)}" for key, one in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _of_file(path: Path, causal: bool = False) -> dict[str, Template]:
    content = _read(path)
    alone: JsonObject = {path.stem: {}}
    tables = content.pop("templates", alone)
    if not isinstance(tables, dict) or not tables or not all(isinstance(one, dict) for one in tables.values()):
        raise UsageError(f"{path}: `templates` holds no table.", "Write [templates.NAME] above each template.")
    found = {}
    for name, one in tables.items():
        try:
            found[name] = _template(name, _merged(content, one), causal)
        except UsageError as error:
            raise UsageError(f"{path}, template {name}: {error.message}", error.fix) from error
    return found


def _read(path: Path) -> JsonObject:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"the template file {path} does not exist.", "Check the spelling.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(
            f"{path} is not a template file: {error}.", "Write it as TOML, for example: text = 'query: [X]'"
        ) from None


def _merged(shared: Mapping[str, Any], one: Mapping[str, Any]) -> JsonObject:
    """What a template says over what its file says; rules go one by one."""
    both = {**shared, **one}
    if isinstance(shared.get("rules"), dict) and isinstance(one.get("rules"), dict):
        both["rules"] = {**shared["rules"], **one["rules"]}
    return both


def _template(name: str, given: Mapping[str, Any], causal: bool) -> Template:
    """A template of what a file says, checked, with what goes without saying."""
    _check(given)
    text = _texts(given.get("text"))
    masks = max(one.count(MASK) for one in text.values())
    method = given.get("method") or _method(masks, causal)
    options = dict(given.get("options", {}))
    if method == "n_mask":
        options = {"count": masks, **options}
    rules = given["rules"] if "rules" in given else _usual(method)
    return Template(
        name=name,
        text=text,
        method=method,
        description=given.get("description", ""),
        options=options,
        kinds=tuple(given.get("kinds", ("any",))),
        rules={key: tuple(value) if isinstance(value, list) else value for key, value in rules.items()},
        source=", ".join(given[key] for key in ("source", "where") if given.get(key)),
        note=given.get("note", ""),
    )


def _method(masks: int, causal: bool) -> str:
    """The method that reads a text with this many [MASK]s."""
    if not masks:
        return "prompteol" if causal else "mean"
    return {1: "promptbert", 2: "cot_bert"}.get(masks, "n_mask")


def _usual(method: str) -> Mapping[str, Any]:
    return templates()[USUAL[method]].rules if method in USUAL else {"spaces": True}


def _texts(value: Any) -> dict[Role, str]:
    """The text for each role. Raises UsageError where there is none."""
    given = {"query": value, "passage": value} if isinstance(value, str) else value
    if not isinstance(given, dict) or given.keys() != {"query", "passage"} or set(map(type, given.values())) != {str}:
        raise UsageError(
            "a template needs a text.", f"Write text = '… {SLOT} …', or text = {{ query = '…', passage = '…' }}."
        )
    return {"query": given["query"], "passage": given["passage"]}


def _check(given: Mapping[str, Any]) -> None:
    """Raises UsageError where a key is unknown, or its value of the wrong kind."""
    for key, value in given.items():
        if key not in KEYS and isinstance(value, dict):
            raise UsageError(f"[{key}] is no part of a template.", f"Write [templates.{key}] above one of several.")
        if key not in KEYS:
            raise UnknownName("key of a template", key, KEYS)
        right = {"options": dict, "rules": dict, "kinds": list}.get(key, str)
        if key != "text" and not isinstance(value, right):
            raise UsageError(f"{key} cannot be {value!r}.", f"It is a {_CALLED[right]}.")
    for kind in given.get("kinds", ()):
        if kind not in KINDS:
            raise UnknownName("kind of model", str(kind), KINDS)
    for rule, value in given.get("rules", {}).items():
        if rule not in RULES:
            raise UnknownName("rule", rule, RULES)
        wanted = list if isinstance(RULES[rule], tuple) else type(RULES[rule])
        if not isinstance(value, wanted):
            raise UsageError(f"the rule {rule} cannot be {value!r}.", f"It is a {_CALLED[wanted]}.")


_CALLED: Mapping[type, str] = {str: "string", dict: "table", list: "list", bool: "truth value: true or false"}
