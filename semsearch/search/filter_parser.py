"""Parser of the filter language of `--where`: text in, a tree of `stores.filters` out.

    year > 2020 and lang in (en, de)          author.name = 'Ada' or not draft exists
    date >= 2024-01-31 and path ~ notes/**    title like '%pump%' and tags contains garden

Fields are metadata keys (author.name is nested, "odd key" quoted) and the built-in `path document title heading page
date mtime size loader`; a name in double quotes is always a metadata key. `date` is the document's own metadata date,
else its file's time (`mtime`); 2024-01-31 is all of that day, on this computer's clock for the time of a file.

    = == != <> < <= > >=    is, is not        exact, also in case; text in the order of its code points
    in (a, b)   between a and b   exists      `not` is possible before each of these words: not in, not exists
    like 'a%'                                 as in SQL: % any text, _ one character; the case of A-Z is ignored
    ~ 'a*'                                    * any text, ? one character, case as for like; for `path` see `globs`
    contains x                                the value is in the list, or is a part of the text, case as for like

A list is (=, in) what one of its values is: `tags = faq` finds what has faq among its tags. A comparison with < or > is
of a value alone.
Values are numbers, dates, true, false, null, or text, in quotes where it has spaces or looks like one of those
(quotes double inside: 'it''s'). Values of two types are never equal, nor is either smaller: 5 is not '5'.
Where a field is missing or null, every comparison is false, except `not exists` and `= null`; `not (…)` negates the
result of the brackets.
"""

from __future__ import annotations

import difflib
import re
from datetime import datetime
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from semsearch.errors import BadFilter
from semsearch.search.filter_text import LONGEST
from semsearch.stores.filters import (
    BUILTINS,
    And,
    Compare,
    Contains,
    Date,
    Exists,
    Field,
    Filter,
    In,
    Like,
    Not,
    Or,
    PathGlob,
    Value,
    depth,
    fields,
    like_escaped,
    negated,
)
from semsearch.utils import globs

if TYPE_CHECKING:
    from collections.abc import Callable

    from lark import Lark, Token, UnexpectedInput

MOST_NESTED = 20  # brackets in brackets: each takes three or four of the 100 places of SQLite's parser before 3.46
MOST_PARTS = 20  # of a dotted field: each is a join for SQLite, which has at most 64
MOST_TESTS = 100  # comparisons in one filter: deeper trees meet SQLite's expression depth of 1,000
YEARS = (1970, 9000)  # the times of files start there, Python's calendar ends a little later
LONGEST_PATTERN = 1000  # characters: SQLite's own limit is 50,000, but LIKE is quadratic in the number of %

_GRAMMAR = r"""
start: either
either: both (OR both)*
both: negated (AND negated)*
?negated: NOT negated -> negate
        | "(" either ")"
        | FIELD OP value -> compare
        | FIELD IS NOT? value -> compare
        | FIELD NOT? (LIKE | CONTAINS) value -> word
        | FIELD NOT? IN "(" value ("," value)* ")" -> among
        | FIELD NOT? BETWEEN value AND value -> between
        | FIELD NOT? EXISTS -> exists
?value: BARE | STRING
AND.2: /and(?![\w.-])|&&/i
OR.2: /or(?![\w.-])|\|\|/i
NOT.2: /not(?![\w.-])/i
IS: /is(?![\w.-])/i
IN: /in(?![\w.-])/i
LIKE: /like(?![\w.-])/i
CONTAINS: /contains(?![\w.-])/i
BETWEEN: /between(?![\w.-])/i
EXISTS: /exists(?![\w.-])/i
OP: /[=<>!~≤≥≠]+/
FIELD: /("([^"]|"")+"|[^\W\d][\w-]*)(\.("([^"]|"")+"|[\w-]+))*/
BARE: /[^\s(),'"=<>!~≤≥≠][^\s(),'"]*/
STRING: /'([^']|'')*'|"([^"]|"")*"/
%ignore /\s+/
"""
_SIGNS = {"==": "=", "=": "=", "!=": "!=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_SIGNS |= {sign: sign for sign in ("<", "<=", ">", ">=", "~")}
_OPERATORS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "~", "in", "not in", "like", "contains", "between", "exists")
_MEANT = {"equals": "=", "eq": "=", "has": "contains", "includes": "contains", "matches": "~", "glob": "~"}
_MEANT |= {"=>": ">=", "=<": "<=", "=~": "~", "startswith": "like 'a%'", "endswith": "like '%a'"}
_NUMBER = re.compile(r"[+-]?(\d+|\d*\.\d+|\d+\.)([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d(T\d\d:\d\d(:\d\d)?)?)?")
_PART = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[\w-]+)')


