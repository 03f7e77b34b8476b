"""A folder of two short notes, as somebody begins with."""

from __future__ import annotations

from pathlib import Path

KETTLE = "Vinegar removes the scale from a kettle. Rinse it twice afterwards."
BREAD = "Bread needs flour, water, salt and time. A slow rise gives more taste."


def written(folder: Path) -> Path:
    """The new `folder` with both of them."""
    folder.mkdir()
    (folder / "kettle.md").write_text(f"# Kettles\n\n{KETTLE}\n", encoding="utf-8")
    (folder / "bread.txt").write_text(BREAD + "\n", encoding="utf-8")
    return folder
