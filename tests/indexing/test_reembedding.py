"""Re-encoding in place: searches see the old vectors until all new ones are there, and no document is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from helpers.opened import open_reader

from semsearch import AsyncIndex, Document, Index, Progress, Splitter, admin
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import EncodingFailed, Locked, NotFound, UsageError
from semsearch.indexing import reembedding
from semsearch.stores.protocol import StoreReader
from semsearch.types import Results
from semsearch.vector_index import cache_files

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors

WIDE, NARROW, THIRD = HashingEncoder(), HashingEncoder(64), HashingEncoder(32)
SMALL_BATCH = 8


class Fails(HashingEncoder):
    """Fails at every text that contains `word`."""

    name = "fails"

    def __init__(self, word: str) -> None:
        super().__init__(64)
        self.word = word

    def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
        if any(self.word in text for text in texts):
            raise ValueError("no such word")
        return super().encode(texts, role=role)


class Stop(Exception):
    """Ends a run, as Ctrl-C does."""


def documents(count: int, start: int = 0) -> list[Document]:
    return [
        Document(f"d{n}", f"Engine number {n} runs on diesel.\n\nBread number {n} needs salt.", title=f"Note {n}")
        for n in range(start, start + count)
    ]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "BATCH", SMALL_BATCH)
    monkeypatch.setattr(reembedding, "READ_AT_ONCE", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index of 20 documents of two passages each."""
    place = tmp_path / "notes"
    with Index.create(place, encoder=WIDE, splitter=Splitter(size=8), backend="flat") as index:
        index.add(documents(20))
    return place


def after(batches: int) -> Callable[[Progress], None]:
    """A progress callback that ends the run after so many batches."""
    left = iter(range(batches + 1))

    def report(_: Progress) -> None:
        if next(left, None) is None:
            raise Stop

    return report


def interrupted(folder: Path, encoder: HashingEncoder, batches: int = 2) -> None:
    with Index.open(folder, encoder=WIDE) as index, pytest.raises(Stop):
        index.reembed(encoder, progress=after(batches))


def content(reader: StoreReader) -> dict[str, list[tuple[str, bytes]]]:
    """Text and vector, as stored, of each passage by document, in the current space."""
    space = reader.state().spaces[0].id
    rows = {key: row for ids, part in reader.vectors(space) for key, row in zip(ids.tolist(), part, strict=True)}
    return {
        uri: [(one.text, rows[one.id].tobytes()) for one in reader.passages(reader.passage_ids([uri]))]
        for uri in reader.document_ids(None)
    }


def assert_as_new(
    folder: Path, encoder: HashingEncoder, expected: Sequence[Document], *, measured: bool = True
) -> None:
    """The index is what it would be if it had been built with `encoder`. measured: when it had these documents."""
    fresh = folder.with_name(f"fresh-{encoder.dim}-{len(expected)}")
    with Index.create(fresh, encoder=encoder, splitter=Splitter(size=8)) as index:
        index.add(expected)
        wanted = told(index)
    with open_reader(folder) as ours, open_reader(fresh) as theirs:
        assert content(ours) == content(theirs)
        assert [(one.fingerprint, one.dim) for one in ours.state().spaces] == [(encoder.fingerprint, encoder.dim)]
        ours_null, theirs_null = ours.state().spaces[0].null_distribution, theirs.state().spaces[0].null_distribution
        assert ours_null is not None and theirs_null is not None
        if measured:
            assert ours_null.passages == theirs_null.passages
            np.testing.assert_allclose(ours_null.numbers, theirs_null.numbers, atol=1e-5)
        assert ours.state().recipe.keys() == theirs.state().recipe.keys()
    with Index.open(folder, encoder=encoder) as index:
        assert index.analysis.verify() == []
        assert not measured or told(index) == wanted


def told(index: Index) -> list[Any]:
    """What questions find, with strengths."""
    return [
        (text, mode, [(hit.document, round(hit.score, 4), hit.match) for hit in index.search(text, mode=mode)])
        for text in ("engine number 7", "salt in bread 12")
        for mode in ("hybrid", "semantic")
    ]


