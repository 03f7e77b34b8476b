"""One Milvus server: its calls, each with a limit of time, tried again while it is away, with errors in our words.

Every call that writes is an upsert by key or a deletion by key, so that doing it twice changes nothing.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from semsearch.errors import MissingExtra, NotFound, SemsearchError
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.address import TOKEN, Address

if TYPE_CHECKING:
    from pymilvus import MilvusClient

    from semsearch.types import JsonObject

Row: TypeAlias = dict[str, Any]
T = TypeVar("T")

OLDEST = (2, 3, 2)  # arrays, which filters and words are in
SECONDS = 30.0  # of one attempt
FIRST_SECONDS = 10.0  # until a server answers for the first time
MOST_ROWS = 16_384  # of one answer
METRIC = "IP"  # of unit vectors, the cosine; Milvus's COSINE divides by the lengths, which are 1 but for rounding
LEAST_EF = 256  # candidates of a search by HNSW; 99.3 % of the ten nearest of 29,333, with 64 it is 96.7 %
AT_ONCE = 8 * 2**20  # characters of rows in one upsert: a server takes 64 MB
_LATER = re.compile(  # of errors of a server that starts, stops, moves or is busy
    r"unavailable|not ready|not available|no available|recovering|connection|connect|timed? ?out|timeout|deadline|"
    r"not loaded|not fully loaded|rate limit|too many requests|channel|no replica|fail to query|"
    r"failed to get shard|leader|node offline|node not match|unhealthy|broken|closed|abnormal",
    re.IGNORECASE,
)
_FULL = re.compile(r"no space left|disk.{0,20}(full|quota|exhausted)|quota exceeded.{0,40}disk|ENOSPC", re.IGNORECASE)
_REFUSED = re.compile(r"unauthenticated|auth check|authenticat|permission den|privilege", re.IGNORECASE)
_GONE = re.compile(r"collection.{0,60}not (found|exist)|can't find collection|not exist", re.IGNORECASE)

_LOGICAL_BITS = 18  # of a time of Milvus, below its milliseconds

_clients: dict[tuple[str, str, str], MilvusClient] = {}
_turn = threading.Lock()


class Server:
    """A server, reached by its first call. Threads may share one; so do all stores of a process."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lasting: list[int] | None = None  # the time of a moment without an end
        self._moment = threading.local()  # `time`: that of the moment, once it is asked for

    # ---- consistency

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Reads inside see all that was acknowledged before it began, and own writes, where that is wanted.

        A strong read waits until the server's clock has passed, 0.2 s. In a moment only the first does: the others ask
        for the same time, until something is written. (Milvus's own "Session" showed documents after their deletion.)
        """
        outer = getattr(self._moment, "time", None)
        self._moment.time = [] if outer is None else outer
        try:
            yield
        finally:
            self._moment.time = outer

    def begin_moment(self) -> None:
        """As if all later calls were in one moment: for a writer, whose documents nobody else changes.

        Its reads are strong, whatever the address says: it deletes what no document names, as far as it sees.
        """
        self._lasting = []

    def _moment_time(self) -> list[int] | None:
        """The time of the present moment: empty before it is asked for, None outside of one."""
        found: list[int] | None = getattr(self._moment, "time", None)
        return found if self._lasting is None else self._lasting

    def _wrote(self) -> None:
        """The next read has to see what was just written."""
        if time_of := self._moment_time():
            time_of.clear()

    def _consistency(self) -> JsonObject:
        """How the next read is to be made, in pymilvus's words."""
        level = self.address.consistency if self._lasting is None else "Strong"
        time_of = self._moment_time()
        if level == "Strong" and time_of is not None and not self.address.is_file:
            known = [*time_of]  # another thread may write meanwhile
            at = known[0] if known else self._time()
            if not known:
                time_of.append(at)
            if at:
                return {"consistency_level": "Customized", "guarantee_timestamp": at}
        return {"consistency_level": level}

    def clock(self) -> float:
        """Seconds since 1970 on the server's clock; on this machine's where that cannot be asked."""
        at = 0 if self.address.is_file else self._time()
        return (at >> _LOGICAL_BITS) / 1_000 if at else time.time()

    def _time(self) -> int:
        """The time on the server's clock; 0 where that cannot be asked."""

        def ask(client: MilvusClient, seconds: float) -> int:
            return int(client._get_connection().alloc_timestamp(timeout=seconds))

        return self._call("ask for the time", ask) if hasattr(self._client(), "_get_connection") else 0

    # ---- collections

    def make(self, collection: str, columns: tuple[schema.Column, ...], index: str = "FLAT") -> None:
        """A collection, with its index and ready to be searched; the rest of it where a kill left a part."""
        there = self.has(collection)
        if there and self._is_loaded(collection):
            return
        params = self._client().prepare_index_params()
        vector = columns[-1]
        name, options = index_options(index)
        params.add_index(vector.name, index_type=name, metric_type=METRIC, params=options)
        if not there:
            self._create(collection, columns)
        self._call(f"index {collection}", lambda c, s: c.create_index(collection, params, timeout=s))
        self._call(f"load {collection}", lambda c, s: c.load_collection(collection, timeout=s))

    def _create(self, collection: str, columns: tuple[schema.Column, ...]) -> None:
        level = self.address.consistency
        self._call(
            f"create {collection}",
            lambda client, seconds: client.create_collection(
                collection, schema=schema.schema(columns), consistency_level=level, timeout=seconds
            ),
        )

    def _is_loaded(self, collection: str) -> bool:
        state = self._call("ask for a collection", lambda c, s: c.get_load_state(collection, timeout=s))
        return str(getattr(state["state"], "name", state["state"])) == "Loaded"

    def has(self, collection: str) -> bool:
        """Whether there is such a collection."""
        return bool(self._call("ask for a collection", lambda c, s: c.has_collection(collection, timeout=s)))

    def collections(self) -> list[str]:
        """The names of all collections."""
        return sorted(self._call("list collections", lambda c, s: c.list_collections(timeout=s)))

    def drop(self, collection: str) -> None:
        """Remove a collection; nothing where there is none."""
        self._call(f"drop {collection}", lambda c, s: c.drop_collection(collection, timeout=s))

    def point(self, alias: str, collection: str) -> None:
        """Let an alias stand for a collection, in one step."""
        try:
            self._call("alter an alias", lambda c, s: c.alter_alias(collection_name=collection, alias=alias, timeout=s))
        except SemsearchError:  # there is none yet
            self._call(
                "create an alias", lambda c, s: c.create_alias(collection_name=collection, alias=alias, timeout=s)
            )

    def unpoint(self, alias: str) -> None:
        """Remove an alias, which keeps its collection from being dropped."""
        try:
            self._call("drop an alias", lambda c, s: c.drop_alias(alias=alias, timeout=s))
        except SemsearchError:
            return

    def compact(self, collection: str) -> None:
        """Ask the server to write its segments again without deleted rows; it does so in its own time."""
        self._call(f"compact {collection}", lambda c, s: c.compact(collection, timeout=s))

    def flush(self, collection: str) -> None:
        """Seal the segments that grow."""
        self._call(f"flush {collection}", lambda c, s: c.flush(collection, timeout=s))

    def progress(self, collection: str) -> tuple[int, int]:
        """Rows of sealed segments that searches see, and rows of such that wait for their index."""
        seen = self._call(f"ask for {collection}", lambda c, s: c.list_loaded_segments(collection, timeout=s))
        sealed = sum(int(one.num_rows) for one in seen if str(one.state).endswith("Sealed"))
        index = self._call(f"ask for {collection}", lambda c, s: c.describe_index(collection, "vector", timeout=s))
        return sealed, int((index or {}).get("pending_index_rows", 0))

    # ---- rows

    def query(self, collection: str, condition: str, columns: Sequence[str], limit: int = MOST_ROWS) -> list[Row]:
        """At most `limit` rows that fit a condition, in no order."""
        found = self._queried("read", collection, condition, columns, limit=limit)
        return [dict(row) for row in found]

    def count(self, collection: str, condition: str = "") -> int:
        """How many rows fit a condition; all for none."""
        found = self._queried("count", collection, condition, ["count(*)"])
        return int(found[0]["count(*)"]) if found else 0

    def _queried(self, what: str, collection: str, condition: str, columns: Sequence[str], **more: int) -> Any:
        given = {"filter": condition, "output_fields": list(columns), **more, **self._consistency()}
        return self._call(f"{what} {collection}", lambda c, s: c.query(collection, timeout=s, **given))

    def nearest(
        self, collection: str, queries: Sequence[Sequence[float]], k: int, condition: str, effort: Mapping[str, int]
    ) -> list[list[tuple[int, float]]]:
        """Ids and cosines of the nearest rows of each query, best first."""
        level = self._consistency()
        found = self._call(
            f"search {collection}",
            lambda c, s: c.search(
                collection,
                data=list(queries),
                anns_field="vector",
                filter=condition,
                limit=k,
                search_params={"metric_type": METRIC, "params": dict(effort)},
                timeout=s,
                **level,
            ),
        )
        return [[(int(hit["id"]), float(hit["distance"])) for hit in hits] for hits in found]

    def upsert(self, collection: str, rows: Sequence[Row]) -> None:
        """Write rows, each in place of the one with its key."""
        for piece in _pieces(rows):
            self._upsert(collection, piece)

    def _upsert(self, collection: str, piece: list[Row]) -> None:
        try:
            self._call(f"write {collection}", lambda c, s: c.upsert(collection, piece, timeout=s))
        finally:  # what failed here may have been done there
            self._wrote()

    def delete(self, collection: str, conditions: Sequence[str]) -> None:
        """Delete the rows that fit any of the conditions, each a list of keys."""
        for condition in conditions:
            self._delete(collection, condition)

    def _delete(self, collection: str, condition: str) -> None:
        try:
            self._call(f"delete in {collection}", lambda c, s: c.delete(collection, filter=condition, timeout=s))
        finally:
            self._wrote()

    # ---- calls

    def version(self) -> str:
        """The version of the server. Raises SemsearchError for one that is too old."""
        text = str(self._call("ask for the version", lambda c, s: c.get_server_version(timeout=s)))
        if not self.address.is_file and tuple(map(int, re.findall(r"\d+", text)[:3])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise SemsearchError(
                f"the Milvus server at {self.address.uri} is version {text}, and {needed} or later is needed.",
                "Use a newer server: 2.6.10 or later is recommended.",
            )
        return text

    def _client(self) -> MilvusClient:
        """The connection, made where there is none."""
        key = self.address.uri, self.address.token, self.address.database
        with _turn:
            if key not in _clients:
                _clients[key] = self._connected()
            return _clients[key]

    def _connected(self) -> MilvusClient:
        client = client_class()
        if self.address.is_file:
            logging.getLogger("grpc._server").setLevel(logging.CRITICAL)  # it lists what Milvus Lite cannot do
        try:
            found = client(
                uri=self.address.uri,
                token=self.address.token,
                db_name=self.address.database,
                timeout=FIRST_SECONDS,
            )
        except Exception as error:
            raise self._explained(error, "connect") from error
        for collection in found.list_collections() if self.address.is_file else ():
            with suppress(Exception):  # Milvus Lite loads none by itself; one that a kill left in part has no index
                found.load_collection(collection)
        return found

    def _call(self, what: str, call: Callable[[MilvusClient, float], T]) -> T:
        """The result of a call, tried again with growing pauses for `patience` seconds while the server is away."""
        client, end, pause = self._client(), time.monotonic() + self.address.patience, 0.1
        while True:
            left = end - time.monotonic()
            try:
                return call(client, max(1.0, min(SECONDS, left)))
            except Exception as error:  # gRPC has errors of its own beside pymilvus's
                if not _LATER.search(str(error)) or _FULL.search(str(error)) or left <= pause:
                    raise self._explained(error, what) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(5.0, 2 * pause)

    def _explained(self, error: Exception, what: str) -> SemsearchError:
        """The error in one line."""
        if isinstance(error, SemsearchError):
            return error
        reason = " ".join(str(getattr(error, "message", error)).split())[:300].rstrip(".")
        place = self.address.uri
        if _FULL.search(reason):
            return SemsearchError(
                f"the disk of the Milvus server at {place} is full ({reason}); what was acknowledged before is safe.",
                "Free some space there and run the same command again: it continues where it stopped.",
            )
        if _GONE.search(reason):
            return NotFound(
                f"the index is gone from the Milvus server at {place} ({reason}).",
                "It may have been removed from another machine.",
            )
        if _REFUSED.search(reason):
            return SemsearchError(
                f"the Milvus server at {place} refuses the connection ({reason}).",
                f"Set the environment variable {TOKEN} to a token or to user:password.",
            )
        if what == "connect" or _LATER.search(reason):
            return SemsearchError(
                f"the Milvus server at {place} does not answer ({reason}).",
                "Check the address and that the server is running; then run the same command again.",
            )
        return SemsearchError(
            f"the Milvus server at {place} could not {what}: {reason}.",
            "Run the same command again; if that fails too, the log of the server may say why.",
        )


def client_class() -> type[MilvusClient]:
    """Milvus's client. Raises MissingExtra."""
    try:
        from pymilvus import MilvusClient
    except ImportError:
        raise MissingExtra("the Milvus store", "scale", "pymilvus") from None
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs every error that it raises
    client: type[MilvusClient] = MilvusClient
    return client


def index_options(name: str) -> tuple[str, dict[str, int]]:
    """The name and the parameters of an index, as Milvus's documents recommend them to begin with."""
    return name, {
        "HNSW": {"M": 16, "efConstruction": 200},
        "IVF_FLAT": {"nlist": 1024},
        "IVF_SQ8": {"nlist": 1024},
    }.get(name, {})


def effort(name: str, k: int) -> dict[str, int]:
    """How much of an index a search looks at."""
    if name in ("HNSW", "AUTOINDEX"):
        return {"ef": min(32_768, max(LEAST_EF, 4 * k))}
    return {"IVF_FLAT": {"nprobe": 64}, "IVF_SQ8": {"nprobe": 64}, "DISKANN": {"search_list": max(64, 2 * k)}}.get(
        name, {}
    )


def _pieces(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows in lists that one call takes."""
    pieces: list[list[Row]] = [[]]
    size = 0
    for row in rows:
        own = sum(map(_size, row.values()))
        if pieces[-1] and size + own > AT_ONCE:
            pieces.append([])
            size = 0
        pieces[-1].append(row)
        size += own
    return [piece for piece in pieces if piece]


def _size(value: Any) -> int:
    """About how many characters a value is in a request."""
    if isinstance(value, list):
        return sum(map(len, value)) if value and isinstance(value[0], str) else 8 * len(value)
    if isinstance(value, dict):
        return sum(len(key) + (len(one) if isinstance(one, str) else 8) for key, one in value.items())
    return len(value) if isinstance(value, str) else 8
