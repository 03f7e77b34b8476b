"""The options of `index` that have a Ray cluster embed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal

from semsearch import scale
from semsearch.cli.options import value
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.scale.cluster import Engine


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Where the work is done, and by how many workers."""

    engine: Annotated[
        Literal["local", "ray"],
        value("E", "Where the work is done: in this process (local), or by workers of a Ray cluster (ray)."),
    ] = "local"
    ray_address: Annotated[
        str | None, value("A", "Ray: auto or HOST:PORT.  [default: auto, the cluster of this machine]")
    ] = None
    workers: Annotated[
        str | None, value("MIN:MAX", "Ray: number of workers, or least and most.  [default: 1 to as many as fit]")
    ] = None
    cpus_per_worker: Annotated[float | None, value("N", "Ray: processors of a worker.  [default: 1]")] = None
    gpus_per_worker: Annotated[float | None, value("N", "Ray: GPUs of a worker.  [default: 0]")] = None
    shard_size: Annotated[int | None, value("N", "Ray: documents that a task reads.  [default: 10000]", min=1)] = None
    stall_after: Annotated[float | None, value("S", "Ray: end with an error after S seconds without a result.")] = None

    def chosen(self) -> Engine | None:
        """The engine of the options; None for this process. Raises UsageError."""
        given = [one.name for one in fields(self) if one.name != "engine" and getattr(self, one.name) is not None]
        if self.engine == "local":
            if given:
                option = f"--{given[0].replace('_', '-')}"
                raise UsageError(f"{option} is for work on Ray.", "Add --engine ray, or leave it out.")
            return None
        least, most = scale.cluster.workers(self.workers) if self.workers else (1, None)
        return scale.cluster.Engine(
            self.ray_address or "auto",
            least,
            most,
            cpus=1.0 if self.cpus_per_worker is None else self.cpus_per_worker,
            gpus=self.gpus_per_worker or 0.0,
            stall_seconds=scale.cluster.STALL_SECONDS if self.stall_after is None else self.stall_after,
        )
