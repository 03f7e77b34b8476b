"""Streamlit's theme, in the colours and sizes of the design tokens (tokens.css)."""

from __future__ import annotations

import re
from pathlib import Path

TOKENS = Path(__file__).resolve().parents[1] / "tokens.css"
NAMES = {  # of Streamlit's options, by token
    "accent": "primaryColor",
    "page": "backgroundColor",
    "surface": "secondaryBackgroundColor",
    "text": "textColor",
    "line": "borderColor",
    "link": "linkColor",
}
_COLOUR = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\);")


def options() -> dict[str, object]:
    """The options that begin with `theme.`, for a light and a dark page."""
    colours = {name: pair for name, *pair in _COLOUR.findall(TOKENS.read_text(encoding="utf-8"))}
    themes = {
        f"theme.{theme}.{option}": colours[token][at]
        for at, theme in enumerate(("light", "dark"))
        for token, option in NAMES.items()
    }
    return themes | {
        "theme.baseFontSize": 15,
        "theme.headingFontSizes": ["1.4rem", "1rem", "1rem", "1rem", "1rem", "1rem"],
        "theme.baseRadius": "8px",
        "theme.paddingTop": "1rem",
    }
