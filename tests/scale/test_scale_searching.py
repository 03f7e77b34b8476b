"""What passes between a driver and the actors that search, and what is refused before a cluster is asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers import ray_stand_in
from helpers.commandline import CommandLine
from helpers.shard_folders import note, write

from semsearch import Document, Index, Query
from semsearch.errors import EncoderMismatch, NotFound, SemsearchError, UnknownName, UsageError
from semsearch.scale import pool
from semsearch.scale.actors import Worker
from semsearch.scale.cluster import Engine
from semsearch.scale.searching import batch, messages
from semsearch.scale.searching.batch import BatchReport, Place, place_of
from semsearch.scale.searching.building import build
from semsearch.scale.searching.messages import Found
from semsearch.stores import links
from semsearch.stores.links import Link


def test_queries_arrive_as_they_were() -> None:
    queries = [
        Query("tea", k=3, mode="semantic", where="n > 1", more=(("hot", 0.5),), must=("a", "b"), like=(7, "doc")),
        Query("Größe\n\t", alpha=0.1, less=(("cold", 2.0),), group="passage", offset=4, rerank="tiny", exact=True),
    ]
    assert messages.queries_of(messages.queries_json(queries)) == queries


def test_results_and_snippets_arrive_as_they_were(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        text = "Tea number {} is hot. It is green."
        index.add([Document(f"d{n}", text.format(n), {"n": n, "of": ["x", None]}) for n in range(9)])
        index.add([Document("copy", "Tea number 3 is hot. It is green.")])
        more = Query("nothing of the kind", k=2, mode="semantic"), Query("tea", mode="keyword")
        queries = [Query("hot tea", k=4), *more]
        found = [Found(one, tuple(index.snippets(one))) for one in index.search(queries)]
        assert any(hit.near_copies for one in found for hit in one.results)
        read = messages.found_of(messages.found_json(found), queries)
    assert [one.snippets for one in read] == [one.snippets for one in found]
    for one, other in zip(read, found, strict=True):
        assert (one.results.query, one.results.hits) == (other.results.query, other.results.hits)
        names = ("took_ms", "warnings", "good_match", "plan")
        assert [getattr(one.results, name) for name in names] == [getattr(other.results, name) for name in names]


def test_answers_come_in_the_order_of_the_parts_and_each_once() -> None:
    def given(*numbers: int) -> list[dict[str, object]]:
        return [{"number": one, "found": str(at)} for at, one in enumerate(numbers)]

    found = [(part, answer["found"]) for answer, part in batch._in_order(given(2, 0, 2, 1, 3), "abcd")]
    assert found == [("a", "1"), ("b", "3"), ("c", "0"), ("d", "4")]
    with pytest.raises(SemsearchError, match="3 parts"):
        list(batch._in_order(given(0, 2, 3), "abcd"[:3] + "d"))


@pytest.mark.parametrize(
    "error",
    [
        UsageError("no letter.", "Write one.", "Write one: WORD."),
        NotFound("there is nothing.", "Look elsewhere."),
        UnknownName("field", "colr", ["colour"]),
        EncoderMismatch("notes", built_with="a@1", got="b@2", fix="Use a"),
    ],
)
def test_an_error_of_an_actor_keeps_its_code_and_what_to_do(error: SemsearchError) -> None:
    told = Worker.told(object(), error)  # type: ignore[arg-type]
    with pytest.raises(SemsearchError) as caught:
        pool.checked({"error": told})
    again = caught.value
    assert (again.exit_code, again.fix, again.command) == (error.exit_code, error.fix, error.command)
    assert again.message.startswith(error.message)


def test_the_place_of_an_index_is_a_link_or_a_folder_that_all_see(tmp_path: Path) -> None:
    linked = Link("postgres", "postgresql://db.example.org/search", "semsearch_notes", links.new_id())
    links.write(tmp_path / "notes", linked)
    found = place_of(tmp_path / "notes")
    assert (found.name, found.folder, "db.example.org" in found.link) == ("notes", "", True)
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "job.json").write_text("{}")
    (shards / "shard-a.done").write_text("{}")
    assert place_of(shards).folder == str(shards)
    Index.create(tmp_path / "local", encoder="hashing").close()
    with pytest.raises(UsageError, match="on this machine alone"):
        place_of(tmp_path / "local")


def test_the_summary_says_how_fast_and_what_it_cost() -> None:
    report = BatchReport(3600, 100.0, 180.0, 2.0, 0.0, {"a:1", "b:2"})
    said = report.summary()
    assert "3,600 queries answered by 2 workers in 100.0 s: 36.0 queries/s, 0.1 core-hours" in said
    assert "workers busy 90 % of the time" in said.replace("90%", "90 %")


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--engine", "ray"], 2, "Pass --batch FILE"),
        (["--workers", "2"], 2, "--workers is for work on Ray"),
        (["--batch", os.devnull, "--engine", "ray", "--workers", "no"], 2, "not a number of workers"),
        (["--batch", "QUERIES", "--engine", "ray"], 2, "on this machine alone"),
    ],
)
def test_options_of_a_cluster_that_do_not_fit_are_refused_in_one_line(
    cli: CommandLine, tmp_path: Path, more: list[str], code: int, said: str
) -> None:
    Index.create(tmp_path / "notes", encoder="hashing").close()
    queries = tmp_path / "queries.txt"
    queries.write_text("tea\n")
    given = [str(queries) if one == "QUERIES" else one for one in more]
    text = [] if "--batch" in more else ["tea"]
    found = cli("query", *text, "-n", tmp_path / "notes", *given)
    assert found.code == code and said in found.err and len(found.err.splitlines()) == 1


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shards that actors have made searchable."""
    ray_stand_in.install(monkeypatch)
    folder = tmp_path / "shards"
    write(folder, [[note(n) for n in range(60)], [], [note(n) for n in range(50, 120)]])
    report = build(folder, None, Engine())
    assert (report.added, len(report.skipped)) == (120, 10)
    return folder


