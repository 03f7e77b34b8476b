"""A folder of shards, made searchable: the passages of an exact search, filters, checks, and refusals in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer
from click import Choice, Context, Group, Option
from helpers.commandline import CommandLine
from helpers.shard_folders import ENCODER, JOB, SPLITTER, SUBJECTS, note, write

from semsearch import Index, Query
from semsearch.chunking.splitter import Splitter
from semsearch.cli.indexes import on_ray
from semsearch.cli.main import app
from semsearch.errors import (
    BadFilter,
    Corrupt,
    EncoderMismatch,
    Locked,
    NotFound,
    SemsearchError,
    UnknownName,
    UsageError,
)
from semsearch.scale.searching.building import build
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.stores import drivers
from semsearch.stores.drivers import StoreDriver
from semsearch.stores.shards import building
from semsearch.types import Document
from semsearch.utils.checksums import hashed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four shards of 400 documents, one of them empty; document 7 is in two of them."""
    folder = tmp_path_factory.mktemp("made") / "shards"
    again = Document(note(7).id, "The windmill turns.")
    write(
        folder,
        [
            [note(n) for n in range(150)],
            [],
            [again, *(note(n) for n in range(150, 250))],
            [note(n) for n in range(250, 400)],
        ],
    )
    report = build(folder)
    assert (report.added, [one.path for one in report.skipped]) == (400, [again.id])
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "shards"))


def local(made: Path, home: Path) -> Index:
    """A local index of the same documents."""
    index = Index.create(home / "local", encoder=ENCODER, splitter=Splitter(**SPLITTER))
    index.add([note(n) for n in range(400)])
    return index


def test_an_exact_search_finds_what_a_local_index_finds_in_the_same_order(made: Path, tmp_path: Path) -> None:
    with Index.open(made) as ours, local(made, tmp_path) as theirs:
        for text in ["a kettle in room 3", "the piano beside the comet", "Note 250"]:
            for group in ("passage", "document"):
                one, other = (
                    index.search(text, k=10, mode="semantic", group=group, exact=True) for index in (ours, theirs)
                )
                assert len(one.hits) == 10
                assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-3)
                sure = [(hit.document, hit.start) for hit in other if hit.score > other[-1].score + 2e-3]
                assert {*sure} <= {(hit.document, hit.start) for hit in one}
        best = ours.search("Note 250 is about the kettle number 250", mode="semantic")[0]
        assert (best.document, best.path, best.metadata["n"]) == (note(250).id, note(250).id, 250)
        assert best.strength is not None and best.text in note(250).text


def test_the_chosen_number_of_lists_finds_nearly_all_and_every_list_finds_all(made: Path) -> None:
    with Index.open(made) as index:
        space = index.info()["spaces"][0]
        assert space["recall"] >= 0.975 and 1 <= space["probes"] <= space["lists"]
        assert space["lists"] >= 10
        ids = [one["id"] for name in index.matching() for one in index.passages(name)]
        stored = index.vectors(ids).astype(np.float16).astype(np.float32)
        for text in SUBJECTS:
            vector = ENCODER.encode([text], role="query")[0]
            cosines = np.sort(stored @ vector)[::-1][:10]
            found = index.search(Query(text, k=10, mode="semantic", group="passage", exact=True))
            assert [hit.scores["cosine"] for hit in found] == pytest.approx(cosines.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("where", "path", "passes"),
    [
        ("n < 20 and even = true", None, lambda n: n < 20 and n % 2 == 0),
        ("date >= 2024-03 and date < 2024-05", None, lambda n: n % 9 in (2, 3)),
        ("document = 'notes/0042.md'", None, lambda n: n == 42),
        ("title = 'No. 3' or n = 399", None, lambda n: n in (3, 399)),
        (None, "notes/03*.md", lambda n: n >= 300),
        ("n > 10000", None, lambda n: False),
    ],
)
def test_filters_let_exactly_the_documents_pass_that_fulfil_them(
    made: Path, where: str | None, path: str | None, passes: object
) -> None:
    wanted = {note(n).id for n in range(400) if passes(n)}  # type: ignore[operator]
    with Index.open(made) as index:
        found = index.search("the kettle", k=400, mode="semantic", where=where, path=path, exact=True)
        assert {hit.document for hit in found} == wanted
        few = index.search("the kettle", k=5, mode="semantic", where=where, path=path)
        assert len(few) == min(5, len(wanted)) and {hit.document for hit in few} <= wanted
        assert set(index.matching(where=where, path=path)) == wanted


