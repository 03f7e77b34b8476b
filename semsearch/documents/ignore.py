"""What .gitignore and .semsearchignore files leave out.

Source: gitignore(5). Nested files, negation, and files above the root up to the top of its repository. The
rules of .semsearchignore stand after those of every .gitignore, and so win. Not read: core.excludesFile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAMES = (".semsearchignore", ".gitignore")  # the first that has an opinion decides


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder: (name of file, its folder with a "/", its patterns), innermost last."""

    specs: tuple[tuple[str, str, GitIgnoreSpec], ...] = ()

    @classmethod
    def above(cls, root: Path) -> IgnoreRules:
        """Rules from the folders above `root`, if it lies in a git repository.

        A root that those rules leave out was asked for by name; then they do not hold.
        """
        folders = [root, *root.parents]
        top = next((at for at, folder in enumerate(folders) if (folder / ".git").exists()), 0)
        rules = cls()
        for folder in reversed(folders[1 : top + 1]):
            rules = rules.entering(folder)
        if any(rules.ignores(str(folder), is_folder=True) for folder in folders[:top]):
            return cls()
        return rules

    def entering(self, folder: Path) -> IgnoreRules:
        """The rules that hold in `folder`, which stands below the one of these rules."""
        files = [(name, folder / name) for name in NAMES]
        if (folder / ".git").exists():
            files.insert(0, (".gitignore", folder / ".git" / "info" / "exclude"))
        base = f"{folder}/".replace("//", "/")
        new = tuple((name, base, _spec(file)) for name, file in files if file.is_file())
        return IgnoreRules((*self.specs, *new)) if new else self

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether `path` itself, absolute, is left out. Whoever walks asks for each folder on the way first."""
        for wanted in NAMES:
            for name, folder, spec in reversed(self.specs):
                if name == wanted and path.startswith(folder):
                    verdict = spec.check_file(path[len(folder) :] + "/" * is_folder).include
                    if verdict is not None:
                        return verdict
        return False


@lru_cache(maxsize=1024)
def _spec_of_text(text: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # 0.1 s, and most folders need it not

    return GitIgnoreSpec.from_lines(text.splitlines())


def _spec(file: Path) -> GitIgnoreSpec:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:  # an ignore file that cannot be read ignores nothing
        text = ""
    return _spec_of_text(text.removeprefix("\ufeff"))