def parse(expression: str) -> Filter:
    """The tree of a filter. Raises BadFilter, in one line: what was expected, and ⟨what⟩ was found where."""
    from lark import UnexpectedInput  # 0.09 s: only where there is a filter

    if not expression.strip():
        raise BadFilter("the filter is empty.", "Write one like `year > 2020`, or leave it out.")
    if len(expression) > LONGEST:
        raise BadFilter(f"the filter has {len(expression):,} characters; {LONGEST:,} is the most.")
    _check_characters(expression)
    try:
        tree: Filter = _parser().parse(expression)  # type: ignore[assignment]  # the callbacks return ours
    except UnexpectedInput as error:
        _explain(expression, error)
    if sum(1 for _ in fields(tree)) > MOST_TESTS:
        raise BadFilter(f"the filter has more than {MOST_TESTS} comparisons.", "Use `field in (a, b, …)` for lists.")
    if depth(tree) > MOST_NESTED:
        raise BadFilter(f"the filter has more than {MOST_NESTED} brackets in brackets.", "Write it with fewer.")
    longest = max((len(field.names) for field, _ in fields(tree)), default=0)
    if longest > MOST_PARTS:
        raise BadFilter(f"a field of the filter has {longest:,} parts; {MOST_PARTS} is the most.")
    return tree


def both(where: str | None, path: str | None) -> Filter:
    """A filter and a pattern for paths as one tree; at least one is not None. Raises BadFilter."""
    parts = [] if where is None else [parse(where)]
    return And((*parts, *([] if path is None else [path_glob(path)])))


def path_glob(pattern: str) -> PathGlob:
    """The test of `--path`. Raises BadFilter here, since SQLite would swallow an error in our function."""
    _check_characters(pattern)
    globs.path_regex(pattern)
    return PathGlob(pattern)


def _check_characters(text: str) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise BadFilter("a filter cannot contain a NUL or half a surrogate pair.")


@lru_cache(maxsize=1)
def _parser() -> Lark:
    from lark import Lark

    rules: dict[str, Callable[..., Filter]] = {
        "start": lambda tree: tree,
        "either": lambda *parts: _joined(Or, parts),
        "both": lambda *parts: _joined(And, parts),
        "negate": lambda _, part: negated(part),
        "compare": _compare,
        "word": _word,
        "among": _among,
        "between": _between,
        "exists": lambda name, *words: Exists(_field(name)) if len(words) == 1 else Not(Exists(_field(name))),
    }
    callbacks = {name: lambda children, rule=rule: rule(*children) for name, rule in rules.items()}
    build: Any = SimpleNamespace(**callbacks)
    return Lark(_GRAMMAR, parser="lalr", transformer=build)  # runs while parsing: no depth of brackets can overflow


def _joined(node: type[And | Or], parts: tuple[Any, ...]) -> Filter:
    conditions = tuple(part for part in parts if not isinstance(part, str))  # a token is a str
    return conditions[0] if len(conditions) == 1 else node(conditions)