def test_a_filter_on_what_shards_do_not_record_is_refused(made: Path) -> None:
    with Index.open(made) as index:
        with pytest.raises(UsageError, match="do not record the size"):
            index.search("kettle", mode="semantic", where="size > 5")
        with pytest.raises(UnknownName, match="colour"):
            index.search("kettle", mode="semantic", where="colour = 'red'")
        with pytest.raises(BadFilter):
            index.search("kettle", mode="semantic", where="n >")


def test_a_document_that_two_shards_have_is_that_of_the_first(made: Path) -> None:
    with Index.open(made) as index:
        assert not any("windmill" in hit.text for hit in index.search("The windmill turns", k=400, mode="semantic"))
        assert index.get(note(7).id)["text"] == note(7).text
        assert [one.reason for one in index.skipped()] == ["its id is already used in another shard"]
        assert index.verify() == []


def test_passages_documents_and_counts_are_those_of_the_shards(made: Path, tmp_path: Path) -> None:
    with Index.open(made) as ours, local(made, tmp_path) as theirs:
        assert len(ours) == len(theirs) == 400
        one, other = ours.info(), theirs.info()
        assert (one["passages"], one["vectors"]) == (other["passages"], other["vectors"])
        assert ours.matching() == theirs.matching()
        for name in (note(0).id, note(151).id):
            keys = ("start", "end", "text", "line", "heading", "title", "metadata")
            mine, yours = ([[row[key] for key in keys] for row in index.passages(name)] for index in (ours, theirs))
            assert mine == yours
            assert ours.get(name)["text"] == theirs.get(name)["text"]
        assert sorted(ours.texts()) == sorted(theirs.texts())
        assert ours.facets() == theirs.facets()
        like = ours.similar(note(5).id, k=3)
        assert note(5).id not in {hit.document for hit in like} and len(like) == 3


