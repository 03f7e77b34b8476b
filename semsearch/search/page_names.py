"""What the pages of a document are called (of a presentation slides, of a notebook cells), and which are short."""

from __future__ import annotations

from pathlib import PurePath

_TIMED = {".srt", ".vtt"}  # subtitles: their headings are times
_SLIDES = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm", ".odp", ".otp", ".fodp")
_NAMES = dict.fromkeys(_SLIDES, "slide") | {".ipynb": "cell"}


def page_name(path: str) -> str:
    """The name of one page of the file at `path`.

    >>> page_name("talks/Engines.PPTX"), page_name("paper.pdf")
    ('slide', 'page')
    """
    return _NAMES.get(PurePath(path).suffix.lower(), "page")


def has_short_parts(path: str) -> bool:
    """Whether a passage of the file at `path` often goes over several slides, cells or times.

    >>> has_short_parts("talk.srt"), has_short_parts("paper.pdf")
    (True, False)
    """
    suffix = PurePath(path).suffix.lower()
    return suffix in _NAMES or suffix in _TIMED