def test_parts_made_by_actors_are_those_of_this_process(shards: Path, tmp_path: Path) -> None:
    with Index.open(shards) as index:
        assert index.verify() == []
    lists = (shards / "search-index" / "1" / "lists.data").read_bytes()
    build(shards)
    assert (shards / "search-index" / "2" / "lists.data").read_bytes() == lists


@pytest.mark.parametrize("shape", ["jsonl", "csv", "table", "trec"])
def test_a_batch_answered_by_actors_prints_the_lines_of_this_process(
    shards: Path, tmp_path: Path, cli: CommandLine, shape: str
) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(f"q{n}\tnote {n} about the kettle\n" for n in range(30)))
    given = ["query", "--batch", queries, "--store", f"shards:{shards}", "--mode", "semantic", "-k", 3]
    given += ["--format", shape, "--where", "n < 40"]
    here, there = cli.ok(*given), cli.ok(*given, "--engine", "ray", "--workers", "1:2")
    assert "30 queries answered by 1 worker" in there.err and "core-hours" in there.err
    if shape != "jsonl":
        assert there.out == here.out and there.out
        return
    lines = [[json.loads(line) for line in ran.out.splitlines()] for ran in (there, here)]
    assert all(one.pop("took_ms") for one in [*lines[0], *lines[1]])
    assert lines[0] == lines[1] and [one["id"] for one in lines[0]] == [f"q{n}" for n in range(30)]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--mode", "keyword"], 2, "by meaning alone"),
        (["--mode", "semantic", "--where", "size > 1"], 2, "do not record the size"),
        (["--mode", "semantic", "--where", "colour = 1"], 2, "colour"),
        (["--mode", "semantic", "--workers", "9"], 2, "do not fit"),
    ],
)
def test_what_an_actor_refuses_has_its_exit_code_in_one_line(
    shards: Path, tmp_path: Path, cli: CommandLine, more: list[str], code: int, said: str
) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("tea\nthe kettle\n")
    found = cli("query", "--batch", queries, "--store", f"shards:{shards}", "--engine", "ray", *more)
    assert found.code == code and said in found.err and len(found.err.splitlines()) == 1 and found.out == ""


def test_a_worker_of_another_version_cannot_begin(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "__version__", "0.0.1")
    with Index.open(shards) as index, pytest.raises(SemsearchError, match=r"cannot begin: .* the driver 0\.0\.1"):
        list(batch.answers(index, [Query("tea", mode="semantic")], Engine(), BatchReport()))


def test_a_machine_that_does_not_see_the_folder_is_named_with_exit_3(
    shards: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(batch, "place_of", lambda _: Place("shards", folder=str(tmp_path / "elsewhere")))
    with Index.open(shards) as index, pytest.raises(SemsearchError, match="Put it on a disk") as told:
        list(batch.answers(index, [Query("tea", mode="semantic")], Engine(), BatchReport()))
    assert told.value.exit_code == 3
