"""`dedup`, `cluster` and `label`: what they print, what they delete, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

import semsearch
from semsearch.cli.searching import dedup_command

ENGINE = "Diesel engines ignite by compression of the air in them and the fuel is injected late."


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """An index of two exact copies, a near one, and something else."""
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = {"a.txt": ENGINE, "bb.txt": ENGINE, "near.txt": f"{ENGINE} Always.", "bread.txt": "Bread needs salt."}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    cli.ok("-q", "index", folder)
    return cli


def documents() -> list[str]:
    with semsearch.Index.open("notes") as index:
        return [one["id"] for one in index.documents()]


def test_dedup_lists_what_to_keep_and_deletes_nothing(notes: CommandLine) -> None:
    ran = notes.ok("dedup", "notes", "--threshold", 0.8, "--words", 0.8)
    assert [line.split()[:2] for line in ran.lines[1:]] == [["keep", "near.txt"], ["copy", "a.txt"], ["copy", "bb.txt"]]
    assert "longest text" in ran.lines[1] and "2 copies of 1 document" in ran.err and len(documents()) == 4
    found = notes.ok("dedup", "notes", "--exact", "--keep", "first", "--json").json
    (group,) = found["groups"]
    assert (group["keep"], found["copies"], found["deleted"]) == ("a.txt", 1, 0)
    (copy,) = group["copies"]
    assert copy.pop("cosine") > 0.9  # titles differ, and are embedded too
    assert copy == {"document": "bb.txt", "kind": "exact", "shared_words": 1.0}


def test_dedup_deletes_the_copies_when_asked_to(notes: CommandLine) -> None:
    found = notes.ok("dedup", "notes", "--exact", "--delete", "--json").json
    assert found["deleted"] == 1 and documents() == ["a.txt", "bread.txt", "near.txt"]
    ran = notes.ok("dedup", "notes", "--exact", "--delete")
    assert ran.out == "" and "no copies" in ran.err


def test_many_copies_are_deleted_only_after_a_confirmation(notes: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dedup_command, "CONFIRM_ABOVE", 0)
    refused = notes("dedup", "notes", "--exact", "--delete")
    assert refused.code == 2 and "-y" in refused.err and len(documents()) == 4
    assert notes("dedup", "notes", "--exact", "--delete", stdin="n\n", terminal=True).code == 1
    assert len(documents()) == 4
    notes.ok("dedup", "notes", "--exact", "--delete", "-y")
    assert len(documents()) == 3


def test_nothing_is_deleted_of_an_index_that_has_changed_since_it_was_compared(
    notes: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedup_command, "CONFIRM_ABOVE", 0)

    def answer(*_: object, **__: object) -> None:
        with semsearch.Index.open("notes") as other:
            other.delete(["a.txt"])

    monkeypatch.setattr("semsearch.cli.output.console.confirm", answer)
    refused = notes("dedup", "notes", "--exact", "--delete")
    assert refused.code == 1 and "changed" in refused.err and documents() == ["bb.txt", "bread.txt", "near.txt"]


@pytest.mark.parametrize("wrong", [("--threshold", "2"), ("--words", "-1"), ("--keep", "best"), ("--where", "n <")])
def test_wrong_options_of_dedup_are_usage_errors(notes: CommandLine, wrong: tuple[str, str]) -> None:
    assert notes("dedup", "notes", *wrong).code == 2


def test_cluster_prints_names_sizes_and_examples(notes: CommandLine) -> None:
    ran = notes.ok("cluster", "notes", "-k", 2)
    assert ran.lines[0].split() == ["documents", "coherence", "name", "example"]
    assert [line.split()[0] for line in ran.lines[1:]] == ["3", "1"] and "2 clusters" in ran.err
    found = notes.ok("cluster", "notes", "-k", 2, "--json").json
    first, second = found["clusters"]
    assert (first["size"], second["documents"], second["example"]) == (3, ["bread.txt"], "Bread needs salt.")
    assert found["others"] == [] and first["coherence"] > found["coherence"]
    listed = notes.ok("cluster", "notes", "-k", 2, "--documents").out
    assert all(f"  {name}" in listed for name in documents())


def test_cluster_over_time_counts_by_date(cli: CommandLine) -> None:
    with semsearch.Index.create("dated", encoder="hashing") as index:
        made = [("a", "yeast dough", "2020"), ("b", "dough yeast", "2022"), ("c", "diesel engine", "2021")]
        index.add([semsearch.Document(name, text, {"made": year}) for name, text, year in made])
    found = cli.ok("cluster", "dated", "-k", 2, "--over-time", "--by", "year", "--date-field", "made", "--json").json[
        "over_time"
    ]
    assert found == {"periods": ["2020", "2021", "2022"], "counts": [[1, 0, 1], [0, 1, 0]], "undated": 0}
    shown = cli.ok("cluster", "dated", "-k", 2, "--over-time", "--by", "year", "--date-field", "made").lines
    assert "2020 to 2022" in shown[0] and "█ █" in shown[1] and shown[1].endswith("2020: 1")
    assert cli("cluster", "dated", "--over-time", "--date-field", "unknown").code == 3


def test_label_labels_the_documents_of_an_index(notes: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "examples.tsv"
    file.write_text("diesel engine\tcars\nfuel of an engine\tcars\nbread with salt\tfood\nsalt and bread\tfood\n")
    found = notes.ok("label", "notes", "--examples", file, "--json").json
    assert found["index"] == "notes"
    nearest = {one["document"]: one["nearest"] for one in found["labels"]}
    assert nearest == {"a.txt": "cars", "bb.txt": "cars", "near.txt": "cars", "bread.txt": "food"}
    assert found["accuracy"]["accuracy"] == 1 and found["accuracy"]["by_label"] == {"cars": [2, 2], "food": [2, 2]}
    ran = notes.ok("label", "notes", "--examples", file, "--reject", 0, "--where", "path = 'bread.txt'")
    assert [line.split()[0] for line in ran.lines] == ["label", "food"] and "100.0% of 4 examples" in ran.err
    assert "too few" not in ran.err
    assert notes("label", "notes", "--examples", file, "-m", "default").code == 2


def test_label_says_when_there_are_too_few_examples_to_leave_any_text_without(
    notes: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "examples.tsv"
    file.write_text("diesel engine\tcars\nfuel of an engine\tcars\nbread with salt\tfood\nsalt and bread\tfood\n")
    foreign = tmp_path / "lines.txt"
    foreign.write_text("zebra\n")

    def labelled(*more: object) -> tuple[str, str]:
        ran = notes.ok("label", foreign, "--examples", file, "-m", "hashing", *more)
        return ran.lines[1].split()[0], ran.err

    label, said = labelled()
    assert label != "-" and "4 examples are too few" in said and "give 50 or more, or a --reject above 0.20" in said
    label, said = labelled("--reject", 0.21)
    assert label == "-" and "too few" not in said


@pytest.mark.parametrize(
    "content, suffix",
    [
        ('text,label\n"diesel, engine",cars\nengine fuel,cars\nbread salt,food\n', "csv"),
        ("label\ttext\ncars\tdiesel engine\nfood\tbread salt\n", "tsv"),
        ('{"text": "diesel engine", "label": "cars"}\n{"text": "bread salt", "label": "food"}\n', "jsonl"),
    ],
)
def test_label_reads_examples_of_every_form_and_labels_lines(
    cli: CommandLine, tmp_path: Path, content: str, suffix: str
) -> None:
    (tmp_path / f"examples.{suffix}").write_text(content)
    (tmp_path / "lines.txt").write_text("a diesel engine\nsalt in bread\n")
    found = cli.ok(
        *("label", tmp_path / "lines.txt", "--examples", tmp_path / f"examples.{suffix}"),
        *("-m", "hashing", "--reject", 0, "--json"),
    ).json["labels"]
    assert [(one["text"], one["label"]) for one in found] == [("a diesel engine", "cars"), ("salt in bread", "food")]


@pytest.mark.parametrize("content", ["", "no label\n", "a\tb\nonly one\n", '{"text": "a"}', "a\tsame\nb\tsame\n"])
def test_examples_that_are_none_are_named(cli: CommandLine, tmp_path: Path, content: str) -> None:
    (tmp_path / "examples.tsv").write_text(content)
    (tmp_path / "lines.txt").write_text("a text\n")
    ran = cli("label", tmp_path / "lines.txt", "--examples", tmp_path / "examples.tsv", "-m", "hashing")
    assert ran.code == 2 and ran.err.startswith("error: ") and "Traceback" not in ran.err
    assert cli("label", tmp_path / "lines.txt", "--examples", tmp_path, "-m", "hashing").code == 2  # a folder
