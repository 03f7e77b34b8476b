"""What an index of N passages takes on a cluster: bytes, nodes, hours and money, from formulas and measured rates.

bytes of a vector of width d   fp32 4d, fp16 2d, int8 d, PQ with d/4 codes d/4 + 8, RaBitQ d/8 + 24 (1 bit) and d/2 + 24
                               (4 bits; Gao and Long 2024, https://arxiv.org/abs/2405.12497); a graph of HNSW adds
                               8M + 16 (M = 16)
nodes                          replicas · N · bytes / (share of the memory that vectors may fill · memory), at least one
                               for each replica
processor time of a query      N · nprobe / (nlist · scan rate) + (shards + 1) · time per call, with nlist = 4 √N lists:
                               that of an inverted file, also for HNSW
embedding                      N / passages per second of a core

Left out: replication of texts, networks, and what a provider gives away or adds. Recall at this nprobe is not known for
N beyond what was measured: it has to be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil, sqrt

from semsearch.errors import UnknownName, UsageError
from semsearch.types import JsonObject

FORMS: Mapping[str, tuple[float, float]] = {  # name: bytes per component, and further bytes of a vector
    "fp32": (4, 0),
    "fp16": (2, 0),
    "int8": (1, 0),
    "pq": (0.25, 8),
    "rabitq": (0.125, 24),
    "rabitq4": (0.5, 24),
    "hnsw-int8": (1, 144),
}
REFINED = ("pq", "rabitq", "rabitq4")  # forms after which the best candidates are compared again, with int8 on disk
LISTS = 4  # times the root of N: the rule of the FAISS wiki
HOURS_PER_MONTH = 730
GB = 10**9


@dataclass(frozen=True, slots=True)
class Scale:
    """What is to be stored and searched, the machines, and the rates; `assumptions` says each of them in words.

    text_bytes: of a passage with its metadata. memory_gb, cores, dollars_per_hour: of one node. fill: the share of its
    memory that vectors may take. rate: passages that one core embeds in a second; scan: compressed vectors that one
    core compares in a second; call_ms: the fixed cost of asking one shard. utilisation: the share of paid time in which
    the processors work.
    """

    documents: float
    dim: int
    rate: float
    rate_source: str
    passages_per_document: float = 1.0
    form: str = "rabitq"
    text_bytes: float = 600.0
    replicas: int = 2
    memory_gb: float = 256.0
    cores: int = 16
    dollars_per_hour: float = 1.0
    fill: float = 0.7
    nprobe: int = 64
    scan: float = 1e8
    call_ms: float = 1.0
    utilisation: float = 0.5
    embedding_cores: int = 64

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise UnknownName("form of vectors", self.form, FORMS)
        for name, number in asdict(self).items():
            if isinstance(number, int | float) and not 0 < number < float("inf"):
                raise UsageError(f"{name} has to be a number above 0, not {number!r}.")
        if self.fill > 1 or self.utilisation > 1:
            raise UsageError("fill and utilisation are shares: at most 1.")

    @property
    def passages(self) -> int:
        return ceil(self.documents * self.passages_per_document)

    def assumptions(self) -> list[str]:
        """Everything the result depends on beside the number of documents, a sentence each."""
        cores = f"{self.cores} cores and {self.memory_gb:g} GB"
        return [
            f"{self.passages_per_document:g} passages a document, {self.text_bytes:g} bytes of text and metadata each.",
            f"{self.rate:,.1f} passages a second are embedded by one core: {self.rate_source}.",
            f"Embedding runs on {self.embedding_cores:,} cores, all of the time.",
            f"A node has {cores}, costs ${self.dollars_per_hour:g} an hour, and {self.fill:.0%} of its memory hold "
            "vectors.",
            f"{self.replicas} replicas. Vectors in memory: {self.form}.",
            f"A core compares {self.scan:,.0f} compressed vectors a second; a call of a shard takes "
            f"{self.call_ms:g} ms.",
            f"{LISTS} √N lists, of which a query reads {self.nprobe}. Its recall is not known for this size. The time "
            "of a query is that of such an inverted file (IVF) for every form, hnsw-int8 included, whose graph is "
            "searched in another time.",
            f"After {', '.join(REFINED[:-1])} and {REFINED[-1]}, the best candidates are compared again with int8 "
            "vectors, which are kept on disk; their reading is not in the time of a query.",
            f"Processors work {self.utilisation:.0%} of the paid time. Texts are stored once per "
            "replica, with an index of their words of half their size.",
        ]


def bytes_of_vector(form: str, dim: int) -> float:
    """The bytes that one vector of width `dim` takes in memory.

    >>> bytes_of_vector("fp32", 384), bytes_of_vector("rabitq", 384), bytes_of_vector("hnsw-int8", 384)
    (1536, 72.0, 528)
    """
    per_component, further = FORMS[form]
    return per_component * dim + further


def nodes(scale: Scale, form: str) -> int:
    """The machines whose memory holds all replicas, at least one for each.

    >>> nodes(Scale(1e9, 384, rate=1, rate_source="given"), "fp32")
    18
    """
    needed = scale.replicas * scale.passages * bytes_of_vector(form, scale.dim)
    return max(scale.replicas, ceil(needed / (scale.fill * scale.memory_gb * GB)))


def plan(scale: Scale) -> JsonObject:
    """Bytes, nodes, build and query costs of a plan, with every other form of vectors beside the chosen one."""
    machines = nodes(scale, scale.form)
    shards = machines / scale.replicas
    query_s = _query_seconds(scale, shards)
    core_hours = scale.passages / scale.rate / 3600
    dollars_per_core_hour = scale.dollars_per_hour / scale.cores
    on_disk = scale.passages * (scale.dim if scale.form in REFINED else 0)
    texts = scale.passages * scale.text_bytes * 1.5
    return {
        "documents": int(scale.documents),
        "passages": scale.passages,
        "dim": scale.dim,
        "form": scale.form,
        "memory_bytes": ceil(scale.passages * bytes_of_vector(scale.form, scale.dim)),
        "disk_bytes": ceil(on_disk + texts),
        "replicas": scale.replicas,
        "nodes": machines,
        "shards": ceil(shards),
        "forms": {
            form: {
                "bytes_per_vector": bytes_of_vector(form, scale.dim),
                "bytes": ceil(scale.passages * bytes_of_vector(form, scale.dim)),
                "nodes": nodes(scale, form),
            }
            for form in FORMS
        },
        "embedding": {
            "core_hours": round(core_hours, 2),
            "hours": round(core_hours / scale.embedding_cores, 2),
            "dollars": round(core_hours * dollars_per_core_hour, 2),
        },
        "queries": {
            "processor_ms": round(1000 * query_s, 3),
            "per_second_and_node": round(scale.cores * scale.utilisation / query_s, 1),
            "dollars_per_million": round(1e6 * query_s / 3600 * dollars_per_core_hour / scale.utilisation, 4),
            "dollars_per_month_idle": round(machines * scale.dollars_per_hour * HOURS_PER_MONTH, 2),
        },
        "assumptions": scale.assumptions(),
    }


def _query_seconds(scale: Scale, shards: float) -> float:
    """Processor time of one query over all shards of a replica."""
    lists = LISTS * sqrt(scale.passages)
    scanned = scale.passages * min(scale.nprobe / lists, 1.0)
    return scanned / scale.scan + (shards + 1) * scale.call_ms / 1000
