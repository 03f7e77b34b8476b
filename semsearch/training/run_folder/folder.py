"""The folder of a run, consistent at every moment, even if the process is killed.

    encoder.json, model.safetensors, …   the encoder, the best so far
    run/settings.json                    all settings needed to repeat it
    run/metrics.jsonl                    a line for every few steps and for every validation
    run/loss.png                         loss and score over the steps
    run/state.safetensors                the state to continue from; removed at the end
    run/result.json                      the result, once the run is complete

A new best encoder is written beside the old one, and then replaces it file by file. If that is interrupted, it is
completed when the run continues; until then the folder is not a model, so that no mixture of the two is ever loaded.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semsearch.errors import UsageError
from semsearch.models.bundle import MANIFEST
from semsearch.models.hf_config import CONFIG
from semsearch.models.networks import saving
from semsearch.training.run_folder import plot, state
from semsearch.training.runs import METRICS, RESULT, RUN, SETTINGS, START_ANEW, read_json, truncate_metrics
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils import atomic_write
from semsearch.utils.writer_lock import WriterLock

READY = "ready"  # a new best encoder, completely written
MOVED_LAST = (MANIFEST, CONFIG)  # a model without its manifest would be read differently
MAY_DIFFER = ("versions", "threads", "device", "micro")  # settings that do not prevent continuing a run
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def home(self) -> Path:
        """The subfolder of everything that is not the encoder."""
        return self.path / RUN

    def result(self, settings: JsonMapping, *, force: bool = False) -> JsonObject | None:
        """The result of the run with these settings, None if it is incomplete. Nothing is changed.

        Raises UsageError where the folder has other contents, or, without `force`, another run.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file.", "Name a folder.", "Name a folder: -o DIR")
        before = read_json(self.home / SETTINGS)
        if before is None and self.path.is_dir() and any(each.name != RUN for each in self.path.iterdir()):
            raise UsageError(
                f"{self.path} is not empty, and is not the folder of a run.",
                "Name another folder.",
                "Name another folder: -o DIR",
            )
        if before is None or force:
            return None
        differences = _differences(before, settings)
        for name, old, new in differences:
            if name.partition(".")[0] not in MAY_DIFFER:
                raise UsageError(f"{self.path} has a run with {name} {old!r}, and now it is {new!r}.", *START_ANEW)
        if (result := read_json(self.home / RESULT)) is None and (self.home / state.FILE).is_file():
            for name, old, new in differences:
                LOG.warning(
                    "%s was started with %s %r and continues with %r: not bit for bit.", self.path, name, old, new
                )
        return result

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other processes from the folder inside the block. Raises Locked, which names the other process."""
        self.home.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(self.home)
        try:
            yield
        finally:
            lock.release()

    def begin(self, settings: JsonMapping, *, force: bool = False) -> bool:
        """Prepare the folder for the run with these settings; whether there is a saved state to continue from."""
        self.home.mkdir(parents=True, exist_ok=True)
        if force:
            (self.path / MANIFEST).unlink(missing_ok=True)
            saving.clear(self.path)
            shutil.rmtree(self.home / READY, ignore_errors=True)
            for name in (state.FILE, RESULT, METRICS, plot.FILE):
                (self.home / name).unlink(missing_ok=True)
        resumes = (self.home / state.FILE).is_file()
        if not resumes:
            truncate_metrics(self.home, -1)  # a score of step 0 too
        self._move_ready()
        atomic_write.write_text(self.home / SETTINGS, json.dumps(settings, indent=1, ensure_ascii=False) + "\n")
        return resumes

    def save_best(self, write: Callable[[Path], object]) -> None:
        """Replace the best encoder by the one that `write` writes into an empty folder."""
        new = self.home / f".{READY}"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        write(new)
        for path in (*new.rglob("*"), new):
            (atomic_write.sync_folder if path.is_dir() else atomic_write.sync_file)(path)
        new.rename(self.home / READY)
        atomic_write.sync_folder(self.home)
        self._move_ready()

    def end(self, result: JsonMapping) -> None:
        """Record the result of a completed run."""
        atomic_write.write_text(self.home / RESULT, json.dumps(result, indent=1) + "\n")
        (self.home / state.FILE).unlink(missing_ok=True)

    def _move_ready(self) -> None:
        """Move a new best encoder, where one is ready, to its place, its manifest last."""
        ready = self.home / READY
        if not ready.is_dir():
            return
        new = {path.name: path for path in ready.iterdir()}
        for name in reversed(MOVED_LAST):
            if name in new:
                (self.path / name).unlink(missing_ok=True)
        for name in sorted(new, key=lambda each: MOVED_LAST.index(each) if each in MOVED_LAST else -1):
            if new[name].is_dir():
                shutil.rmtree(self.path / name, ignore_errors=True)
            new[name].replace(self.path / name)
            atomic_write.sync_folder(self.path)
        ready.rmdir()


def _differences(before: JsonMapping, now: JsonMapping, within: str = "") -> list[tuple[str, object, object]]:
    """Name, old and new value of each difference. A setting that only one of them has is not compared."""
    differences: list[tuple[str, object, object]] = []
    for key in (each for each in now if each in before):
        old, new, name = before[key], now[key], f"{within}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            differences += _differences(old, new, f"{name}.")
        elif old != new:
            differences.append((name, old, new))
    return differences
