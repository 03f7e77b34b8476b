"""`mcp --install` and `--remove`: the settings of an assistant, and the skill that says how to ask.

Each assistant is a file of data in `assistants/`: its title, where its settings lie on which system, the place of a
server in them, and where it looks for skills.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.cli.serving import settings_text
from semsearch.errors import SemsearchError, UnknownName
from semsearch.types import JsonObject
from semsearch.utils.atomic_write import sync_file, sync_folder

DATA = Path(__file__).with_name("assistants")
SKILL = DATA / "SKILL.md"
SERVER = "semsearch"
FOLDERS = {"XDG_CONFIG_HOME": "~/.config", "APPDATA": "~/AppData/Roaming"}  # where the environment does not say
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
        return
    _write(assistant, entry)
    if assistant.skill is not None:
        assistant.skill.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SKILL, assistant.skill)
        console.out(f"skill: {console.safe(str(assistant.skill))}")
    console.out(assistant.after)


def remove(name: str) -> None:
    """Remove the server from the settings of an assistant, and the skill unless it has been changed."""
    assistant = find(name)
    _write(assistant, None)
    skill = assistant.skill
    if skill is not None and skill.is_file() and skill.read_bytes() == SKILL.read_bytes():
        skill.unlink()
        with suppress(OSError):  # with files of somebody else
            skill.parent.rmdir()
        console.out(f"removed: {console.safe(str(skill))}")


def _write(assistant: Assistant, entry: JsonObject | None) -> None:
    """Change the file of settings, after a copy of it. Raises SemsearchError where it cannot be changed."""
    file = assistant.file.resolve()  # of a link, what it leads to
    before = file.read_bytes().decode("utf-8") if file.exists() else ""
    try:
        after = settings_text.changed(before, assistant.keys, entry, is_toml=assistant.is_toml)
    except settings_text.Unsuitable as error:
        raise SemsearchError(
            f"{file} was left as it is: {error.message}", "Change it by hand: --print shows the entry."
        ) from None
    if after == before or (entry is None and not before.strip()):
        console.out(f"{assistant.title}: nothing to change in {console.safe(str(file))}")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    if before:
        backup = file.with_name(f"{file.name}.{time.strftime('%Y%m%dT%H%M%S')}.bak")
        shutil.copy2(file, backup)
        shutil.copy2(file, new)  # for the rights that it has
        console.out(f"backup: {console.safe(str(backup))}")
    new.write_bytes(after.encode())
    sync_file(new)
    new.replace(file)
    sync_folder(file.parent)
    console.out(f"{assistant.title}: {'added to' if entry else 'removed from'} {console.safe(str(file))}")


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
    first, *rest = written.split("/")
    if first.startswith("$"):
        first = os.environ.get(first[1:]) or FOLDERS[first[1:]]
    return Path(first, *rest).expanduser()
