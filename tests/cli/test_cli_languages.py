"""`index`, `info` and `doctor` say which languages the encoder reads, and a new index gets one that reads its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.models import model_folders

GERMAN = {
    "brot.txt": "Das Brot muss eine Stunde im Ofen bleiben, bis die Kruste braun ist.",
    "rad.txt": "Vor dem Winter wird die Kette des Fahrrads gereinigt und geölt.",
    "steuer.txt": "Die Steuererklärung muss bis Ende Juli beim Finanzamt abgegeben werden.",
}
ENGLISH = {
    "bread.txt": "The bread has to stay in the oven for an hour, until its crust is brown.",
    "bike.txt": "Before winter the chain of the bicycle is cleaned and oiled.",
}
NAMES = "".join(
    f"{first} {last} <{first.lower()}@{last.lower()}.example.de>\n"
    for first in ("Wouter", "Jeroen", "Maarten", "Friedrich", "Heinrich")
    for last in ("Brandenhorst", "Buitenhek", "Spieschaert", "Lichtenfeld")
)


@pytest.fixture(autouse=True)
def no_settings(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:  # cli sets a model
    monkeypatch.delenv("SEMSEARCH_MODEL", raising=False)


@pytest.fixture
def german(tmp_path: Path) -> Path:
    return written(tmp_path / "german", GERMAN)


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_new_index_of_german_notes_gets_multilingual_and_says_why(cli: CommandLine, german: Path) -> None:
    ran = cli.ok("index", str(german), "-n", "notes", "--json")
    assert "multilingual" in ran.err and "German" in ran.err and "default reads English" in ran.err
    known = cli.ok("info", "notes", "--json").json
    assert known["spaces"][0]["reference"] == "multilingual"
    assert known["share_read"] == 1
    assert (
        cli.ok("query", "Wann wird die Kette geölt?", "-n", "notes", "--json").json["hits"][0]["document"] == "rad.txt"
    )


def test_english_notes_get_the_usual_encoder_without_a_word(cli: CommandLine, tmp_path: Path) -> None:
    ran = cli.ok("index", str(written(tmp_path / "english", ENGLISH | {"AUTHORS.txt": NAMES})), "-n", "notes", "--json")
    assert "multilingual" not in ran.err and not ran.json["warnings"]
    assert cli.ok("info", "notes", "--json").json["spaces"][0]["reference"] == "default"


def test_an_encoder_that_was_chosen_stays_and_the_command_that_helps_is_named(cli: CommandLine, german: Path) -> None:
    ran = cli.ok("index", str(german), "-n", "notes", "-m", "default")
    assert "100% of the texts are in German" in ran.err
    assert "semsearch reembed notes -m multilingual" in ran.err
    assert "the encoder reads 0% of the passages" in cli.ok("info", "notes").out
    checks = {each["check"]: each for each in cli.ok("doctor", "--json").json["checks"]}
    assert "reembed notes" in checks["index notes"]["detail"]
    assert cli.ok("index", "-n", "notes").err.count("German") == 0  # an update repeats nothing


def test_an_index_is_encoded_again_with_an_encoder_that_reads_it_unless_another_is_named(
    cli: CommandLine, german: Path
) -> None:
    cli.ok("index", str(german), "-n", "notes", "-m", "hashing")
    by_itself = cli.ok("reembed", "notes")
    assert "multilingual" in by_itself.err and "German" in by_itself.err
    assert cli.ok("info", "notes", "--json").json["spaces"][0]["reference"] == "multilingual"
    named = cli.ok("reembed", "notes", "-m", "default")
    assert "100% of the texts are in German" in named.err
    assert "semsearch reembed notes -m multilingual" in named.err
    assert "German" not in cli.ok("reembed", "notes", "-m", "multilingual").err


def test_programs_are_told_in_json_what_the_encoder_does_not_read(cli: CommandLine, german: Path) -> None:
    reports = [
        cli.ok("index", str(german), "-n", "notes", "-m", "default", "--json"),
        cli.ok("reembed", "notes", "-m", "minilm", "--json"),
    ]
    for report in reports:
        (warning,) = report.json["warnings"]
        assert "semsearch reembed notes -m multilingual" in warning and report.err.count("-m multilingual") == 1


def test_texts_that_the_encoder_does_not_read_are_compared_with_a_warning(cli: CommandLine) -> None:
    pair = "Die Katze schläft auf dem Sofa und schnurrt.", "The cat is asleep on the sofa."
    english = cli.ok("sts", *pair, "-m", "default")
    assert "default reads English, not the language of 50% of the texts" in english.err
    assert "-m multilingual" in english.err
    assert not cli.ok("sts", *pair, "-m", "multilingual").err and not cli.ok("sts", pair[1], pair[1]).err


def test_an_encoder_of_the_settings_stays(cli: CommandLine, german: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMSEARCH_MODEL", "hashing")
    cli.ok("index", str(german), "-n", "notes")
    known = cli.ok("info", "notes", "--json").json
    assert known["spaces"][0]["reference"] == "hashing" and known["share_read"] is None


def test_every_encoder_of_the_package_states_its_languages(cli: CommandLine) -> None:
    shipped = [name for name, entry in model_folders.catalogue().items() if "folder" in entry]
    for name in shipped:
        assert "en" in cli.ok("models", "info", name, "--json").json["model"]["languages"]
