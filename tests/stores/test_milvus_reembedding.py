"""Two machines that re-embed one index in Milvus: one at a time, also where one dies, sleeps, or begins just then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.remote_stores import MILVUS
from helpers.stores import NARROW, WIDE

from semsearch import Document, Index, Progress
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import Locked
from semsearch.stores.milvus import driver
from semsearch.stores.milvus.server.calls import Server
from semsearch.stores.milvus.writing import lease
from semsearch.stores.milvus.writing.lease import KIND, LEASE, Lease

SMALL = HashingEncoder(32)
PURPOSE = "re-embedding it"  # as `Reembedder` calls it


class Clock:
    """That of the server, which a test moves."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self, _: Server) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(Server, "clock", lambda server: found(server))
    return found


@pytest.fixture(scope="module", params=MILVUS, ids=lambda made: made.__name__)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with request.param(tmp_path_factory.mktemp("milvus")) as driver:
        yield f"milvus:{driver.address}"


@pytest.fixture
def shared(store: str, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """One index on two machines, with a document."""
    name = f"shared-{tmp_path.name[-20:]}"
    with Index.create(name, encoder=WIDE, home=tmp_path / "a", store=store) as one:
        one.add([Document("d0", "Diesel engines ignite by compression.")])
        assert Index.link(name, store, tmp_path / "b")
        with Index.open(name, encoder=WIDE, home=tmp_path / "b") as two:
            yield one, two


def once(call: Callable[[], None]) -> Callable[[Progress], None]:
    """What makes the call when all is encoded, before the switch."""
    done = list[bool]()

    def tell(step: Progress) -> None:
        if step.item == "building the vector index" and not done:
            done.append(True)
            call()

    return tell


def encoders(index: Index) -> list[str]:
    return [space["encoder"]["fingerprint"] for space in index.info()["spaces"]]


def left(index: Index) -> int:
    """How many machines are on record to be at work."""
    with driver.open_reader(index.path) as reader:
        return len(reader.tables.values(KIND))


def leased(index: Index, name: str) -> Lease:
    """That of a process which has a link of its own."""
    return Lease(driver.open_reader(index.path).tables, index.name, name, PURPOSE)


def test_a_second_machine_is_refused_in_one_line_that_says_who_works(
    shared: tuple[Index, Index], cli: CommandLine
) -> None:
    one, two = shared
    said = list[str]()

    def try_it_too() -> None:
        for encoder in (NARROW, SMALL):
            with pytest.raises(Locked, match="another machine is at re-embedding it") as refused:
                two.reembed(encoder)
            said.append(str(refused.value))
        ran = cli("reembed", str(two.path), "-m", "hashing")
        assert (ran.code, ran.out, len(ran.err.strip().splitlines())) == (7, "", 1)

    assert one.reembed(NARROW, progress=once(try_it_too)).encoded == 1
    assert all("by process" in text and "run this again in 1" in text and "\n" not in text for text in said)
    assert encoders(two) == [NARROW.fingerprint] and two.verify() == [] and left(one) == 0
    two.reembed(SMALL)  # its turn
    assert encoders(one) == [SMALL.fingerprint] and one.verify() == []


@pytest.mark.scale
def test_a_killed_machine_is_waited_for_until_its_row_expires_and_goes_on_itself_at_once(
    shared: tuple[Index, Index], clock: Clock
) -> None:
    one, two = shared

    def kill() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Lease, "_own", lambda _: None)  # nothing is given back
        one.reembed(NARROW, progress=once(kill))
    assert left(one) == 1
    clock.ahead = LEASE - 30
    with pytest.raises(Locked, match=r"run this again in [23]\d s"):
        two.reembed(SMALL)
    assert one.reembed(NARROW).encoded == 0  # its own row
    assert encoders(two) == [NARROW.fingerprint] and left(one) == 0
    with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lease, "_own", lambda _: None)
        one.reembed(WIDE, progress=once(kill))
    clock.ahead += LEASE + 1
    two.reembed(SMALL)
    assert encoders(one) == [SMALL.fingerprint] and two.verify() == [] and left(one) == 0


@pytest.mark.scale
@pytest.mark.parametrize("encoder", [NARROW, SMALL])
def test_a_machine_that_slept_changes_nothing_where_another_has_re_embedded_meanwhile(
    shared: tuple[Index, Index], clock: Clock, encoder: HashingEncoder
) -> None:
    one, two = shared

    def sleep() -> None:
        clock.ahead += LEASE + 1
        two.reembed(encoder, keep_old=True)

    with pytest.raises(Locked, match="re-embed") as refused:
        one.reembed(NARROW, progress=once(sleep))
    assert refused.value.exit_code == 7 and "\n" not in str(refused.value)
    assert encoders(two)[0] == encoder.fingerprint and two.verify() == [] and left(one) == 0
    two.add([Document("d1", "Bread needs salt.")])
    assert two.search("bread and salt", mode="semantic", k=1)[0].document == "d1"


@pytest.mark.scale
def test_a_machine_that_slept_gives_way_to_one_that_has_begun_meanwhile(
    shared: tuple[Index, Index], clock: Clock
) -> None:
    one, two = shared
    with ExitStack() as at_work:

        def sleep() -> None:
            clock.ahead += LEASE + 1
            at_work.enter_context(leased(two, "other").held())

        with pytest.raises(Locked, match=f"not heard of for {LEASE:.0f} s") as refused:
            one.reembed(NARROW, progress=once(sleep))
        assert refused.value.exit_code == 7 and "\n" not in str(refused.value)
        assert (encoders(one)[0], left(one)) == (WIDE.fingerprint, 1)
        clock.ahead += LEASE + 1  # the other one sleeps, too, and its row is still there
        late = leased(one, "late")
        late._put()
        clock.ahead += LEASE + 1
        with pytest.raises(Locked, match="not heard of"):
            late.check()
    assert one.reembed(NARROW).encoded == 0
    assert encoders(two) == [NARROW.fingerprint] and left(one) == 0


@pytest.mark.scale
def test_a_machine_that_is_at_work_for_long_keeps_its_right(
    shared: tuple[Index, Index], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = shared
    monkeypatch.setattr(lease, "RENEW", 0.02)

    def work_for_long() -> None:
        with driver.open_reader(one.path) as reader:
            for _ in range(3):
                clock.ahead += 0.6 * LEASE
                end = time.monotonic() + 60
                while reader.tables.values(KIND)[0][1]["until"] < time.time() + clock.ahead + 0.9 * LEASE:
                    assert time.monotonic() < end
                    time.sleep(0.02)
        with pytest.raises(Locked, match="another machine"):
            two.reembed(SMALL)

    assert one.reembed(NARROW, progress=once(work_for_long)).encoded == 1
    assert encoders(two) == [NARROW.fingerprint]


@pytest.mark.scale
def test_of_two_that_begin_at_the_same_moment_at_least_one_gives_way(shared: tuple[Index, Index]) -> None:
    one, two = shared
    first, second = leased(one, "first"), leased(two, "second")
    first._put()  # and has not looked yet
    with pytest.raises(Locked, match="another machine"), second.held():
        pass
    first._refuse_others()
    second = leased(two, "second")
    second._put()
    with pytest.raises(Locked):
        first._refuse_others()
    with pytest.raises(Locked):
        second._refuse_others()
