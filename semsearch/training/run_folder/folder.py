"""What a run leaves in its folder, whole at every moment, whenever it is killed.

    encoder.json, model.safetensors, …   the encoder, the best on dev so far
    run/settings.json                    everything needed to repeat it
    run/metrics.jsonl                    a line for every few steps, and for each score on dev
    run/loss.png                         loss and score over steps
    run/state.safetensors                where it stands, to go on; gone once it is done
    run/result.json                      what it came to, once it is done

A new best encoder is written beside the old one, and then moved over it file by file. Where that is cut off, it is
brought to its end as the run goes on; meanwhile the folder is no model, and is never taken for one of the two.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semsearch.errors import Corrupt, UsageError
from semsearch.models.bundle import MANIFEST
from semsearch.models.hf_config import CONFIG
from semsearch.models.networks import saving
from semsearch.training.run_folder import metrics, plot, state
from semsearch.training.runs import RESULT, RUN, SETTINGS
from semsearch.utils import atomic_write
from semsearch.utils.writer_lock import WriterLock

READY = "ready"  # a new best encoder, all of it on disk
LAST = (MANIFEST, CONFIG)  # of its files: a model without a manifest would be read in another way
FREE = ("versions", "threads", "device", "micro")  # of the settings: a run may go on where these differ
ANEW = "Name another folder with -o, or say --force to start anew."
LOG = logging.getLogger(__name__)

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one run."""

    path: Path

    @property
    def home(self) -> Path:
        """Where lies what is not the encoder."""
        return self.path / RUN

    def result(self, told: Told, *, force: bool = False) -> dict[str, Any] | None:
        """What the run that `told` describes came to, where the folder holds it and it is done; changes nothing.

        Raises UsageError where the folder holds something else. With `force` another run is nothing else.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file.", "Name a folder: -o DIR")
        before = _json(self.home / SETTINGS)
        if before is None and self.path.is_dir() and any(each.name != RUN for each in self.path.iterdir()):
            raise UsageError(f"{self.path} is not empty, and holds no run.", "Name another folder: -o DIR")
        if before is None or force:
            return None
        differences = _differences(before, told)
        for name, old, new in differences:
            if name.partition(".")[0] not in FREE:
                raise UsageError(f"{self.path} holds a run with {name} {old!r}, and now it is {new!r}.", ANEW)
        if (found := _json(self.home / RESULT)) is None and state.there(self.home):
            for name, old, new in differences:
                LOG.warning("%s began with %s %r, and goes on with %r: not bit for bit.", self.path, name, old, new)
        return found

    @contextmanager
    def held(self) -> Iterator[None]:
        """With nobody else running in the folder. Raises Locked, naming who is."""
        self.home.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self.home)
        try:
            yield
        finally:
            lock.release()

    def begin(self, told: Told, *, force: bool = False) -> bool:
        """Make room for the run that `told` describes; whether one is there that it goes on with."""
        self.home.mkdir(parents=True, exist_ok=True)
        if force:
            (self.path / MANIFEST).unlink(missing_ok=True)
            saving.clear(self.path)
            shutil.rmtree(self.home / READY, ignore_errors=True)
            for name in (state.FILE, RESULT, metrics.FILE, plot.FILE):
                (self.home / name).unlink(missing_ok=True)
        going_on = state.there(self.home)
        if not going_on:
            metrics.cut(self.home, 0)
        self._settle()
        atomic_write.write_text(self.home / SETTINGS, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        return going_on

    def keep(self, write: Callable[[Path], Any]) -> None:
        """Put the encoder that `write` writes into an empty folder where the best one lies."""
        new = self.home / f".{READY}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        write(new)
        for path in (*new.rglob("*"), new):
            (atomic_write.sync_folder if path.is_dir() else atomic_write.sync_file)(path)
        new.rename(self.home / READY)
        atomic_write.sync_folder(self.home)
        self._settle()

    def end(self, result: Told) -> None:
        """The run is done, and came to `result`."""
        atomic_write.write_text(self.home / RESULT, json.dumps(result, indent=1) + "\n")
        (self.home / state.FILE).unlink(missing_ok=True)

    def _settle(self) -> None:
        """Move a new best encoder, where one is ready, to its place. What says that it is a model comes last."""
        ready = self.home / READY
        if not ready.is_dir():
            return
        new = {path.name: path for path in ready.iterdir()}
        for name in reversed(LAST):
            if name in new:
                (self.path / name).unlink(missing_ok=True)
        for name in sorted(new, key=lambda each: LAST.index(each) if each in LAST else -1):
            if new[name].is_dir():
                shutil.rmtree(self.path / name, ignore_errors=True)
            new[name].replace(self.path / name)
            atomic_write.sync_folder(self.path)
        ready.rmdir()


def _differences(before: Told, told: Told, within: str = "") -> list[tuple[str, Any, Any]]:
    """Name, old and new value of what differs. What one of the two has not was not known to it, and held its usual."""
    found: list[tuple[str, Any, Any]] = []
    for key in (each for each in told if each in before):
        old, new, name = before[key], told[key], f"{within}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differences(old, new, f"{name}.")
        elif old != new:
            found.append((name, old, new))
    return found


def _json(file: Path) -> dict[str, Any] | None:
    """The object in `file`, None where there is none. Raises Corrupt."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Corrupt(f"{file} cannot be read: {error}.", ANEW) from error
