"""Plug-ins: discovery by file name (`loaders/pdf.py` is the loader `pdf`), checks of options and required packages.

Other distributions add theirs through entry points in a group named after the package, for instance
`semsearch.documents.loaders`. Modules that begin with an underscore are shared parts, not plug-ins.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from semsearch.errors import MissingExtra, UnknownName, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from semsearch.types import JsonObject

_EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def names(package: ModuleType, *, foreign: bool = True) -> tuple[str, ...]:
    """Every plug-in of `package`, its own and, with `foreign`, those of other distributions, sorted."""
    return tuple(sorted({*own_names(package.__name__), *(_foreign(package) if foreign else ())}))


def own_names(package: str) -> tuple[str, ...]:
    """The plug-ins in the folder of `package`, sorted; without importing it, so that `--help` may list them."""
    spec = importlib.util.find_spec(package)
    paths = spec.submodule_search_locations if spec else None
    return tuple(sorted(m.name for m in pkgutil.iter_modules(paths or []) if not m.name.startswith("_")))


def load(package: ModuleType, name: str) -> Any:
    """The plug-in called `name`: a module with the members that `package` documents.

    Raises UnknownName, which lists the known ones.
    """
    if name in own_names(package.__name__):
        return import_module(f"{package.__name__}.{name}")
    foreign = _foreign(package)
    if name in foreign:
        return foreign[name].load()
    raise UnknownName(package.__name__.rpartition(".")[2].removesuffix("s"), name, names(package))


def check_options(owner: str, options: Mapping[str, object], defaults: Mapping[str, object]) -> JsonObject:
    """`options` in the types of their `defaults`: a list becomes a tuple, and a whole number a float where one is due.

    Raises UnknownName for an option that `owner` does not have, UsageError for a value of another type.
    """
    checked = {}
    for option, value in options.items():
        if option not in defaults:
            raise UnknownName(f"option of {owner}", option, defaults)
        kind = type(defaults[option])
        if isinstance(value, list):
            value = tuple(value)
        elif kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            expected = _EXPECTED.get(kind, f"like {defaults[option]!r}")
            raise UsageError(f"option {option} of {owner} cannot be {value!r}.", f"It has to be {expected}.")
        checked[option] = value
    return checked


def require(packages: Iterable[str], what: str, extra: str) -> None:
    """Raises MissingExtra, which names `what` and the first of `packages` that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(what, extra, "PyTorch" if package == "torch" else package)


def _foreign(package: ModuleType) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # 60 ms with the search for distributions

    return {e.name: e for e in entry_points(group=package.__name__)}
