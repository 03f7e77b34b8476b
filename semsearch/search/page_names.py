"""What the pages of a document are called: of a presentation they are slides, of a notebook cells."""

from __future__ import annotations

from pathlib import PurePath

_NAMES = {".pptx": "slide", ".pptm": "slide", ".ppsx": "slide", ".potx": "slide", ".ipynb": "cell"}


def page_name(path: str) -> str:
    """The name of one page of the file at `path`.

    >>> page_name("talks/Engines.PPTX"), page_name("paper.pdf")
    ('slide', 'page')
    """
    return _NAMES.get(PurePath(path).suffix.lower(), "page")
