"""The rules of .gitignore and .semsearchignore files.

Source: gitignore(5), with nested files, negation, and files above the root up to the top of its repository. The rules
of .semsearchignore come after those of every .gitignore, and so prevail. core.excludesFile is not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAMES = (".semsearchignore", ".gitignore")  # the first with a rule for a path decides


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that apply in one folder: (file name, its folder with a trailing "/", patterns), innermost last."""

    specs: tuple[tuple[str, str, GitIgnoreSpec], ...] = ()

    @classmethod
    def above(cls, root: Path) -> IgnoreRules:
        """The rules from the folders above `root`, if it is in a git repository.

        They do not apply where they exclude `root` itself, since the user chose it.
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
        """The rules that apply in `folder`, a subfolder of the one that these rules apply in."""
        files = [(name, folder / name) for name in NAMES]
        if (folder / ".git").exists():
            files.insert(0, (".gitignore", folder / ".git" / "info" / "exclude"))
        base = f"{folder}/".replace("//", "/")
        new = tuple((name, base, _spec(file)) for name, file in files if file.is_file())
        return IgnoreRules((*self.specs, *new)) if new else self

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether the absolute `path` itself is excluded. A walk checks each of its parent folders first."""
        for first in NAMES:
            for name, folder, spec in reversed(self.specs):
                if name == first and path.startswith(folder):
                    verdict = spec.check_file(path[len(folder) :] + "/" * is_folder).include
                    if verdict is not None:
                        return verdict
        return False


@lru_cache(maxsize=1024)
def _spec_of_text(text: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # 0.1 s, and most folders have no ignore file

    return GitIgnoreSpec.from_lines(text.splitlines())


def _spec(file: Path) -> GitIgnoreSpec:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:  # an ignore file that cannot be read ignores nothing
        text = ""
    return _spec_of_text(text.removeprefix("\ufeff"))
