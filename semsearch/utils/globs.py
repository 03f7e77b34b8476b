"""Path patterns of `--path`, `--include`, `--exclude` and `path ~ …`, compiled to regular expressions.

    *      anything within a name            notes      the file, or all below the folder, at any depth
    **     any folders, as a whole name      notes/     all below such a folder
    ?      one character of a name           *.md       the name, at any depth
    [a-z]  one of these, [!a-z] another      a/*.md     from the top: a pattern with a slash in it starts there

A pattern that starts with a slash starts at the top of the indexed folder, or is a full path. Case matters.

Not gitignore, and so not `pathspec`, for four reasons: `notes/*` matches the files of one folder and not those
below it; `!`, `#` and `\\` are characters of file names, not syntax; an unclosed or empty `[` stands for itself; and a
pattern from a stranger takes linear time, where the regular expressions of `pathspec` backtrack without bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from semsearch.errors import BadFilter

MOST_STARS = 3  # `**` in a pattern
LONGEST = 4096  # characters of a pattern: those of the longest path on Linux
_PIECE = re.compile(r"\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)


def matches(pattern: str, path: str, root: str | None = None) -> bool:
    """Whether `path`, relative to the folder `root`, matches. Raises BadFilter for an empty or hostile pattern."""
    match = path_regex(pattern).match
    if match(path):
        return True
    return root is not None and pattern.startswith("/") and match(f"{root.strip('/')}/{path}") is not None


def matches_document(pattern: str, uri: str, path: str | None, root: str | None) -> bool:
    """Whether a document matches by its id, or by the path below `root` of its file. Raises BadFilter."""
    return matches(pattern, uri) or (path is not None and matches(pattern, path, root))


@lru_cache(maxsize=64)
def path_regex(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression for a whole path without a leading slash."""
    if len(pattern) > LONGEST:
        raise BadFilter(f"the path pattern has {len(pattern):,} characters; {LONGEST:,} is the most.")
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if names.count("**") > MOST_STARS:
        raise BadFilter(f"the path pattern {pattern[:40]!r} has more than {MOST_STARS} `**`.", "Use fewer.")
    if not names:
        if not pattern:
            raise BadFilter("the path pattern is empty.", "Write one like notes/**, or leave it out.")
        return re.compile("")
    anywhere = len(names) == 1 and not pattern.startswith(("/", "./"))
    below = "/.+" if pattern.endswith("/") else "" if re.search(r"[*?\[]", names[-1]) else "(?:/.*)?"
    last = ".+" if names[-1] == "**" else _name(names[-1])
    regex = _folders(["**", *names[:-1]] if anywhere else names[:-1])
    return re.compile(f"{regex}{last}{below}\\Z", re.DOTALL)


def _folders(names: Sequence[str]) -> str:
    """Names of folders, each with its slash.

    What stands between two `**` is matched where it first fits and nowhere else, as the second one takes what follows.
    """
    first, *rest = ["".join(f"{_name(name)}/" for name in part) for part in _split(names)]
    if not rest:
        return first
    middle = "".join(f"(?>(?:[^/]*+/)*?{part})" for part in rest[:-1] if part)
    return f"{first}{middle}(?:.*/)?{rest[-1]}"


def _split(names: Sequence[str]) -> list[list[str]]:
    """The names before, between and after `**`."""
    parts: list[list[str]] = [[]]
    for name in names:
        if name == "**":
            parts.append([])
        else:
            parts[-1].append(name)
    return parts


def _name(name: str) -> str:
    """One name between slashes. Atomic groups between stars keep it linear, as in the standard library's fnmatch."""
    first, *rest = ["".join(map(_piece, _pieces(part))) for part in re.split(r"\*+", name)]
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{part})" for part in rest[:-1] if part)
    return f"{first}{middle}[^/]*{rest[-1]}"


def _pieces(part: str) -> list[str]:
    """Its sets of characters, and its single ones. No `[` after the last `]` is looked at as the beginning of a set."""
    end = part.rfind("]") + 1
    return [*_PIECE.findall(part[:end]), *part[end:]]


def _piece(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if len(piece) < 3:
        return re.escape(piece)
    inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[").replace("&&", "&\\&").replace("||", "|\\|")
    inside = inside.replace("~~", "~\\~").replace("--", "-\\-")
    chosen = f"(?!/)[^{inside[1:]}]" if inside.startswith("!") else f"[{inside.replace('^', chr(92) + '^')}]"
    try:
        re.compile(chosen)
    except re.error:  # [z-a]
        return re.escape(piece)
    return chosen
