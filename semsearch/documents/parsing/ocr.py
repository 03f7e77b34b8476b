"""The text of scanned pages, recognised by the program tesseract, which is not part of semsearch.

It gets an image on its standard input and is slow: a page takes seconds, so that the time that one document may take
counts anew from each page (`enclosed.Heartbeat`).
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from typing import TYPE_CHECKING

from semsearch.errors import NotFound, Unreadable, UsageError

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

PROGRAM = "tesseract"
DPI = 300  # what tesseract's manual asks for
MOST_PIXELS = 40_000_000  # A2 at that resolution; larger sheets get fewer to the inch
_LANGUAGES = re.compile(r"\w[\w/]*(?:\+\w[\w/]*)*", re.ASCII)


def check(languages: str) -> None:
    """Raises NotFound where the program is missing or lacks one of `languages` ("deu+eng"), UsageError for no list."""
    if not _LANGUAGES.fullmatch(languages):
        raise UsageError(
            f"{languages!r} is no list of languages for text recognition.", "Write names joined by +: eng, or deu+eng."
        )
    if shutil.which(PROGRAM) is None:
        raise NotFound(
            f"reading scanned pages needs the program {PROGRAM}, which is not installed.",
            "Install it: `apt-get install tesseract-ocr`, or `brew install tesseract`.",
        )
    available = _installed()
    if missing := [name for name in languages.split("+") if name not in available]:
        raise NotFound(
            f"{PROGRAM} has no language {missing[0]!r}; it has {', '.join(available)}.",
            f"Install it: `apt-get install tesseract-ocr-{missing[0]}`, or choose another.",
        )


def text_of(page: PdfPage, languages: str) -> str:
    """What is written on the image of a page; "" for nothing. Raises as `check`, and Unreadable."""
    import subprocess  # 15 ms, and few files are scans

    import numpy as np

    check(languages)
    width, height = (max(1.0, float(side)) for side in page.get_size())
    scale = min(DPI / 72, (MOST_PIXELS / (width * height)) ** 0.5)
    pixels = np.asarray(page.render(scale=scale, grayscale=True, may_draw_forms=False).to_numpy())
    grey = np.ascontiguousarray(pixels.reshape(pixels.shape[:2]))
    image = b"P5 %d %d 255\n" % grey.shape[::-1] + grey.tobytes()
    words = (PROGRAM, "stdin", "stdout", "-l", languages, "--dpi", str(round(72 * scale)))
    env = os.environ | {"OMP_THREAD_LIMIT": "1"}  # threads make a page of text slower
    done = subprocess.run(words, input=image, capture_output=True, env=env, check=False)
    if done.returncode:
        raise Unreadable(f"{PROGRAM} failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout.decode(errors="replace").replace("\f", "").strip()


@cache
def _installed() -> list[str]:
    """The languages that tesseract has."""
    import subprocess

    listed = subprocess.run((PROGRAM, "--list-langs"), capture_output=True, text=True, check=False).stdout
    return [line.strip() for line in listed.splitlines()[1:] if line.strip() not in ("", "osd")]
