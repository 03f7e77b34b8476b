"""A program that kills runs of training with SIGKILL, at one file operation after the other, and has them go on.

    python killing.py BASE FOLDER

It prints one JSON object: what an undisturbed run came to, and for each that was killed, what its folder was then and
whether it came to the same. A child is forked for each run, since importing torch takes longer than a tiny run.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers.training import Near, examples, outcome
from semsearch.encoders.encoder import Encoder
from semsearch.errors import NotFound
from semsearch.training import TrainingConfig, TrainingOptions, loop, trainer

POINTS = 10
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}


def main() -> None:
    base, folder = sys.argv[1], Path(sys.argv[2])
    loop.plot = SimpleNamespace(draw=lambda *_: None)  # type: ignore[attr-defined]
    whole = told_of(folder / "whole", trained(base, folder / "whole"))  # in here: children find all modules imported
    total = answered(lambda: counted(base, folder / "counted"))
    killed = [one(base, folder / f"at-{at}", at) for at in range(total // POINTS, total + 1, total // POINTS)]
    print(json.dumps({"whole": whole, "operations": total, "killed": killed, "ended": ended(base, folder / "ended")}))


def one(base: str, folder: Path, at: int) -> dict[str, Any]:
    """A run that is killed before its file operation number `at`, what it left, and what it came to afterwards."""
    status = forked(lambda: (dying(folder, at), trained(base, folder)))
    left = answered(lambda: loaded(folder))
    return {"at": at, "signal": status, "left": left, "then": answered(lambda: told_of(folder, trained(base, folder)))}


def ended(base: str, folder: Path) -> dict[str, Any]:
    """A run that SIGTERM ends in its third step."""
    steps: list[int] = []

    def report(step: Any) -> None:
        steps.append(step.step)
        if step.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    status = forked(lambda: trained(base, folder, report))
    done: list[int] = []
    then = answered(lambda: told_of(folder, trained(base, folder, lambda step: done.append(step.step)), steps=done))
    return {"signal": status, "then": then}


def trained(base: str, folder: Path, report: Any = None) -> trainer.TrainingResult:
    settings = TrainingConfig(
        "cotbert",
        base,
        batch_size=4,
        steps=4,
        eval_every=1,
        max_length=8,
        learning_rate=1e-3,
        ema_decay=0.5,
        device="cpu",
        threads=1,
        save_seconds=0.0,  # a state after every step
    )
    return trainer.train(settings, examples(), folder, TrainingOptions(validation=Near(), report=report))


def told_of(folder: Path, _: trainer.TrainingResult, **more: Any) -> dict[str, Any]:
    """Hashes of the weights, and the rest of what has to be the same."""
    weights, lines, result, manifest = outcome(folder)
    manifest["origin"]["trained"].pop("threads")
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in weights.items()}
    return {"weights": hashes, "metrics": lines, "result": result, "manifest": manifest, **more}


def loaded(folder: Path) -> str:
    """The fingerprint of the encoder in `folder`, or why there is none."""
    try:
        return Encoder.load(folder, device="cpu").fingerprint
    except NotFound as error:
        return error.message.replace(str(folder), "it")


def counted(base: str, folder: Path) -> int:
    """How many file operations a run has."""
    operations: list[str] = []
    heeding(folder, operations.append)
    trained(base, folder)
    return len(operations)


def dying(folder: Path, at: int) -> None:
    left = iter(range(1, at))
    heeding(folder, lambda _: next(left, None) or os.kill(os.getpid(), signal.SIGKILL))


def heeding(folder: Path, heed: Callable[[str], Any]) -> None:
    """Call `heed` before every change of a file in `folder`."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[1], str) and arguments[1][0] in "wa"
        if (event in CHANGES or writes) and str(arguments[0]).startswith(str(folder)):
            heed(f"{event} {arguments[0]}")

    sys.addaudithook(hook)


def forked(run: Callable[[], Any]) -> int:
    """The signal that ended `run` in a child, 0 for none."""
    child = os.fork()
    if not child:
        try:
            run()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def answered(run: Callable[[], Any]) -> Any:
    """What `run` gives in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "w") as pipe:
            try:
                json.dump(run(), pipe)
                code = 0
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                code = 1
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text or "null")


if __name__ == "__main__":
    main()
