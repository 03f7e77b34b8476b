"""The template library: one TOML file per paper in this folder, and a user's own file in the same format.

The top level of a file applies to all of its templates; each has a table [templates.NAME]. A file without such a table
is one template with the name of the file. Keys: text (one for both roles, or { query = …, passage = … }), method,
options, kinds (bert, roberta, causal or any), rules (of Prompt; a template's override those of its file one by one),
description, source, where, note.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.prompts.prompt import MASK, SLOT, Prompt, parse
from semsearch.types import JsonMapping, JsonObject, Role

HERE = Path(__file__).parent
SUFFIX = ".toml"
KINDS = ("bert", "roberta", "causal", "any")
RULES = {each.name: each.default for each in fields(Prompt) if each.name not in ("before", "after")}
KEYS = ("text", "method", "description", "options", "kinds", "rules", "source", "where", "note")
KEY = re.compile(r"[\w-]+", re.ASCII)  # a TOML key that needs no quotes
DEFAULT_RULES = {  # by method, the template whose rules apply to a template without rules
    "promptbert": "promptbert",
    "cot_bert": "cot-bert",
    "n_mask": "masks-3",
    "prompteol": "prompteol",
    "pretended_cot": "pretended-cot",
    "token_prepending": "prompteol",
    "contrastive_prompting": "prompteol",
    "metaeol": "prompteol",
}
TYPE_NAMES: Mapping[type, str] = {str: "string", dict: "table", list: "list", bool: "Boolean: true or false"}


@dataclass(frozen=True, slots=True)
class Template:
    """The text around a sentence for each role, the rules that rewrite the sentence, and the method that reads it."""

    name: str
    text: Mapping[Role, str]
    method: str
    description: str = ""
    options: JsonMapping = field(default_factory=dict)
    kinds: tuple[str, ...] = ("any",)
    rules: JsonMapping = field(default_factory=dict)
    source: str = ""
    note: str = ""

    @property
    def masks(self) -> int:
        """The number of [MASK]s: the higher of its two texts."""
        return max(text.count(MASK) for text in self.text.values())

    @property
    def prompts(self) -> dict[Role, Prompt]:
        """The prompts of queries and of passages. Raises UsageError for a text without exactly one slot."""
        return {role: parse(text, **self.rules) for role, text in self.text.items()}

    def as_dict(self) -> JsonObject:
        """The template as JSON; `text` is one string if both roles share it."""
        content: JsonObject = {each.name: getattr(self, each.name) for each in fields(self)}
        texts = set(self.text.values())
        content["text"] = texts.pop() if len(texts) == 1 else dict(self.text)
        return content | {"options": dict(self.options), "kinds": list(self.kinds), "rules": dict(self.rules)}


@lru_cache(1)
def templates() -> Mapping[str, Template]:
    """Every template of the library by name, paper by paper.

    >>> templates()["promptbert"].text["passage"]
    'This sentence of "[X]" means[MASK].'
    """
    return {name: one for path in sorted(HERE.glob(f"*{SUFFIX}")) for name, one in _of_file(path).items()}


def find(name: str) -> Template:
    """The library's template called `name`. Raises UnknownName with similar names.

    >>> find("prompt-bert")
    Traceback (most recent call last):
    ...
    semsearch.errors.UnknownName: no template is called 'prompt-bert'. Did you mean 'promptbert'? Choose from: ...
    """
    choices = templates()
    if name not in choices:
        raise UnknownName("template", name, choices)
    return choices[name]


def resolve(spec: str, *, causal: bool = False) -> Template:
    """The template named by `spec`: a name of the library, a TOML file, FILE.toml:NAME for one of several, or a text.

    The number of [MASK]s in a text determines its method; its rules are those of the method's paper. A text without
    [MASK] is read by PromptEOL on a `causal` model, and averaged on others. Raises UsageError, NotFound.

    >>> resolve('"[X]" means [MASK] .').method, resolve('query: [X]').method
    ('promptbert', 'mean')
    """
    listed = resolve_all(spec, causal=causal)
    if len(listed) > 1:
        names = ", ".join(one.name for one in listed)
        raise UsageError(f"{spec} holds {len(listed)} templates.", f"Choose one, as FILE:NAME: {names}.")
    for text in listed[0].text.values():
        parse(text)
    return listed[0]


def resolve_all(spec: str, *, causal: bool = False) -> list[Template]:
    """Every template named by `spec`, as for resolve(), but without a check that each has one slot."""
    path, _, name = spec.rpartition(f"{SUFFIX}:")
    if path or spec.endswith(SUFFIX):
        return from_toml(path + SUFFIX if path else spec, name if path else "", causal=causal)
    if spec not in templates() and not re.fullmatch(r"[\w.-]+", spec):
        return [from_text(spec, causal=causal)]
    try:
        return [find(spec)]
    except UnknownName as error:
        error.add(f"Or pass a TOML file, or a text with {SLOT} in place of the sentence.")
        raise


def from_text(text: str, *, causal: bool = False) -> Template:
    """The template of a text, which need not have exactly one slot."""
    return _template("", {"text": text}, causal)


def from_toml(path: str | Path, name: str = "", *, causal: bool = False) -> list[Template]:
    """The templates of a file in the library's format, or only the one called `name`. Raises NotFound, UsageError."""
    listed = _of_file(Path(path).expanduser(), causal)
    if name and name not in listed:
        raise UnknownName(f"template of {path}", name, listed)
    return [listed[name]] if name else list(listed.values())