def test_a_reembedded_index_is_one_that_was_built_with_the_encoder(folder: Path) -> None:
    seen: list[Progress] = []
    with Index.open(folder, encoder=WIDE) as index:
        report = index.reembed(NARROW, progress=seen.append)
        assert index.encoder.dim == 64
        assert index.search("engine number 7", mode="semantic")[0].document == "d7"
    assert (report.encoder, report.before, report.passages, report.encoded) == ("hashing", "hashing", 40, 40)
    assert (report.present, report.removed, report.kept, report.replaced) == (0, ("hashing",), (), None)
    assert [(one.done, one.total, one.unit) for one in (seen[0], seen[-1])] == [
        (0, 40, "passages"),
        (40, 40, "passages"),
    ]
    assert_as_new(folder, NARROW, documents(20))
    with Index.open(folder, encoder=NARROW) as index:
        index.add(documents(1, 20))
    assert_as_new(folder, NARROW, documents(21), measured=False)
    assert {file.name.split("-")[1] for file in folder.glob("*.cache")} == {"2"}


def test_title_and_heading_are_embedded_as_index_embeds_them(tmp_path: Path) -> None:
    text = "# Kettles\n\nFill it with water.\n\n## Care\n\nDescale it often with vinegar.\n"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "kettle.md").write_text(text)
    for name, encoder in (("a", WIDE), ("b", NARROW)):
        with Index.create(tmp_path / name, encoder=encoder) as index:
            index.sync(tmp_path / "files")
    with Index.open(tmp_path / "a", encoder=WIDE) as index:
        index.reembed(NARROW)
    with open_reader(tmp_path / "a") as ours, open_reader(tmp_path / "b") as theirs:
        assert content(ours) == content(theirs)


@pytest.mark.parametrize("batches", [0, 1, 3, 5])
def test_an_interrupted_run_goes_on_where_it_was(folder: Path, batches: int) -> None:
    interrupted(folder, NARROW, batches)
    with Index.open(folder, encoder=WIDE) as index:
        assert [space["state"] for space in index.info()["spaces"]] == ["current", "unfinished"]
        there = index.info()["spaces"][1]["vectors"]
        assert index.analysis.verify() == []
        report = index.reembed(NARROW)
    assert (report.present, report.encoded) == (there, 40 - there)
    assert there >= SMALL_BATCH * (batches - 1)
    assert_as_new(folder, NARROW, documents(20))


def test_without_an_encoder_an_unfinished_run_goes_on_with_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(folder, NARROW)
    loaded: list[str] = []
    monkeypatch.setattr("semsearch.index.open_store.load", lambda name: loaded.append(name) or NARROW)
    with Index.open(folder, encoder=WIDE) as index:
        assert index.reembed().present > 0
        index.reembed()
    assert loaded == ["hashing", "default"]


def test_searches_of_every_process_use_the_old_vectors_until_the_switch(folder: Path) -> None:
    """And an index that is open for reading follows the switch, with its own encoder of then by name."""
    with Index.open(folder, encoder=WIDE) as before:
        expected = told(before)

    def search(_: Progress) -> None:
        assert told(reader) == told(index) == expected
        assert reader.info()["spaces"][0]["dim"] == 256

    with Index.open(folder, encoder=WIDE) as index, Index.open(folder, encoder=WIDE) as reader:
        index.reembed(NARROW, progress=search)
    assert_as_new(folder, NARROW, documents(20))


def test_an_open_reader_follows_the_switch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_width: dict[int, HashingEncoder] = {256: WIDE, 64: NARROW}
    now = [256]
    monkeypatch.setattr("semsearch.encoders.index_encoder.load", lambda _: by_width[now[0]])
    with Index.open(folder) as reader, Index.open(folder, encoder=WIDE) as index:
        assert reader.search("engine number 7", mode="semantic")[0].document == "d7"
        index.reembed(NARROW)
        now[0] = 64
        found = reader.search("engine number 7", mode="semantic")
        assert (found[0].document, found[0].strength) == (
            index.search("engine number 7", mode="semantic")[0].document,
            index.search("engine number 7", mode="semantic")[0].strength,
        )
        assert reader.vectors([found[0].id]).shape == (1, 64)


