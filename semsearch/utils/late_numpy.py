"""numpy, imported when the first of its names is used: a search by words from the command line needs none of them.

from semsearch.utils.late_numpy import np    # in the modules that such a search loads

It takes 90 ms, a third of such a search. `importlib.util.LazyLoader`, before Python 3.12.3, shows a second thread a
module that is not ready yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> object:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)  # found without this method from now on
            return value

    np = _Numpy()
