"""The pipeline of Ray Data that embeds shards.

shards ─ reading tasks ─ parts ─ actors ─ answers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semsearch import __version__
from semsearch.scale import pool
from semsearch.scale.actors import Embedder, How, source
from semsearch.scale.cluster import Engine
from semsearch.scale.known import Known
from semsearch.scale.shards.shard import Shard

SERVED = 8  # workers by a reading task: a core reads some thousand documents a second, and embeds some hundred


def dataset(ray: Any, shards: Sequence[Shard], how: How, engine: Engine, desk: str, known: Known | None) -> Any:
    """The pipeline of Ray Data, not begun yet. Raises UsageError where the workers do not fit."""
    most = pool.most(ray, engine)
    keys = ray.put(known.keys) if known else None  # one copy for all tasks of a machine
    with pool.context(ray):
        read = ray.data.read_datasource(
            source(shards, keys),
            override_num_blocks=len(shards),
            concurrency=-(-most // SERVED),  # a process each, which takes seconds to start
            num_cpus=0.0,  # on the driver's machine, which may offer no processor
        )
        return pool.through(ray, read, Embedder, (desk, __version__, how, *pool.power(engine)), engine, most)