def test_a_query_that_is_encoded_during_the_switch_is_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is encoded again, for the new space."""
    with Index.open(folder, encoder=WIDE) as index:

        class Switching(HashingEncoder):
            def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Vectors:
                if role == "query":
                    index.reembed(NARROW)
                return super().encode(texts, role=role)

        monkeypatch.setattr("semsearch.encoders.index_encoder.load", lambda _: NARROW)
        with Index.open(folder) as reader:
            reader.store.current.now().encoder._model = Switching()  # the old one, which is already loaded
            found = reader.search("engine number 7", mode="semantic")
    assert isinstance(found, Results)
    assert found[0].document == "d7"


def test_documents_that_come_and_go_between_two_interrupted_runs_are_right(folder: Path) -> None:
    interrupted(folder, NARROW, 3)
    changed = Document("d3", "A kettle boils at night. Vinegar removes lime.", title="Changed")
    with Index.open(folder, encoder=WIDE) as index:
        index.delete(["d1", "d19"])
        index.add([changed, *documents(3, 30)])
    interrupted(folder, NARROW, 1)
    with Index.open(folder, encoder=WIDE) as index:
        index.delete(["d30"])
        index.add(documents(2, 40))
    with Index.open(folder, encoder=WIDE) as index:
        index.reembed(NARROW)
    kept = [changed if one.id == "d3" else one for one in documents(20) if one.id not in ("d1", "d19")]
    assert_as_new(folder, NARROW, [*kept, *documents(2, 31), *documents(2, 40)])


def test_another_encoder_takes_the_place_of_an_unfinished_one(folder: Path) -> None:
    interrupted(folder, NARROW)
    with Index.open(folder, encoder=WIDE) as index:
        report = index.reembed(THIRD)
    assert (report.replaced, report.present, report.encoded) == ("hashing", 0, 40)
    assert_as_new(folder, THIRD, documents(20))


def test_the_encoder_that_an_index_has_gives_up_an_unfinished_one(folder: Path) -> None:
    interrupted(folder, NARROW)
    with Index.open(folder, encoder=WIDE) as index:
        report = index.reembed(WIDE)
    assert (report.replaced, report.encoded, report.removed) == ("hashing", 0, ())
    assert_as_new(folder, WIDE, documents(20))


def test_the_space_before_is_kept_for_comparison_and_can_be_used_again(folder: Path) -> None:
    with Index.open(folder, encoder=WIDE) as index:
        assert index.reembed(NARROW, keep_old=True).kept == ("hashing",)
        assert [(one["dim"], one["state"]) for one in index.info()["spaces"]] == [(64, "current"), (256, "kept")]
        index.add(documents(2, 20))
        assert index.analysis.verify() == []
        back = index.reembed(WIDE, keep_old=True)
        assert (back.present, back.encoded, back.replaced) == (40, 4, None)
        assert index.reembed(WIDE).removed == ("hashing",)
    assert_as_new(folder, WIDE, documents(22), measured=False)


def test_a_text_at_which_the_encoder_fails_stops_the_switch_and_is_named(folder: Path) -> None:
    with Index.open(folder, encoder=WIDE) as index:
        expected = told(index)
        with pytest.raises(EncodingFailed, match=r"fails at 1 documents.*still uses hashing.*d5 \(.*no such word"):
            index.reembed(Fails("number 5 "))
        assert told(index) == expected
        assert [one["vectors"] for one in index.info()["spaces"]] == [40, 38]
        index.delete(["d5"])
        report = index.reembed(Fails("number 5 "))
        assert (report.encoded, report.present) == (0, 38)
    assert_as_new(folder, Fails("number 5 "), [one for one in documents(20) if one.id != "d5"])


def test_an_encoder_that_fails_at_everything_ends_the_run(folder: Path) -> None:
    with Index.open(folder, encoder=WIDE) as index:
        with pytest.raises(EncodingFailed, match="plain sentence"):
            index.reembed(Fails(" "))
        assert index.search("engine number 7")[0].document == "d7"


def test_an_index_whose_encoder_is_gone_can_be_reembedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "notes"
    with Index.create(folder, encoder=THIRD, splitter=Splitter(size=8)) as index:
        index.add(documents(20))

    def gone(name: str) -> HashingEncoder:
        raise NotFound(f"no encoder is called {name!r}.")

    monkeypatch.setattr("semsearch.encoders.index_encoder.load", gone)
    with Index.open(folder) as index:
        with pytest.raises(NotFound, match="semsearch reembed notes"):
            index.search("engine", mode="semantic")
        index.reembed(NARROW)
        assert index.search("engine number 7", mode="semantic")[0].document == "d7"
    assert_as_new(folder, NARROW, documents(20))


def test_an_index_without_an_encoder_refuses(tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", encoder=None, dimensions=3) as index:
        index.add([Document("a", "Text")], vectors=[[1, 0, 0]])
        with pytest.raises(UsageError, match="vectors are your own"):
            index.reembed(NARROW)
        assert index.search(vector=[1, 0, 0])[0].document == "a"


def test_an_empty_index_takes_another_encoder(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder=WIDE, splitter=Splitter(size=8)) as index:
        assert asyncio.run(AsyncIndex(index).reembed(NARROW)).encoded == 0
        index.add(documents(5))
    assert_as_new(tmp_path / "notes", NARROW, documents(5))


def test_a_writer_in_another_place_is_refused_meanwhile(folder: Path) -> None:
    def write(_: Progress) -> None:
        with Index.open(folder, encoder=WIDE) as other, pytest.raises(Locked):
            other.add(documents(1))

    with Index.open(folder, encoder=WIDE) as index:
        index.reembed(NARROW, progress=write)


def test_a_vector_index_that_cannot_be_written_keeps_the_old_space(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with Index.open(folder, encoder=WIDE) as index:
        expected = told(index)
        with monkeypatch.context() as patched:
            patched.setattr(cache_files, "write", full)
            with pytest.raises(OSError, match="No space"):
                index.reembed(NARROW)
        assert told(index) == expected
        assert index.reembed(NARROW).encoded == 0
    assert_as_new(folder, NARROW, documents(20))


def test_what_was_measured_for_the_old_vectors_is_forgotten(folder: Path) -> None:
    with Index.open(folder, encoder=WIDE) as index:
        admin.bench(index, sample=3, keep=True)
        assert "measured" in index.info()["recipe"]
        index.reembed(NARROW)
        assert "measured" not in index.info()["recipe"]


def test_a_dump_of_an_unfinished_run_is_restored_and_goes_on(folder: Path, tmp_path: Path) -> None:
    interrupted(folder, NARROW, 3)
    with Index.open(folder, encoder=WIDE) as index:
        admin.dump(index, tmp_path / "dump")
    copy = tmp_path / "copy"
    with admin.restore(tmp_path / "dump", copy) as index:
        assert index.analysis.verify() == []
        assert [one["state"] for one in index.info()["spaces"]] == ["current", "unfinished"]
        assert index.reembed(NARROW).present > 0
    assert_as_new(copy, NARROW, documents(20))


@pytest.mark.parametrize("finished", [False, True])
def test_salvage_takes_the_current_space_alone(folder: Path, tmp_path: Path, finished: bool) -> None:
    interrupted(folder, NARROW, 3)
    if finished:
        with Index.open(folder, encoder=WIDE) as index:
            index.reembed(NARROW, keep_old=True)
    report = admin.salvage(folder, tmp_path / "new")
    assert (report.documents, report.passages, report.embedded, report.lost) == (20, 40, 0, ())
    with Index.open(tmp_path / "new", encoder=(encoder := NARROW if finished else WIDE)) as index:
        assert index.info()["recipe"].get("other_spaces") is None
        assert index.search("engine number 7", mode="semantic")[0].document == "d7"
        assert index.analysis.verify() == []
    with open_reader(tmp_path / "new") as theirs:
        assert [one.dim for one in theirs.state().spaces] == [encoder.dim]