def to_toml(template: Template) -> str:
    """The content of a file with this template only.

    >>> print(to_toml(from_text("[X] means [MASK] .")).splitlines()[0])
    text = "[X] means [MASK] ."
    """
    values = template.as_dict()
    return "".join(f"{key} = {_toml(values[key])}\n" for key in KEYS if key == "rules" or values.get(key))


def method_of(masks: int, *, causal: bool) -> str:
    """The method that reads a text with this many [MASK]s."""
    if not masks:
        return "prompteol" if causal else "mean"
    return {1: "promptbert", 2: "cot_bert"}.get(masks, "n_mask")


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        names = (key if KEY.fullmatch(key) else json.dumps(key) for key in value)
        inner = ", ".join(f"{name} = {_toml(one)}" for name, one in zip(names, value.values(), strict=True))
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _of_file(path: Path, causal: bool = False) -> dict[str, Template]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"the template file {path} does not exist.", "Check the spelling.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        fix = "Write it as TOML, for example: text = 'query: [X]'"
        raise UsageError(f"{path} is not a template file: {error}.", fix) from None
    alone: JsonObject = {path.stem: {}}
    tables = content.pop("templates", alone)
    if not isinstance(tables, dict) or not tables or not all(isinstance(one, dict) for one in tables.values()):
        raise UsageError(f"{path}: `templates` holds no table.", "Write [templates.NAME] above each template.")
    listed = {}
    for name, one in tables.items():
        try:
            listed[name] = _template(name, _merged(content, one), causal)
        except UsageError as error:
            raise UsageError(f"{path}, template {name}: {error.message}", error.fix, error.command) from error
    return listed


def _merged(shared: JsonMapping, one: JsonMapping) -> JsonObject:
    """The keys of a template over those of its file, and its rules over those of its file."""
    rules = [each["rules"] for each in (shared, one) if isinstance(each.get("rules"), dict)]
    return {**shared, **one} | ({"rules": rules[0] | rules[1]} if len(rules) == 2 else {})


def _template(name: str, values: JsonMapping, causal: bool) -> Template:
    """The template of a file's values, which are checked, with defaults."""
    _check(values)
    text = _texts(values.get("text"))
    masks = max(one.count(MASK) for one in text.values())
    method = values.get("method") or method_of(masks, causal=causal)
    options = {"count": masks} if method == "n_mask" else {}
    if (rules := values.get("rules")) is None:
        rules = templates()[DEFAULT_RULES[method]].rules if method in DEFAULT_RULES else {"spaces": True}
    return Template(
        name=name,
        text=text,
        method=method,
        description=values.get("description", ""),
        options=options | values.get("options", {}),
        kinds=tuple(values.get("kinds", ("any",))),
        rules={key: tuple(value) if isinstance(value, list) else value for key, value in rules.items()},
        source=", ".join(values[key] for key in ("source", "where") if values.get(key)),
        note=values.get("note", ""),
    )


def _texts(value: object) -> dict[Role, str]:
    """The text for each role. Raises UsageError if there is none."""
    texts = {"query": value, "passage": value} if isinstance(value, str) else value
    if not isinstance(texts, dict) or texts.keys() != {"query", "passage"} or set(map(type, texts.values())) != {str}:
        fix = f"Write text = '… {SLOT} …', or text = {{ query = '…', passage = '…' }}."
        raise UsageError("a template needs a text.", fix)
    return {"query": texts["query"], "passage": texts["passage"]}


def _check(values: JsonMapping) -> None:
    """Raises UsageError for an unknown key, and for a value of the wrong type."""
    for key, value in values.items():
        if key not in KEYS and isinstance(value, dict):
            raise UsageError(f"[{key}] is not part of a template.", f"Write [templates.{key}] above one of several.")
        if key not in KEYS:
            raise UnknownName("key of a template", key, KEYS)
        if key != "text":
            _check_type(key, value, {"options": dict, "rules": dict, "kinds": list}.get(key, str))
    for kind in values.get("kinds", ()):
        if kind not in KINDS:
            raise UnknownName("kind of model", str(kind), KINDS)
    for rule, value in values.get("rules", {}).items():
        if rule not in RULES:
            raise UnknownName("rule", rule, RULES)
        _check_type(f"the rule {rule}", value, list if isinstance(RULES[rule], tuple) else type(RULES[rule]))


def _check_type(name: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise UsageError(f"{name} cannot be {value!r}.", f"It is a {TYPE_NAMES[expected]}.")
