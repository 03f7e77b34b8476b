"""What the words of a command line stand for, without pydantic.

typer from 0.25 on turns words into values through pydantic, which takes 0.15 s to import: as long as a whole query.
Our parameters are texts, paths, numbers and choices, so they are converted here; a parameter of any other type, and
every parameter under a typer that has no such hook, is left to typer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

HOOK = "_runtime_param"  # where typer keeps a parameter's converter once it was made


def lightened(params: Iterable[Any]) -> list[Any]:
    """The parameters of a command, each with its own light converter where there is one for its type."""
    known = list(params)
    for param in known:
        convert = _converter(param) if hasattr(param, HOOK) else None
        if convert is not None:
            setattr(param, HOOK, convert)
    return known


@dataclass(frozen=True, slots=True)
class Converter:
    """Stands where typer's own converter would."""

    convert: Callable[[str], Any]
    several: bool

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of one parameter. Raises typer's BadParameter, which names it."""
        if value is None:
            return () if self.several else None
        try:
            return [self.convert(one) for one in value] if self.several else self.convert(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None


def _converter(param: Any) -> Converter | None:
    kind = param.type_descriptor.annotation
    several = get_origin(kind) is list
    kind = get_args(kind)[0] if several else kind
    if kind is str or kind is bool:
        return Converter(lambda text: text, several)
    if kind is Path:
        return Converter(Path, several)
    if kind is int or kind is float:
        info = param.type_descriptor.parameter_info
        return Converter(_number(kind, info.min, info.max), several)
    return Converter(_choice(get_args(kind)), several) if get_origin(kind) is Literal else None


def _number(kind: type[int] | type[float], least: float | None, most: float | None) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        try:
            number = kind(value)
        except ValueError:
            raise ValueError(f"{value!r} is not a {'whole ' if kind is int else ''}number.") from None
        if not (least is None or number >= least) or not (most is None or number <= most):
            raise ValueError(f"{value} is not in {least if least is not None else '…'} to {most or '…'}.")
        return number

    return convert


def _choice(words: tuple[str, ...]) -> Callable[[str], str]:
    def convert(value: str) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(map(repr, words))}.")
        return value

    return convert
