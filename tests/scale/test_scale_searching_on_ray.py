"""Shards made searchable, and batches answered, on a Ray cluster: the lines of this process, whatever is killed.

Run by `scripts/test --scale`, in a network namespace of its own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.postgres import new_database, postgres_server
from helpers.rays import Cluster

from semsearch import Document, Index
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.hashing import HashingEncoder
from semsearch.scale import parts
from semsearch.scale.encoding import Embedding
from semsearch.scale.stored.shard_folder import ShardFolder

pytestmark = pytest.mark.scale
PostgresServer = postgres_server.PostgresServer
WAIT_S = 400.0
SHARDS, DOCUMENTS = 8, 150
MANY = 6_000  # queries: enough to kill an actor in the middle
WORDS = ["kettle", "boiler", "diesel", "piano", "orchard", "harbour", "ledger", "comet", "violin", "glacier"]
SPLITTER = {"kind": "sentences", "size": 40, "overlap": 0}


class Attempts:
    """Counts nothing."""

    def begun(self, what: str) -> int:
        return 1

    def ended(self, what: str) -> None: ...
    def alive(self) -> None: ...


@pytest.fixture(scope="module")
def shards(rays: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of shards that the cluster has made searchable."""
    folder, chance, encoder = tmp_path_factory.mktemp("made") / "shards", random.Random(5), HashingEncoder()
    how = Embedding(encoder, Splitter(**SPLITTER), context=True, attempts=Attempts(), worker="here")
    names = [f"s{at}" for at in range(SHARDS)]
    job = {"encoder": "hashing", "fingerprint": encoder.fingerprint, "dim": encoder.dim, "splitter": SPLITTER}
    with ShardFolder(folder, {**job, "context": True, "shards": names}) as opened:
        for name in names:
            some = [Document(f"{name}/{n}", sentence(chance), {"n": n}) for n in range(DOCUMENTS)]
            for part in parts.parts(name, [(one, None) for one in some]):
                opened.put(how.answer(part))
    code, out, err = ran(command(rays, "index", "--store", f"shards:{folder}", "--workers", "2", "--json"))
    assert code == 0, err
    assert json.loads(out)["documents"]["added"] == SHARDS * DOCUMENTS
    return folder


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance, file = random.Random(6), tmp_path_factory.mktemp("queries") / "queries.tsv"
    file.write_text("".join(f"q{n}\t{sentence(chance)}\n" for n in range(MANY)))
    return file


def sentence(chance: random.Random) -> str:
    return f"The {' '.join(chance.choice(WORDS) for _ in range(7))} number {chance.randrange(10**6)}."