def _compare(name: Token, sign: Token, *rest: Any) -> Filter:
    field = _field(name)
    if sign.type == "IS":
        op = "=" if len(rest) == 1 else "!="  # is not
    elif sign in _SIGNS:
        op = _SIGNS[sign]
    else:
        raise _bad(sign, "expected an operator", _operators(sign))
    value = rest[-1]
    if op == "~":
        return path_glob(_text(value)) if field == Field(("path",), builtin=True) else Like(field, _glob(value))
    if _is_null(value):
        if op not in ("=", "!="):
            raise _bad(value, "nothing is larger or smaller than null", "Use `= null` or `!= null`.")
        return Exists(field) if op == "!=" else Not(Exists(field))
    read = _value(field, value)
    if op == "!=":
        return And((Exists(field), Not(Compare(field, "=", read))))
    if isinstance(read, bool) and op != "=":
        raise _bad(value, "true and false have no order", "Use `=` or `!=`.")
    return Compare(field, op, read)  # type: ignore[arg-type]  # "=", "<", "<=", ">", ">=" are left


def _word(name: Token, *rest: Any) -> Filter:
    *words, value = rest
    field = _field(name)
    if field.builtin and BUILTINS[field.names[0]] != "text":
        raise _bad(name, f"{words[-1].lower()} is for texts and lists, not for {field.names[0]}", "Use = or <.")
    test = Like(field, _pattern(value)) if words[-1].type == "LIKE" else Contains(field, _plain(field, value))
    return test if len(words) == 1 else And((Exists(field), Not(test)))


def _among(name: Token, *rest: Any) -> Filter:
    values = [part for part in rest if part.type in ("BARE", "STRING")]
    field = _field(name)
    read = [_value(field, value) for value in values if not _is_null(value)]
    plain = tuple(value for value in read if not isinstance(value, Date))
    tests: list[Filter] = [In(field, plain)] if plain else []
    tests += [Compare(field, "=", value) for value in read if isinstance(value, Date)]
    tests += [Not(Exists(field))] if len(read) < len(values) else []
    test = tests[0] if len(tests) == 1 else Or(tuple(tests))
    return And((Exists(field), negated(test))) if rest[0].type == "NOT" else test


def _between(name: Token, *rest: Any) -> Filter:
    low, high = (part for part in rest if part.type in ("BARE", "STRING"))
    test = And((_ordered(name, ">=", low), _ordered(name, "<=", high)))
    return And((Exists(_field(name)), Not(test))) if rest[0].type == "NOT" else test


def _ordered(name: Token, op: str, value: Token) -> Filter:
    field = _field(name)
    if _is_null(value) or isinstance(read := _value(field, value), bool):
        raise _bad(value, "an order needs a number, a date or a text", "Write `between 1 and 5`.")
    return Compare(field, op, read)  # type: ignore[arg-type]


def _field(name: Token) -> Field:
    """Unquoted built-in names are the built-ins; everything else is metadata."""
    parts = list(_PART.finditer(name))
    names = tuple(part["plain"] or part["quoted"].replace('""', '"') for part in parts)
    return Field(names, builtin=len(parts) == 1 and parts[0]["plain"] in BUILTINS)


def _value(field: Field, token: Token) -> Value:
    """The value of a token compared with this field; a built-in field requires a value of its type."""
    text = _text(token)
    kind = BUILTINS[field.names[0]] if field.builtin else None
    if kind == "text":
        return text
    if kind == "date":
        return _date(token, text.replace(" ", "T"))
    quoted = token.type == "STRING"
    if not quoted and _NUMBER.fullmatch(text):
        return _number(token, text)
    if kind == "number":
        raise _bad(token, f"{field.names[0]} is a number; {{}} is not", "")
    if not quoted and _DATE.fullmatch(text):
        return _date(token, text)
    if not quoted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def _plain(field: Field, token: Token) -> str | int | float | bool:
    value = _text(token) if _is_null(token) else _value(field, token)
    return value.text if isinstance(value, Date) else value


def _text(token: Token) -> str:
    return token[1:-1].replace(token[0] * 2, token[0]) if token.type == "STRING" else str(token)


def _number(token: Token, text: str) -> int | float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _bad(token, "this number is too large", "")
    whole = re.fullmatch(r"[+-]?\d+", text) and -(2**63) <= int(text) < 2**63  # SQLite's integers end there
    return int(text) if whole else number


