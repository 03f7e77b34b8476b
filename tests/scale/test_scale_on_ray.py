"""Jobs on a Ray cluster of a head and two nodes: the same index as the local path, whatever is killed in between.

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

import numpy as np
import pytest
from helpers.postgres import new_database, postgres_server
from helpers.rays import Cluster

from semsearch import Index

pytestmark = pytest.mark.scale
PostgresServer = postgres_server.PostgresServer
WAIT_S = 240.0
SOME = 500  # documents
MANY = 12_000
WORDS = ["kettle", "boiler", "diesel", "piano", "orchard", "harbour", "ledger", "comet", "violin", "glacier"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Markdown, lines and a table, one record broken."""
    folder = tmp_path_factory.mktemp("notes")
    chance = random.Random(7)
    for n in range(30):
        text = " ".join(chance.choice(WORDS) for _ in range(400))
        (folder / f"note-{n:02}.md").write_text(f"# Note {n}\n\n{text}.\n\n## More\n\nAnd {text}.\n")
    lines = [json.dumps({"id": f"r{n}", "title": f"Record {n}", "text": sentence(chance), "n": n}) for n in range(90)]
    (folder / "records.jsonl").write_text("\n".join([*lines[:50], "no json", *lines[50:]]) + "\n")
    rows = [f"c{n},{sentence(chance)},{n}" for n in range(60)]
    (folder / "table.csv").write_text("id,text,n\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MANY records in one file: long enough to kill something in the middle."""
    chance = random.Random(11)
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    with path.open("w") as file:
        for n in range(MANY):
            text = " ".join(sentence(chance) for _ in range(6))
            file.write(json.dumps({"id": f"m{n}", "text": text}) + "\n")
    return path


def sentence(chance: random.Random) -> str:
    return f"The {' '.join(chance.choice(WORDS) for _ in range(9))} number {chance.randrange(10**6)}."


def command(rays: Cluster, *arguments: object, address: str | None = None, **variables: str) -> subprocess.Popen[str]:
    ray = ["--engine", "ray", "--ray-address", address or rays.address, "--cpus-per-worker", "0.5"]
    line = [sys.executable, "-m", "semsearch", "index", *map(str, arguments), *ray]
    return subprocess.Popen(
        line, env={**rays.environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ran(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, out, err


def ok(rays: Cluster, *arguments: object) -> tuple[dict[str, object], str]:
    code, out, err = ran(command(rays, *arguments, "--json"))
    assert code == 0, err
    found: dict[str, object] = json.loads(out)
    return found, err


def content(folder: Path) -> dict[tuple[str, int], tuple[str, np.ndarray]]:
    """The text and unit vector of each passage."""
    with Index.open(folder) as index:
        assert index.analysis.verify() == []
        found = [one for document in index.matching() for one in index.passages(document)]
        vectors = index.vectors([one["id"] for one in found])
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # stores may round them to 16 bits
    return {(one["document"], one["start"]): (one["text"], row) for one, row in zip(found, vectors, strict=True)}


def assert_same(one: Path, other: Path) -> None:
    left, right = content(one), content(other)
    assert left.keys() == right.keys() and len(left) > 0
    assert all(left[key][0] == right[key][0] for key in left)
    assert min(float(left[key][1] @ right[key][1]) for key in left) >= 0.9999


def wait_for(condition: object, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + WAIT_S
    while not condition():  # type: ignore[operator]
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def arrived(folder: Path) -> int:
    """Documents that have arrived for an index."""
    heads = (file.read_bytes().partition(b"\n")[0] for file in folder.glob("*.part"))
    return sum(len(json.loads(head)["keys"]) // 32 for head in heads)


@pytest.mark.parametrize("model", ["hashing", "minilm"])
def test_two_nodes_give_the_passages_and_vectors_of_the_local_path(
    rays: Cluster, notes: Path, tmp_path: Path, model: str
) -> None:
    found, err = ok(rays, notes, "-n", tmp_path / "ray", "-m", model, "--workers", "2")
    assert found["documents"]["added"] == 180 and "workers" in err  # type: ignore[index]
    assert [one["path"] for one in found["skipped"]] == ["records.jsonl:51"]  # type: ignore[index, union-attr]
    with Index.create(tmp_path / "local", encoder=model) as index:
        report = index.sync([notes])
    assert report.passages == found["passages"]
    assert_same(tmp_path / "ray", tmp_path / "local")
    again, err = ok(rays, notes, "-n", tmp_path / "ray")
    assert again["documents"]["unchanged"] == 180 and "nothing to embed" in err  # type: ignore[index]
    assert not list(tmp_path.glob(".ray.embedding*"))


def test_a_table_of_lance_gets_what_a_local_index_gets(rays: Cluster, notes: Path, tmp_path: Path) -> None:
    pytest.importorskip("lance", reason="pylance is not installed (the extra `scale`)")
    to = ("-n", tmp_path / "ray", "--store", f"lance:{tmp_path / 'tables'}", "--workers", "2")
    found, _ = ok(rays, notes, *to, "-m", "hashing")
    assert found["documents"]["added"] == 180  # type: ignore[index]
    with Index.create(tmp_path / "local", encoder="hashing") as index:
        index.sync([notes])
    assert_same(tmp_path / "ray", tmp_path / "local")
    again, err = ok(rays, notes, "-n", tmp_path / "ray")
    assert again["documents"]["unchanged"] == 180 and "nothing to embed" in err  # type: ignore[index]


def test_only_new_and_changed_documents_are_embedded_again(rays: Cluster, notes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in notes.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    ok(rays, folder, "-n", tmp_path / "ray", "-m", "hashing")
    lines = (folder / "records.jsonl").read_text().splitlines()
    lines[3] = json.dumps({"id": "r3", "text": "Now about a windmill."})
    (folder / "records.jsonl").write_text("\n".join([*lines, json.dumps({"id": "new", "text": "A new one."})]) + "\n")
    found, err = ok(rays, folder, "-n", tmp_path / "ray")
    assert (found["documents"]["added"], found["documents"]["changed"]) == (1, 1)  # type: ignore[index]
    assert "2 documents in 2 passages embedded" in err


def test_a_collection_of_postgresql_gets_what_a_local_index_gets(
    rays: Cluster, notes: Path, tmp_path: Path, postgres: PostgresServer
) -> None:
    to = ("-n", tmp_path / "remote", "--store", f"postgres:{new_database(postgres)}", "--workers", "2")
    found, _ = ok(rays, notes, *to, "-m", "hashing")
    assert found["documents"]["added"] == 180  # type: ignore[index]
    with Index.create(tmp_path / "local", encoder="hashing") as index:
        index.sync([notes])
    assert_same(tmp_path / "remote", tmp_path / "local")
    again, err = ok(rays, notes, "-n", tmp_path / "remote")
    assert again["documents"]["unchanged"] == 180 and "nothing to embed" in err  # type: ignore[index]


GPUS = """
import json, os, sys, time
from pathlib import Path
from semsearch import Encoder, Index, SyncOptions
from semsearch.scale import embedding_actor, embedding_job, parts
from semsearch.scale.cluster import Engine
from semsearch.scale.precomputed_encoder import PrecomputedEncoder

class Seen:  # in place of the actor: there is no GPU here, Ray only counts two
    def begin(self, *given):
        self._device = given[4]
        return ""

    def embed(self, part):
        time.sleep(0.3)
        seen = f"{self._device} {os.environ.get('CUDA_VISIBLE_DEVICES')}"
        return parts.Answer(part.size, b"", b"", 1, 1, 1, 0.3, seen)

embedding_actor.EmbeddingActor, parts.PART_BYTES = Seen, 1000
folder, index, address = map(str, sys.argv[1:])
engine = Engine(address, 2, cpus=0.5, gpus=1.0)
Index.create(index, encoder="hashing").close()
encoder = PrecomputedEncoder(Encoder.load("hashing"))
with embedding_job.embedded_ahead(Path(index), encoder, [Path(folder)], SyncOptions(), engine) as report:
    print(json.dumps(sorted(report.workers)))
"""


def test_every_gpu_has_an_actor_that_sees_no_other(rays: Cluster, notes: Path, tmp_path: Path) -> None:
    engine = ("--workers", "2", "--gpus-per-worker", "1")
    code, _, err = ran(command(rays, notes, "-n", tmp_path / "index", "-m", "hashing", *engine))
    assert code == 2 and "do not fit" in err and "0 GPUs" in err
    added = rays.node(cpus=2, gpus=2)
    try:
        given = [sys.executable, "-c", GPUS, str(notes), str(tmp_path / "gpus"), rays.address]
        done = subprocess.run(given, env=rays.environment, capture_output=True, text=True, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == ["cuda 0", "cuda 1"]
    finally:
        rays.kill(added)


@pytest.mark.parametrize("victim", ["actor", "node"])
def test_a_kill_in_the_middle_costs_no_document_and_doubles_none(
    rays: Cluster, many: Path, tmp_path: Path, victim: str
) -> None:
    added = rays.node() if victim == "node" else 0
    waiting = tmp_path / ".ray.embedding"
    process = command(rays, many, "-n", tmp_path / "ray", "-m", "hashing", "--workers", "3", "--json")
    wait_for(lambda: arrived(waiting) >= 4 * SOME, process)
    if victim == "node":
        rays.kill(added)
    else:
        os.kill(rays.actors()[0], signal.SIGKILL)
    assert arrived(waiting) < MANY
    code, out, err = ran(process)
    assert code == 0, err
    assert json.loads(out)["documents"]["added"] == MANY
    with Index.create(tmp_path / "local", encoder="hashing") as index:
        index.sync([many])
    assert_same(tmp_path / "ray", tmp_path / "local")


def test_after_a_kill_of_the_driver_only_what_is_missing_is_embedded(rays: Cluster, many: Path, tmp_path: Path) -> None:
    waiting = tmp_path / ".ray.embedding"
    given = (many, "-n", tmp_path / "ray", "-m", "hashing", "--workers", "2")
    process = command(rays, *given)
    wait_for(lambda: arrived(waiting) >= 4 * SOME, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    done = arrived(waiting)
    assert 4 * SOME <= done < MANY
    found, err = ok(rays, *given)
    assert found["documents"]["added"] == MANY  # type: ignore[index]
    assert f"{done:,} documents had been embedded before; {MANY - done:,} documents" in err
    with Index.create(tmp_path / "local", encoder="hashing") as index:
        index.sync([many])
    assert_same(tmp_path / "ray", tmp_path / "local")


def test_ctrl_c_ends_the_job_and_the_next_run_goes_on(rays: Cluster, many: Path, tmp_path: Path) -> None:
    given = (many, "-n", tmp_path / "ray", "-m", "hashing", "--workers", "2")
    process = command(rays, *given)
    wait_for(lambda: arrived(tmp_path / ".ray.embedding") >= 2 * SOME, process)
    process.send_signal(signal.SIGINT)
    code, _, err = ran(process)
    assert code == 130 and "Traceback" not in err, err
    found, err = ok(rays, *given)
    assert found["documents"]["added"] == MANY and "had been embedded before" in err  # type: ignore[index]


def test_more_workers_than_fit_are_refused_with_the_setting_to_change(
    rays: Cluster, notes: Path, tmp_path: Path
) -> None:
    code, _, err = ran(command(rays, notes, "-n", tmp_path / "ray", "-m", "hashing", "--workers", "40"))
    assert code == 2 and "do not fit" in err and "--workers 8" in err and "Traceback" not in err
    assert not (tmp_path / "ray").exists()


@pytest.mark.parametrize(
    ("address", "variables", "code", "said"),
    [
        ("127.0.0.1:6", {}, 3, "there is no Ray cluster at 127.0.0.1:6"),
        (None, {"RAY_AUTH_TOKEN": "0" * 48}, 2, "token is missing or wrong"),
        (None, {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": ""}, 2, "token is missing or wrong"),
        ("nonsense", {}, 2, "no address of a Ray cluster"),
        ("ray://127.0.0.1:10001", {}, 2, "on a machine of the cluster"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_line(
    rays: Cluster, notes: Path, tmp_path: Path, address: str | None, variables: dict[str, str], code: int, said: str
) -> None:
    found, _, err = ran(command(rays, notes, "-n", tmp_path / "x", "-m", "hashing", address=address, **variables))
    assert (found, said in err, "Traceback" in err) == (code, True, False), err
