"""numpy, imported when the first of its names is used: a search by words from the command line needs none of them.

from semsearch.utils.late_numpy import np    # in the modules that such a search loads

It takes 90 ms, a third of such a search. `importlib.util.LazyLoader`, before Python 3.12.3, shows a second thread a
module that is not ready yet.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    def _from_numpy(name: str) -> object:
        import numpy

        vars(np).update(vars(numpy))  # from now on, names are looked up as quickly as in numpy itself
        return getattr(numpy, name)

    np = ModuleType("numpy")
    vars(np)["__getattr__"] = _from_numpy
