"""Many machines on PostgreSQL: what they change of the recipe at once, and two that re-embed the index at once."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.postgres import Other, missing, postgres_server, until_one_waits
from helpers.stores import NARROW

from semsearch import Document, Index, Progress
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import Locked
from semsearch.stores import machine_recipes
from semsearch.stores.recorded_spaces import KEY

if TYPE_CHECKING:
    from helpers.commandline import CommandLine

    from scripts.shared.postgres_server import PostgresServer
    from semsearch.stores.protocol import StoreWriter
    from semsearch.types import JsonObject

if missing():
    pytest.skip(missing(), allow_module_level=True)

from semsearch.stores import postgres as driver

SMALL = HashingEncoder(32)
LOCKS = """SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
           WHERE locktype = 'advisory' AND datname = '{}'"""


# ---- the recipe


def test_a_change_is_made_to_the_recipe_that_another_machine_has_switched_to_meanwhile(
    shared: tuple[Index, Index],
) -> None:
    one, two = shared
    seen = list[bool]()

    def add_key(recipe: JsonObject) -> JsonObject:
        seen.append(KEY in recipe)
        if len(seen) == 1:
            one.reembed(NARROW, keep_old=True)
        return {**recipe, "annotated": ["x"]}

    with driver.open_writer(two.path) as writer:
        machine_recipes.change_recipe(writer, add_key)
    assert seen == [False, True]
    recipe = one.info()["recipe"]
    assert (len(recipe[KEY]), recipe["annotated"]) == (1, ["x"])


def test_of_two_changes_at_once_the_second_waits_and_both_are_there(
    postgres: PostgresServer, address: str, shared: tuple[Index, Index]
) -> None:
    one, two = shared
    with driver.open_writer(one.path) as first, driver.open_writer(two.path) as second:
        with first.transaction():
            recipe = first.change_recipe(lambda latest: latest)
            other = Other(lambda: machine_recipes.change_recipe(second, lambda latest: {**latest, "b": 2}))
            until_one_waits(postgres, address)
            first.change_recipe(lambda _: {**recipe, "a": 1})
        assert other.ended() is None
        assert {key: second.reader.state().recipe[key] for key in ("a", "b")} == {"a": 1, "b": 2}


def test_two_runs_of_one_machine_follow_the_folders_of_both(
    shared: tuple[Index, Index], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = shared
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(f"Of the {name}.")
    change, others = machine_recipes.change_recipe, [tmp_path / "second"]

    def change_after_another_run(writer: StoreWriter, made: Callable[[JsonObject], JsonObject]) -> None:
        def late(recipe: JsonObject) -> JsonObject:
            found = made(recipe)
            if others:
                two.sync([others.pop()])
            return found

        change(writer, late)

    monkeypatch.setattr(machine_recipes, "change_recipe", change_after_another_run)
    one.sync([tmp_path / "first"])
    assert {Path(root["path"]).name for root in one.info()["recipe"]["roots"]} == {"first", "second"}
    assert {each["id"] for each in one.documents()} == {"d0", "second.md", "first/first.md"}
    assert one.analysis.verify() == []


# ---- re-embedding on two machines


def test_a_machine_that_would_re_embed_while_another_does_is_refused_in_one_line(
    shared: tuple[Index, Index], cli: CommandLine
) -> None:
    one, two = shared
    said = list[str]()

    def try_it_too(step: Progress) -> None:
        if step.item == "building the vector index":
            for encoder in (NARROW, SMALL):
                with pytest.raises(Locked) as refused:
                    two.reembed(encoder)
                said.append(str(refused.value))
            ran = cli("reembed", str(two.path), "-m", "hashing")
            said.append(ran.err.strip().removeprefix("error: "))
            assert (ran.code, ran.out) == (7, "")

    assert one.reembed(NARROW, progress=try_it_too).encoded == 1
    assert len(set(said)) == 1 and "\n" not in said[0] and "another machine" in said[0]
    assert [space["encoder"]["name"] for space in two.info()["spaces"]] == [NARROW.name]
    assert two.analysis.verify() == []
    two.reembed(SMALL)  # its turn
    assert [space["encoder"]["name"] for space in one.info()["spaces"]] == [SMALL.name] and one.analysis.verify() == []


@pytest.mark.parametrize("encoder", [NARROW, SMALL])
def test_a_machine_whose_lock_was_lost_ends_in_one_line_where_another_has_re_embedded(
    postgres: PostgresServer, address: str, shared: tuple[Index, Index], encoder: HashingEncoder
) -> None:
    """A connection that was cut is given up by the server, and the lock with it."""
    one, two = shared
    database = address.partition("///")[2].partition("?")[0]
    done = list[str]()

    def let_the_other_do_it(step: Progress) -> None:
        if step.item == "building the vector index" and not done:
            assert postgres.sql(LOCKS.format(database)) == "t"
            done.append(two.reembed(encoder).encoder)

    with pytest.raises(Locked, match="has re-embedded it meanwhile") as refused:
        one.reembed(NARROW, progress=let_the_other_do_it)
    assert refused.value.exit_code == 7 and "\n" not in str(refused.value)
    assert KEY not in one.info()["recipe"]
    assert [space["encoder"]["name"] for space in one.info()["spaces"]] == [encoder.name]
    assert one.analysis.verify() == []
    with Index.open(two.path, encoder=encoder) as index:
        index.add([Document("d1", "Bread needs salt.")])
        assert index.search("bread and salt", mode="semantic", k=1)[0].document == "d1"


# ---- a machine that went


def test_the_server_gives_up_a_machine_that_went_within_half_a_minute(tmp_path: Path) -> None:
    """Else a transaction that a cut network or a power cut has left open holds its locks for two hours."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="pg-") as folder:
        Path(folder).chmod(0o755)
        with postgres_server.running_at(
            Path(folder) / "server", settings=postgres_server.FAST, host="127.0.0.1", port=port
        ) as server:
            with driver.create(tmp_path / "notes", address=server.address()) as writer:
                names = ("keepalives_idle", "keepalives_interval", "keepalives_count", "user_timeout")
                found = [writer.connection.rows(f"SHOW tcp_{name}")[0][0] for name in names]
            assert server.runs()
    assert found == ["10", "5", "3", "30000"]  # the last one in milliseconds
