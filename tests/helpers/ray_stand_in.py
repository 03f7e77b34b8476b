"""What stands in for Ray where a test needs no cluster: rows pass through one actor, in this process.

It has what `scale.pool`, `scale.actors` and `scale.searching` use. Answers come last first, and the first one twice, as
a cluster may give them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from semsearch.scale import actors
from semsearch.scale.cluster import Engine
from semsearch.scale.desk import Desk
from semsearch.scale.searching import batch, building


class Rows:
    """A dataset of tables."""

    def __init__(
        self, tables: Sequence[Any], actor: Callable[[], Callable[[Any], Iterator[Any]]] | None = None
    ) -> None:
        self._tables, self._actor = list(tables), actor

    def map_batches(self, actor: Any, *, fn_constructor_args: Sequence[Any], **_: Any) -> Rows:
        return Rows(self._tables, lambda: actor(*fn_constructor_args))

    def iter_batches(self, **_: Any) -> Iterator[Any]:
        assert self._actor is not None
        answer = self._actor()
        for table in [*reversed(self._tables), self._tables[-1]]:
            yield from answer(table)


class _Handle:
    """The handle of an actor: a call gives the answer at once."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=getattr(self._actor, name))


def install(monkeypatch: pytest.MonkeyPatch, cpus: float = 4.0) -> None:
    """Have jobs run on a stand-in with one node."""
    handle = _Handle(None)
    ray = SimpleNamespace(
        nodes=lambda: [{"Alive": True, "Resources": {"CPU": cpus}}],
        get=lambda asked, timeout=0: asked,
        get_actor=lambda name, namespace: handle,
        data=SimpleNamespace(
            from_arrow=Rows,
            ActorPoolStrategy=lambda **_: None,
            DataContext=SimpleNamespace(
                get_current=lambda: SimpleNamespace(target_max_block_size=0, enable_progress_bars=0)
            ),
        ),
    )

    @contextmanager
    def connected(engine: Engine) -> Iterator[Any]:
        yield ray

    @contextmanager
    def opened(_: Any, files: dict[str, str]) -> Iterator[tuple[str, Any]]:
        handle._actor = Desk(dict(files))
        yield "desk", handle

    for module in (batch, building):
        monkeypatch.setattr(module, "connected", connected)
        monkeypatch.setattr(module.desks, "opened", opened)
    monkeypatch.setattr(actors, "imported", lambda: ray)