def _date(token: Token, text: str) -> Date:
    full = text + "2024-01-01T00:00:00"[len(text) :]
    try:
        if (
            not (_DATE.fullmatch(text) or re.fullmatch(r"\d{4}", text))
            or not YEARS[0] <= datetime.fromisoformat(full).year <= YEARS[1]
        ):
            raise ValueError
    except ValueError:
        raise _bad(token, "expected a date since 1970 like 2024-01-31, 2024-01 or 2024-01-31T10:00", "") from None
    return Date(text)


def _pattern(token: Token) -> str:
    text = _text(token)
    if not text or len(text) > LONGEST_PATTERN:
        raise _bad(token, f"a pattern has 1 to {LONGEST_PATTERN} characters", "")
    return text


def _glob(token: Token) -> str:
    """Shell's * and ? as SQL's % and _."""
    return like_escaped(_pattern(token)).replace("*", "%").replace("?", "_")


def _is_null(token: Token) -> bool:
    return token.type == "BARE" and token.lower() == "null"


def _bad(token: Token, what: str, fix: str) -> BadFilter:
    """An error about a token that is allowed at its place, but does not fit. `{}` in `what` stands for the token."""
    place = f"{token[:40]} (character {(token.start_pos or 0) + 1} of the filter)"
    return BadFilter(f"{what if '{}' in what else f'{what}: {{}}'}.".replace("{}", place), fix)


def _explain(expression: str, error: UnexpectedInput) -> NoReturn:
    """An error about the first place where the expression is no longer a filter."""
    expected: set[str] = set()
    for attribute in ("accepts", "expected", "allowed"):  # the first is exact, but not every error of lark has it
        expected = expected or set(getattr(error, attribute, None) or ())
    at = error.pos_in_stream
    rest = expression[at:] if at is not None and at >= 0 else ""
    if getattr(getattr(error, "token", None), "type", "") == "$END":
        rest = ""
    match = re.match(r"\w+|[^\w\s]+|", rest)
    word = match[0] if match else ""
    before = " ".join(expression[: len(expression) - len(rest)].split())[-40:]
    place = f"{before} ⟨{word[:20]}⟩ {' '.join(rest[len(word) :].split())[:20]}".strip()
    if rest:
        problem = f"the filter has an error at character {len(expression) - len(rest) + 1}: {place}."
    else:
        problem = f"the filter is incomplete after {before!r}."
    raise BadFilter(f"{problem} Expected {_names(expected)}.", _hint(expected, word))


def _names(expected: set[str]) -> str:
    kinds: list[tuple[str, Callable[[set[str]], bool]]] = [
        ("a field", lambda w: "FIELD" in w),
        ("an operator", lambda w: "OP" in w),
        ("a value", lambda w: "BARE" in w),
        ("a list in parentheses", lambda w: "LPAR" in w and "FIELD" not in w),
        ("a comma", lambda w: "COMMA" in w),
        ("`and`, `or` or the end", lambda w: "AND" in w and "OR" in w),
        ("`and`", lambda w: "AND" in w and "OR" not in w),
        ("`in`, `like`, `contains`, `between` or `exists`", lambda w: "LIKE" in w and "OP" not in w),
        ("a closing parenthesis", lambda w: "RPAR" in w),
        ("the end", lambda w: w == {"$END"}),
    ]
    return " or ".join(name for name, fits in kinds if fits(expected)) or "something else"


def _hint(expected: set[str], word: str) -> str:
    if "OP" in expected:
        return _operators(word)
    if "AND" in expected and word:
        return "A text with spaces needs quotes: 'new york'."
    return "Write one like: year > 2020 and lang = 'en'."


def _operators(word: str) -> str:
    near = _MEANT.get(word.lower()) or next(iter(difflib.get_close_matches(word.lower(), _OPERATORS, n=1)), "")
    hint = f"Did you mean `{near}`? " if near else ""
    return f"{hint}Operators: {', '.join(_OPERATORS)}."
