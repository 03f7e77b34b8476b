"""Discovery of plug-ins by file name: `loaders/pdf.py` is the loader `pdf`.

Other distributions add theirs through entry points in a group named after the package, for instance
`semsearch.documents.loaders`. Modules that begin with an underscore are shared parts, not plug-ins.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from semsearch.errors import UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def names(package: ModuleType, *, foreign: bool = True) -> tuple[str, ...]:
    """Every plug-in of `package`, its own and, with `foreign`, those of other distributions, sorted."""
    return tuple(sorted({*_own(package), *(_foreign(package) if foreign else ())}))


def load(package: ModuleType, name: str) -> Any:
    """The plug-in called `name`: a module with the members that `package` documents.

    Raises UnknownName, which lists the known ones.
    """
    if name in _own(package):
        return import_module(f"{package.__name__}.{name}")
    foreign = _foreign(package)
    if name in foreign:
        return foreign[name].load()
    raise UnknownName(package.__name__.rpartition(".")[2].removesuffix("s"), name, names(package))


def _own(package: ModuleType) -> set[str]:
    return {m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")}


def _foreign(package: ModuleType) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # 60 ms with the search for distributions

    return {e.name: e for e in entry_points(group=package.__name__)}
