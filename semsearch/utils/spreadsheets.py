"""Cells for spreadsheets, which take some texts for formulas and run them."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: T) -> T | str:
    """A cell that no spreadsheet takes for a formula: a text that could be one begins with an apostrophe.

    >>> cell("=1+1"), cell(-0.5), cell("plain")
    ("'=1+1", -0.5, 'plain')
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA) else value