def test_ids_stay_when_shards_come_and_go_and_none_is_used_twice(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    write(folder, [[note(0), note(1)], [note(2)]])
    build(folder)
    with Index.open(folder) as index:
        first = {name: [one["id"] for one in index.passages(name)] for name in index.matching()}
    write(folder, [[note(0), note(1)], [], [note(3), note(4)]], names="cxd")
    with Index.open(folder) as index:
        assert "not searchable yet" in str(index.search("note", mode="semantic").warnings)
        assert any("not searchable yet" in one for one in index.verify())
    build(folder)
    with Index.open(folder) as index:
        again = {name: [one["id"] for one in index.passages(name)] for name in index.matching()}
        assert index.verify() == []
    assert again[note(1).id] == first[note(1).id] and note(2).id not in again
    used = {number for ids in first.values() for number in ids}
    assert not used & {*again[note(3).id], *again[note(4).id]}
    assert {one.name for one in (folder / "search-index").iterdir()} == {"2", "manifest.json"}


def test_a_build_that_was_killed_goes_on_with_the_parts_that_are_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(folder / "search-index")
    part_of, begun = building.part_of, []

    def dies(task: building.Task) -> None:
        if task.name == "d":
            raise KeyboardInterrupt
        part_of(task)

    def counted(task: building.Task) -> None:
        begun.append((task.name, task.part.exists()))
        part_of(task)

    monkeypatch.setattr(building, "part_of", dies)
    with pytest.raises(KeyboardInterrupt):
        build(folder)
    with pytest.raises(NotFound, match="cannot be searched yet"):
        Index.open(folder)
    monkeypatch.setattr(building, "part_of", counted)
    build(folder)
    assert sorted(begun) == [("b", True), ("c", True), ("d", False)]
    with Index.open(folder) as index:
        assert len(index) == 400 and index.verify() == []


@pytest.mark.parametrize("damaged", ["shard-b.parquet", "search-index/1/lists.data", "search-index/1/documents.db"])
def test_a_changed_byte_is_found(folder: Path, damaged: str) -> None:
    content = bytearray((folder / damaged).read_bytes())
    content[len(content) // 2] ^= 255
    (folder / damaged).write_bytes(content)
    with Index.open(folder) as index:
        assert any(Path(damaged).name in problem for problem in index.verify())


def test_vectors_of_other_passages_are_found_though_every_checksum_is_right(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "search-index" / "1" / "lists.data"
    rows = np.fromfile(file, np.uint8)
    rows[:2] = rows[2:4] + 1  # of the first code
    rows.tofile(file)
    described = folder / "search-index" / "manifest.json"
    found = json.loads(described.read_text())
    found["files"]["lists.data"][1] = hashed(file)
    described.write_text(json.dumps(found))
    with Index.open(folder) as index:
        problems = index.verify()
    assert len(problems) == 1 and "are not those that searches compare" in problems[0]


def test_files_that_are_cut_off_or_gone_are_one_line(folder: Path) -> None:
    with Index.open(folder) as index:
        (folder / "shard-d.parquet").unlink()
        with pytest.raises(SemsearchError, match=r"is gone.*semsearch index --store shards:"):
            index.search("Note 399", k=400, mode="semantic")
    lists = folder / "search-index" / "1" / "lists.data"
    lists.write_bytes(lists.read_bytes()[:-8])
    with pytest.raises(Corrupt, match="do not fit"):
        Index.open(folder)


def test_a_shard_that_is_missing_and_another_encoder_are_refused(folder: Path) -> None:
    (folder / "shard-d.done").unlink()
    with pytest.raises(SemsearchError, match=r"1 of 4 shards .* not complete"):
        build(folder)
    with pytest.raises(EncoderMismatch):
        build(folder, "default")
    with ShardFolder(folder, {**JOB, "shards": ["c"]}), pytest.raises(Locked):
        build(folder)


def test_no_passage_at_all_can_be_searched_too(tmp_path: Path) -> None:
    write(tmp_path / "shards", [[]])
    build(tmp_path / "shards")
    with Index.open(tmp_path / "shards") as index:
        assert (len(index), len(index.search("kettle", mode="semantic")), index.verify()) == (0, 0, [])


@pytest.mark.parametrize("query", [{"mode": "keyword"}, {"mode": "hybrid"}, {"mode": "semantic", "must": ("kettle",)}])
def test_searches_for_words_are_refused_with_what_to_do(made: Path, query: dict[str, object]) -> None:
    with Index.open(made) as index, pytest.raises(UsageError, match="by meaning alone"):
        index.search("kettle", **query)  # type: ignore[arg-type]


READ_ONLY = [name for name in drivers.names() if drivers.load(name).READ_ONLY]


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_store_that_is_only_read_refuses_every_change_and_stays_as_it_is(name: str, made: Path) -> None:
    driver: StoreDriver = drivers.load(name)
    before = {file: file.stat().st_mtime_ns for file in made.rglob("*")}
    new = made.parent / "new"
    with driver.open_reader(made) as reader:
        changes = [
            lambda: driver.create(new, address=str(made)),
            lambda: driver.link(new, str(made)),
            lambda: driver.unlink(made),
            lambda: driver.open_writer(made),
            lambda: driver.rename(made, new),
            lambda: driver.dump(reader, new, lambda _: None),
            lambda: driver.restore(new, made, None, lambda _: None),
            lambda: driver.sql(made, "SELECT 1", (), {}, 1.0),
        ]
        for change in changes:
            with pytest.raises(UsageError) as refused:
                change()
            assert refused.value.fix and "\n" not in str(refused.value)
    assert {file: file.stat().st_mtime_ns for file in made.rglob("*")} == before and not new.exists()


def test_at_the_command_line_it_is_built_searched_described_and_checked(
    folder: Path, cli: CommandLine, tmp_path: Path
) -> None:
    store = f"shards:{folder}"
    assert cli("rm", folder, "-y").code == 0
    missing = cli("query", "kettle", "--store", store, "--mode", "semantic")
    assert missing.code == 3 and f"semsearch index --store {store}" in missing.err
    built = cli.ok("index", "--store", store, "--json")
    assert built.json["documents"]["added"] == 400 and built.json["documents"]["skipped"] == 1
    (tmp_path / "queries.tsv").write_text(
        "one\tthe kettle in room 3\ntwo\tNote 250\nthree\tNote 399 is about the glacier number 399.\n"
    )
    batch = cli.ok("query", "--batch", tmp_path / "queries.tsv", "--store", store, "--mode", "semantic", "-k", 3)
    lines = [json.loads(line) for line in batch.out.splitlines()]
    assert [(line["id"], line["schema"], len(line["hits"])) for line in lines] == [
        ("one", 1, 3),
        ("two", 1, 3),
        ("three", 1, 3),
    ]
    assert lines[2]["hits"][0]["document"] == note(399).id
    assert cli.ok("verify", "--store", store, "--json").json["ok"]
    described = cli.ok("info", "--store", store, "--json").json
    assert (described["documents"], described["index"]) == (400, "shards")
    assert described["backend"].startswith("ivf on disk")
    refused = cli("query", "kettle", "--store", store)
    assert refused.code == 2 and "--mode semantic" in refused.err and len(refused.err.splitlines()) == 1
    for change in (["delete", "-n", folder, "--id", note(3).id], ["index", folder.parent, "-n", folder]):
        written = cli(*change)
        assert written.code == 2 and "--to-shards" in written.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["query", "x", "--store", "shards:nowhere"], 3, "there are no shards in nowhere"),
        (["query", "x", "--store", "shards"], 2, "needs a folder"),
        (["query", "x", "--store", "local"], 2, "-n NAME"),
        (["query", "x", "-n", "notes", "--store", "shards:d"], 2, "exclude each other"),
        (["info", "--store", "postgres:host=h"], 2, "-n NAME"),
        (["index", ".", "--store", "shards:d"], 2, "makes no index: . does not fit. Leave it out."),
        (["index", "--store", "shards:nowhere"], 3, "there are no shards in nowhere"),
    ],
)
def test_a_store_that_is_none_is_refused_in_one_line(
    cli: CommandLine, arguments: list[str], code: int, said: str
) -> None:
    found = cli(*arguments)
    assert found.code == code and said in found.err and len(found.err.splitlines()) == 1


