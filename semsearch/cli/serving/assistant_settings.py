"""`mcp --install` and `--remove`: the settings of an assistant, and the skill that says how to ask.

Each assistant is a file of data in `assistants/`: its title, where its settings lie on which system, the place of a
server in them, and where it looks for skills.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from itertools import count, pairwise
from pathlib import Path

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.cli.serving import settings_text
from semsearch.errors import SemsearchError, UnknownName
from semsearch.types import JsonObject
from semsearch.utils import atomic_write
from semsearch.utils.untrusted import escaped

DATA = Path(__file__).with_name("assistants")
SKILL = DATA / "SKILL.md"
SKILL_TITLE = b"# Searching the user's documents with semsearch"  # a text with this began as that skill
SERVER = "semsearch"
FOLDERS = ("XDG_CONFIG_HOME", "APPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR")  # variables for places of settings
UV_CACHE = ("archive-v", "environments-v")  # folders of uv's cache, which may be emptied
EXTRAS = "cpu,docs,mcp"


@dataclass(frozen=True, slots=True)
class Assistant:
    """Where an assistant has its settings and skills. `keys`: the place of the server; `entry`: fields of it."""

    title: str
    keys: tuple[str, ...]
    entry: JsonObject
    file: Path
    skill: Path | None
    after: str

    @property
    def is_toml(self) -> bool:
        return self.file.suffix == ".toml"


def known() -> list[str]:
    """The names of the assistants."""
    return sorted(file.stem for file in DATA.glob("*.toml"))


def find(name: str) -> Assistant:
    """Raises UnknownName."""
    if name not in known():
        raise UnknownName("assistant", name, known())
    data = tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))
    place = data["file"].get(sys.platform, data["file"]["linux"])
    skill = _path(data["skill"]) if "skill" in data else None
    return Assistant(data["title"], (*data["keys"], SERVER), data.get("entry", {}), _path(place), skill, data["after"])


def install(options: Options, name: str, flags: Sequence[str], *, only_print: bool) -> None:
    """Write the server into the settings of an assistant, with the program and the settings of this process."""
    assistant = find(name)
    words = [*_program(), "--home", str(options.folder().resolve()), "mcp", *flags]
    entry = {**assistant.entry, "command": words[0], "args": words[1:]}
    if env := {key: value for key, value in sorted(os.environ.items()) if _is_passed_on(key)}:
        entry["env"] = env
    if only_print:
        console.note(f"{assistant.title} reads {assistant.file}:")
        print(settings_text.shown(assistant.keys, entry, is_toml=assistant.is_toml), end="")
        with suppress(SemsearchError, OSError):
            if _users(assistant, _text(assistant.file)) is not None:
                console.note(f"your own entry {SERVER} there would be replaced; --remove gives it back.")
        return
    if assistant.skill is not None:
        _check(assistant.skill)
    _write(assistant, entry)
    if assistant.skill is not None:
        assistant.skill.parent.mkdir(parents=True, exist_ok=True)
        if assistant.skill.is_file() and assistant.skill.read_bytes() != SKILL.read_bytes():  # changed, or an older one
            _back_up(assistant.skill)
        shutil.copyfile(SKILL, assistant.skill)
        console.out(f"skill: {console.safe(str(assistant.skill))}")
    console.out(assistant.after)


def remove(name: str, *, only_print: bool) -> None:
    """Remove the server from the settings of an assistant.

    The skill goes too, unless it has been changed, or another assistant that is installed has it.
    """
    assistant = find(name)
    skill = assistant.skill
    if skill is not None and not (skill.is_file() and skill.read_bytes() == SKILL.read_bytes()):
        skill = None
    others = [find(other) for other in known() if other != name]
    if any(other.skill == skill and _is_installed(other) for other in others if skill is not None):
        skill = None
    if only_print:
        file, before, after = _change(assistant, None)
        console.note(f"{assistant.title} reads {file}; these lines would be removed (-) or given back (+):")
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
        for line in list(lines)[2:]:
            console.out(escaped(line))
        if skill is not None:
            console.note(f"and the skill {skill}")
        return
    _write(assistant, None)
    if skill is not None:
        mine = _backup(skill)
        if mine.is_file() and SKILL_TITLE not in mine.read_bytes():
            mine.replace(skill)
            console.out(f"given back: {console.safe(str(skill))}")
            return
        _remove_file(skill)
        console.out(f"removed: {console.safe(str(skill))}")


def _is_installed(assistant: Assistant) -> bool:
    """Whether its settings name the server; so taken where they cannot be read."""
    try:
        _, before, after = _change(assistant, None)
    except (SemsearchError, OSError):
        return True
    return before != after


def _write(assistant: Assistant, entry: JsonObject | None) -> None:
    """Change the file of settings, with a copy of it beside it. Raises SemsearchError where it cannot be changed.

    What only an installation has changed is given back as it was.
    """
    file, before, after = _change(assistant, entry)
    shown, backup = console.safe(str(file)), _backup(file)
    if after == before:
        console.out(f"{assistant.title}: nothing to change in {shown}")
        return
    _check(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    original, mine, done = _original(assistant, file, before), _users(assistant, before), "added to"
    if original is None and file.exists():
        _back_up_settings(assistant, file, mine)
    if original == "" and entry is None and not backup.exists():  # the installation made it
        _remove_file(file)
    else:
        with atomic_write.replacing(file) as new:
            if file.exists():
                shutil.copy2(file, new)  # for the rights that it has
            new.write_bytes(after.encode())
    if original is not None and entry is None:
        backup.unlink(missing_ok=True)
    if entry is None:
        done = "removed from" if _entry(assistant, after) is None else "your own entry is given back in"
    elif mine is not None:
        done = "replaced your own entry, which --remove gives back, in"
    elif _entry(assistant, before) is not None:
        done = "replaced in"
    console.out(f"{assistant.title}: {done} {shown}")


def _remove_file(file: Path) -> None:
    """Remove a file that an installation has made, and the folders that are empty then."""
    file.unlink()
    roots = [Path.home(), *(Path(os.environ[name]) for name in FOLDERS if os.environ.get(name))]
    with suppress(OSError):  # it has other files
        for folder in file.parents:
            if folder in roots:
                break
            folder.rmdir()


def _back_up(file: Path) -> None:
    """A copy of a file beside it. One that is there already gets a number."""
    backup = _backup(file)
    if backup.exists():
        numbered = (backup.with_name(f"{backup.name}.{number}") for number in count(1))
        backup.rename(next(name for name in numbered if not name.exists()))
    shutil.copy2(file, backup)
    console.out(f"backup: {console.safe(str(backup))}")


def _back_up_settings(assistant: Assistant, file: Path, mine: object) -> None:
    """A copy of the settings, in place of the one before unless that alone has an entry of the user."""
    with suppress(settings_text.Unsuitable):
        kept = _users(assistant, _text(_backup(file)))
        if kept in (None, mine):
            _backup(file).unlink(missing_ok=True)
        elif mine is None:
            return
    _back_up(file)


def _change(assistant: Assistant, entry: JsonObject | None) -> tuple[Path, str, str]:
    """The file of settings, what it has, and what it is to have. Raises SemsearchError where it cannot be changed."""
    file = assistant.file.resolve()  # of a link, what it leads to
    try:
        before = _text(file)
        if entry is None and not before.strip():
            return file, before, before
        original = _original(assistant, file, before)
        if entry is None and original is not None:
            return file, before, original
        base = before if original is None else original
        if entry is None and _entry(assistant, before) is not None and _users(assistant, before) is None:
            entry = _users(assistant, _text(_backup(file)))
        return file, before, settings_text.changed(base, assistant.keys, entry, is_toml=assistant.is_toml)
    except settings_text.Unsuitable as error:
        raise _unsuitable(file, error.message) from None


def _original(assistant: Assistant, file: Path, text: str) -> str | None:
    """What a file of settings was before an installation; None where that is not all that has happened to it."""
    with suppress(settings_text.Unsuitable):
        old = _text(_backup(file))
        entry, kept = _entry(assistant, text), _entry(assistant, old)
        if entry is not None and _users(assistant, text) is None and kept == _users(assistant, old):
            again = settings_text.changed(old, assistant.keys, entry, is_toml=assistant.is_toml)
            return old if again == text else None
    return None


def _entry(assistant: Assistant, text: str) -> JsonObject | None:
    return settings_text.entry(text, assistant.keys, is_toml=assistant.is_toml)


def _users(assistant: Assistant, text: str) -> JsonObject | None:
    """The entry of the server in settings, unless an installation wrote it. Raises Unsuitable."""
    entry = _entry(assistant, text)
    words = entry.get("args") if isinstance(entry, dict) else None
    return None if isinstance(words, list) and (SERVER, "--home") in pairwise(words) else entry


def _backup(file: Path) -> Path:
    return file.with_name(f"{file.name}.semsearch.bak")


def _text(file: Path) -> str:
    """Raises Unsuitable."""
    try:
        if file.exists() and not file.is_file():
            raise settings_text.Unsuitable("it is not a file.")
        return file.read_bytes().decode() if file.exists() else ""
    except UnicodeDecodeError:
        raise settings_text.Unsuitable("it is not UTF-8.") from None


def _check(file: Path) -> None:
    """Raises SemsearchError for a file that cannot be written."""
    there = next(path for path in (file, *file.parents) if os.path.lexists(path))
    if there != file and not there.is_dir():
        raise _unsuitable(file, f"{there} is not a folder.")
    if there == file and not file.is_file():
        raise _unsuitable(file, "it is not a file.")
    if not (os.access(there, os.W_OK) and there.stat().st_mode & 0o222):  # root may write to any
        raise _unsuitable(file, f"{'it' if there == file else there} is read-only.")


def _unsuitable(file: Path, reason: str) -> SemsearchError:
    fix = "Change it by hand: --install NAME --print shows the entry."
    return SemsearchError(f"{file} was left as it is: {reason}", fix)


def _program() -> list[str]:
    """What starts this program again: its Python, or uvx where that runs it from a folder of its cache."""
    if any(part.startswith(UV_CACHE) for part in Path(sys.prefix).parts) and (uvx := shutil.which("uvx")):
        return [uvx, "--from", _requirement(), "semsearch"]
    return [sys.executable, "-P", "-m", "semsearch"]


def _requirement() -> str:
    """What uvx is to install: this version, or the file or folder that it was installed from."""
    with suppress(PackageNotFoundError):
        if origin := distribution("semsearch").read_text("direct_url.json"):
            return f"semsearch[{EXTRAS}] @ {settings_text.from_json(origin)['url']}"
        return f"semsearch[{EXTRAS}]=={distribution('semsearch').version}"
    return f"semsearch[{EXTRAS}]"


def _is_passed_on(variable: str) -> bool:
    """Assistants pass on few variables: those of semsearch and the place of hub models are written down, no tokens."""
    own = variable.startswith("SEMSEARCH_") and variable != "SEMSEARCH_HOME"
    return (own or variable == "HF_HOME") and "TOKEN" not in variable


def _path(written: str) -> Path:
    """A path of the data, where ${NAME:-default} is the value of a variable of the environment, as in a shell."""
    return Path(re.sub(r"\$\{(\w+):-(.*?)\}", lambda each: os.environ.get(each[1]) or each[2], written)).expanduser()