def command(rays: Cluster, *arguments: object, engine: bool = True, **variables: str) -> subprocess.Popen[str]:
    ray = ["--engine", "ray", "--ray-address", rays.address, "--cpus-per-worker", "0.5"] if engine else []
    line = [sys.executable, "-m", "semsearch", *map(str, arguments), *ray]
    environment = {**rays.environment, **variables}
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ran(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, out, err


def lines(out: str) -> list[dict[str, Any]]:
    """The lines of a batch without times."""
    found = [json.loads(line) for line in out.splitlines()]
    assert all(one.pop("took_ms").keys() == {"encode", "search"} for one in found)
    return found


def test_parts_made_on_a_cluster_are_those_of_this_process(rays: Cluster, shards: Path) -> None:
    with Index.open(shards) as index:
        assert index.verify() == [] and len(index) == SHARDS * DOCUMENTS


def test_a_batch_on_a_cluster_prints_the_lines_of_this_process_in_order(
    rays: Cluster, shards: Path, queries: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.tsv"
    few.write_text("".join(queries.read_text().splitlines(keepends=True)[:300]))
    given = (
        "query",
        "--batch",
        few,
        "--store",
        f"shards:{shards}",
        "--mode",
        "semantic",
        "-k",
        "3",
        "--where",
        "n < 90",
    )
    code, here, err = ran(command(rays, *given, engine=False))
    assert code == 0, err
    code, there, err = ran(command(rays, *given, "--workers", "2"))
    assert code == 0 and "300 queries answered by 2 workers" in err and "core-hours" in err, err
    assert lines(there) == lines(here) and [one["id"] for one in lines(there)] == [f"q{n}" for n in range(300)]
    for shape in ("csv", "trec", "table"):
        tables = [ran(command(rays, *given, "--format", shape, engine=engine))[1] for engine in (True, False)]
        assert tables[0] == tables[1] and tables[0]


def test_an_actor_that_is_killed_in_the_middle_costs_no_answer_and_doubles_none(
    rays: Cluster, shards: Path, queries: Path, tmp_path: Path
) -> None:
    given = ("query", "--batch", queries, "--store", f"shards:{shards}", "--mode", "semantic", "-k", "2")
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as to, err.open("w") as told:
        ray = ["--engine", "ray", "--ray-address", rays.address, "--cpus-per-worker", "0.5", "--workers", "2"]
        line = [sys.executable, "-m", "semsearch", *map(str, given), *ray]
        process = subprocess.Popen(line, env=rays.environment, stdout=to, stderr=told)
        end = time.monotonic() + WAIT_S
        while out.stat().st_size < 10_000:
            assert process.poll() is None and time.monotonic() < end, err.read_text()
            time.sleep(0.05)
        os.kill(rays.actors("Answerer")[0], signal.SIGKILL)
        before = out.stat().st_size
        assert process.wait(WAIT_S) == 0, err.read_text()
    assert out.stat().st_size > before
    found = lines(out.read_text())
    assert [one["id"] for one in found] == [f"q{n}" for n in range(MANY)]
    with Index.open(shards) as index:
        for at in (0, MANY // 2, MANY - 1):
            hits = index.search(found[at]["query"], mode="semantic", k=2)
            assert [hit.id for hit in hits] == [hit["id"] for hit in found[at]["hits"]]


def test_an_index_on_a_server_is_searched_by_its_address(
    rays: Cluster, queries: Path, tmp_path: Path, postgres: PostgresServer
) -> None:
    store = f"postgres:{new_database(postgres)}"
    with Index.create(tmp_path / "notes", encoder="hashing", store=store) as index:
        index.add([Document(f"d{n}", f"The {word} stands in room {n}.") for n, word in enumerate(WORDS)])
    few = tmp_path / "few.tsv"
    few.write_text("".join(queries.read_text().splitlines(keepends=True)[:40]))
    given = ("query", "--batch", few, "-n", tmp_path / "notes", "-k", "3")
    code, there, err = ran(command(rays, *given, "--workers", "1"))
    assert code == 0, err
    assert lines(there) == lines(ran(command(rays, *given, engine=False))[1])


@pytest.mark.parametrize(
    ("more", "variables", "code", "said"),
    [
        (["--mode", "keyword"], {}, 2, "by meaning alone"),
        (["--mode", "semantic", "--where", "nn = 1"], {}, 2, "'nn'"),
        (["--mode", "semantic", "--workers", "40"], {}, 2, "do not fit"),
        (["--mode", "semantic", "--stall-after", "0.01"], {}, 1, "stands still"),
        (["--mode", "semantic"], {"RAY_AUTH_TOKEN": "0" * 48}, 2, "token is missing or wrong"),
    ],
)
def test_what_cannot_be_answered_is_one_line_with_the_exit_code_of_this_process(
    rays: Cluster, shards: Path, queries: Path, more: list[str], variables: dict[str, str], code: int, said: str
) -> None:
    given = ("query", "--batch", queries, "--store", f"shards:{shards}", *more)
    found, out, err = ran(command(rays, *given, **variables))
    assert (found, said in err, "Traceback" in err) == (code, True, False), err
    assert out == ""