def options_of_an_index() -> list[list[str]]:
    """Each option of `index` that makes an index, with an argument that parses; of one with an opposite, both."""
    root = typer.main.get_command(app)
    assert isinstance(root, Group)
    command = root.get_command(Context(root), "index")
    assert command is not None
    known = {one.name: one for one in command.params if isinstance(one, Option)}
    assert known.keys() >= on_ray.OF_SHARDS
    texts, found = {"max_file_size": "1M", "from_vectors": "v.npy"}, []
    for name in known.keys() - {"help", *on_ray.OF_SHARDS}:
        one = known[name]
        given = next(iter(one.type.choices)) if isinstance(one.type, Choice) else texts.get(str(name), "3")
        ways = [words[-1] for words in (one.opts, one.secondary_opts) if words]
        found += [[words] if one.is_flag else [words, given] for words in ways]
    return sorted(found)


@pytest.mark.parametrize("words", options_of_an_index(), ids=lambda words: str(words[0]))
def test_an_option_that_makes_an_index_is_refused_in_one_line_where_shards_are_made_searchable(
    folder: Path, cli: CommandLine, words: list[str]
) -> None:
    before = sorted(folder.rglob("*"))
    found = cli("index", "--store", f"shards:{folder}", *words)
    assert (found.code, len(found.err.splitlines())) == (2, 1)
    assert f"makes no index: {words[0]} does not fit. Leave it out." in found.err
    assert sorted(folder.rglob("*")) == before


def test_the_options_of_an_encoder_are_heeded_where_shards_are_made_searchable(folder: Path, cli: CommandLine) -> None:
    build_it = ["index", "--store", f"shards:{folder}"]
    assert cli(*build_it, "-m", "hashing", "--device", "cuda:7").code == 6
    for words in (["--template", "mean"], ["--layer", "-1"], ["--dtype", "fp16"]):
        refused = cli(*build_it, "-m", "hashing", *words)
        assert refused.code == 2 and "hashing" in refused.err
    assert cli(*build_it, "--workers", "2").code == 2  # without --engine ray
    assert cli(*build_it, "--strict").code == 5  # a document is in two shards
    assert cli.ok(*build_it, "-m", "hashing", "--device", "cpu", "--json").json["documents"]["added"] == 400


@pytest.mark.parametrize("name", ["lists.data", "centroids.npy", "documents.db"])
def test_damage_that_keeps_shards_from_being_opened_is_told_with_the_command_that_mends_it(
    folder: Path, cli: CommandLine, name: str
) -> None:
    (file,) = (folder / "search-index").glob(f"*/{name}")
    file.write_bytes(b"x" * 3)
    found = cli("info", "--store", f"shards:{folder}")
    assert found.code == 1 and f"Build it: semsearch index --store shards:{folder}" in found.err
    assert len(found.err.splitlines()) == 1
    cli.ok("index", "--store", f"shards:{folder}")
    assert cli.ok("verify", "--store", f"shards:{folder}", "--json").json["ok"]
