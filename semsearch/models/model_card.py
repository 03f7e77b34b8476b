"""What the front matter of a model card (README.md) says of a model.

Source: https://huggingface.co/docs/hub/model-cards#model-card-metadata. Two of its fields are read, without a library.
"""

from __future__ import annotations

import re
from pathlib import Path

from semsearch.utils.languages import detection

LETTERS = 20_000  # of a card that are looked at
LICENCE = re.compile(r"^license:[ \t]*([\w.+-]+)[ \t]*$", re.MULTILINE)
LANGUAGES = re.compile(r"^languages?:((?:[^\n]*)(?:\n[ \t]*-[^\n]*)*)", re.MULTILINE)  # in a line, or a list below
CODE = re.compile(r"(?<![\w-])[a-z]{2,}(?:-[\w-]+)?")  # zh-Hant is zh


def licence(folder: Path) -> str:
    """The licence, or ""."""
    stated = LICENCE.search(_front_matter(folder))
    return stated[1] if stated else ""


def languages(folder: Path) -> tuple[str, ...]:
    """The ISO 639-1 codes of the languages; () where one of them cannot be told from others, as `multilingual` is."""
    stated = LANGUAGES.search(_front_matter(folder))
    codes = dict.fromkeys(each.partition("-")[0] for each in CODE.findall(stated[1] if stated else ""))
    return tuple(codes) if detection.NAMES.keys() >= codes.keys() else ()


def _front_matter(folder: Path) -> str:
    try:
        text = (folder / "README.md").read_text(encoding="utf-8", errors="replace")[:LETTERS]
    except OSError:
        return ""
    head = re.match(r"---\s*\n(.*?)\n---", text, re.DOTALL)
    return head[1] if head else ""
