"""Front matter: the block of YAML or TOML at the beginning of a note, which is about the note and no part of it."""

from __future__ import annotations

import re

# Its first line is a key, a comment or nothing, so that prose between two rules is none
_FRONT_MATTER = re.compile(
    r"\s*(---|\+\+\+)[^\S\n]*\n(?=\s*(?:#|[\w\"'][^\n:=]{0,60}[:=]|\1|\.\.\.))(.*?)^(?:\1|\.\.\.)[^\S\n]*(?:\n\s*|\Z)",
    re.DOTALL | re.MULTILINE,
)
MOST = 65_536  # characters


def block(text: str) -> tuple[str, str]:
    """The line above the front matter of a document, "---" or "+++", and what it says; "" twice for one without."""
    matter = _FRONT_MATTER.match(text, 0, MOST)
    return (matter[1], matter[2]) if matter else ("", "")


def end(text: str) -> int:
    """Where a document goes on behind its front matter; 0 for one without.

    >>> end("---\\ntitle: Heaps\\n---\\n\\n# A heap"), end("---\\nA scene.\\n---\\nAnother.")
    (22, 0)
    """
    matter = _FRONT_MATTER.match(text, 0, MOST)
    return matter.end() if matter else 0


def behind(text: str, start: int = 0) -> str:
    """A passage that begins at offset `start` of its document without front matter, unless it has nothing else."""
    return text if start else text[end(text) :] or text
