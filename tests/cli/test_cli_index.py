"""`index` and `watch` through the command line: names, counts, what is skipped, what is refused."""

from __future__ import annotations

import importlib.util
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import two_notes
from helpers.commandline import CommandLine
from helpers.two_notes import KETTLE

from semsearch.errors import install_command


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return two_notes.written(tmp_path / "notes")


def test_two_commands_and_no_name_are_enough(cli: CommandLine, notes: Path) -> None:
    made = cli.ok("index", notes)
    assert made.out.startswith("notes: 2 added, 0 changed, 0 unchanged, 0 moved, 0 deleted, 0 skipped; 2 passages in ")
    assert "new index notes" in made.err
    found = cli.ok("query", "remove scale from a kettle", "--json").json
    assert (found["index"], found["hits"][0]["path"]) == ("notes", "kettle.md")


def test_json_has_exactly_the_keys_of_the_contract(cli: CommandLine, notes: Path) -> None:
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    shown = cli.ok("index", notes, "--json").json
    contract = {"schema", "index", "documents", "passages", "vectors", "skipped", "took_s", "warnings"}
    assert set(shown) == contract | {"left_out", "left_out_files"}
    assert shown["documents"] == {"added": 2, "changed": 0, "unchanged": 0, "moved": 0, "deleted": 0, "skipped": 1}
    assert (shown["schema"], shown["index"], shown["passages"], shown["vectors"]) == (1, "notes", 2, 2)
    [skipped] = shown["skipped"]
    assert set(skipped) == {"path", "reason"}
    assert skipped["path"] == "broken.pdf"


def test_running_it_again_is_the_update_without_arguments_too(cli: CommandLine, notes: Path) -> None:
    cli.ok("index", notes)
    (notes / "bread.txt").write_text("Rye bread keeps for a week.\n", encoding="utf-8")
    (notes / "kettle.md").rename(notes / "tea-kettle.md")
    (notes / "new.txt").write_text("Something new.\n", encoding="utf-8")
    counts = cli.ok("index", "--json").json["documents"]
    assert counts == {"added": 1, "changed": 1, "unchanged": 0, "moved": 1, "deleted": 0, "skipped": 0}
    (notes / "new.txt").unlink()
    assert cli.ok("index", "--no-prune", "--json").json["documents"]["deleted"] == 0
    assert cli.ok("index", "--json").json["documents"]["deleted"] == 1
    assert cli.ok("index", notes, "--force", "--json").json["documents"]["added"] == 0


def test_the_index_that_follows_a_path_is_meant_by_it(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    cli.ok("index", notes, "-n", "mine")
    again = cli.ok("index", notes, "--json")
    assert again.json["index"] == "mine"
    assert "updating index mine" in again.err
    assert cli.ok("index", notes / "bread.txt", "--json").json["index"] == "mine"


def test_two_folders_of_one_name_are_not_mixed_by_accident(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    cli.ok("index", notes)
    other = tmp_path / "elsewhere" / "notes"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("Another text.", encoding="utf-8")
    refused = cli("index", other)
    assert refused.code == 2
    assert "-n notes" in refused.err
    assert cli.ok("index", other, "-n", "notes", "--json").json["documents"]["added"] == 1


def test_a_folder_with_an_odd_name_gets_a_safe_one(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "My notes (2024)!"
    folder.mkdir()
    (folder / "a.txt").write_text("A text.", encoding="utf-8")
    assert cli.ok("index", folder, "--json").json["index"] == "My-notes-2024"
    assert cli.ok("index", folder / "a.txt", "-n", "one", "--json").json["documents"]["added"] == 1


def test_several_indexes_have_to_be_told_apart(cli: CommandLine, notes: Path) -> None:
    cli.ok("index", notes, "-n", "a")
    cli.ok("index", notes, "-n", "b")
    for arguments in (["query", "x"], ["info"], ["index"], ["verify"], ["get", "1"], ["audit"], ["index", str(notes)]):
        ran = cli(*arguments)
        assert ran.code == 2
        assert "a, b" in ran.err
    assert cli("info", "c").err.count("Choose from: a, b") == 1


def test_without_path_there_has_to_be_a_recipe_to_repeat(cli: CommandLine) -> None:
    assert cli("index").code == 3  # there is no index whose recipe could be repeated
    assert cli("index", "-n", "new").code == 3
    cli.ok("index", "-", "-n", "piped", stdin=KETTLE)
    ran = cli("index", "-n", "piped")  # it is there, but follows no file
    assert ran.code == 2
    assert "Name one: semsearch index FOLDER" in ran.err
    cli.ok("rm", "piped", "-y")
    assert cli.ok("list", "--json").json["indexes"] == []


def test_an_empty_folder_is_a_warning_and_success(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = cli.ok("index", tmp_path / "empty")
    assert "warning: no documents were found, so no index was created." in ran.err
    assert cli.ok("index", tmp_path / "empty", "--json").json["warnings"] == [
        "no documents were found, so no index was created."
    ]


def test_an_index_does_not_index_itself(cli: CommandLine, notes: Path) -> None:
    made = cli.ok("--home", notes / "indexes", "index", notes, "--json").json["documents"]
    again = cli.ok("--home", notes / "indexes", "index", notes, "--json").json["documents"]
    assert (made["added"], made["skipped"]) == (2, 0)
    assert (again["unchanged"], again["added"], again["skipped"]) == (2, 0, 0)


def test_skipped_files_are_named_ten_at_most_and_strict_fails(cli: CommandLine, notes: Path) -> None:
    for number in range(12):
        (notes / f"b{number:02}.pdf").write_bytes(b"%PDF-1.4 nothing")
    ran = cli.ok("index", notes)
    assert ran.err.count(".pdf: ") == 10
    assert "and 2 more: see `semsearch info notes`" in ran.err
    strict = cli("index", "--strict", "--json")
    assert strict.code == strict.json["error"]["code"] == 5
    assert len(strict.json["skipped"]) == 12
    assert len(cli.ok("info", "--json").json["last_run"]["skipped"]) == 12
    assert cli.ok("info").out.count("skipped b") == 12


def test_what_was_left_out_is_one_line_and_listed_by_file(cli: CommandLine, notes: Path) -> None:
    page = "<html><body><script>{script}</script><nav><a>A</a> <a>B</a></nav><p>The kettle is hot.</p></body></html>"
    (notes / "one.html").write_text(page.format(script="a" * 1200))
    (notes / "two.html").write_text(page.format(script="b" * 300))
    (notes / "app.html").write_text("<html><body><script>go()</script></body></html>")
    line = "left out: script (1,504 letters), navigation (4 letters) in 3 files; "
    line += "`semsearch info notes --skipped` lists them"
    for _ in range(2):
        ran = cli.ok("index", notes)
        assert line in ran.err.splitlines()
        assert "app.html: no text found in it, only script (4 letters)\n" in ran.err
    assert cli.ok("index", "--json").json["left_out"] == {"script": 1504, "navigation": 4}
    listed = cli.ok("info", "notes", "--skipped").out
    assert "left out of one.html: script (1,200 letters), navigation (2 letters)\n" in listed
    assert "skipped app.html: no text found in it, only script (4 letters)\n" in listed
    shown = cli.ok("info", "notes", "--skipped", "--json").json
    assert shown["skipped"] == [{"path": "app.html", "reason": "no text found in it, only script (4 letters)"}]
    assert shown["left_out"][1] == {"path": "two.html", "kinds": {"script": 300, "navigation": 2}}
    assert "left out of" not in cli.ok("info", "notes").out
    assert cli("index", "--strict").code == 5


def test_a_dry_run_writes_nothing(cli: CommandLine, notes: Path) -> None:
    first = cli.ok("index", notes, "--dry-run", "--json").json
    assert (first["dry_run"], first["documents"]["added"]) == (True, 2)
    assert cli.ok("list", "--json").json["indexes"] == []
    cli.ok("index", notes)
    (notes / "bread.txt").unlink()
    assert cli.ok("index", "--dry-run", "--json").json["documents"]["deleted"] == 1
    assert cli.ok("info", "--json").json["documents"] == 2
    assert "dry run" in cli.ok("index", "--dry-run").out


def test_a_refused_run_leaves_no_empty_index(cli: CommandLine, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cli("index", "/", "-n", "everything")
    assert refused.code == 2
    assert "error: " in refused.err
    monkeypatch.setenv("HOME", str(notes))
    assert cli("index", notes, "-n", "home").code == 2
    assert cli.ok("list", "--json").json["indexes"] == []
    assert cli.ok("index", notes, "-n", "home", "-y", "--json").json["documents"]["added"] == 2


def test_globs_ignore_files_and_sizes_choose_the_files_and_are_remembered(cli: CommandLine, notes: Path) -> None:
    (notes / ".gitignore").write_text("secret*\n", encoding="utf-8")
    (notes / "secret.txt").write_text("A secret.", encoding="utf-8")
    (notes / "large.txt").write_text("Long. " * 1000, encoding="utf-8")
    made = cli.ok("index", notes, "--exclude", "*.md", "--max-file-size", "5k", "--json").json
    assert (made["documents"]["added"], made["documents"]["skipped"]) == (1, 1)
    assert cli.ok("index", "--json").json["documents"]["unchanged"] == 1
    other = cli.ok("index", notes, "-n", "other", "--include", "secret*", "--no-ignore", "--json").json
    assert other["documents"]["added"] == 1


@pytest.mark.parametrize(("name", "text"), [
    ("r.jsonl", '{"id": "x", "body": "Tea is a drink.", "year": 1999, "lang": "en"}\n'),
    ("r.csv", 'id,body,year,lang\nx,Tea is a drink.,1999,en\n'),
    ("r.tsv", "id\tbody\tyear\tlang\nx\tTea is a drink.\t1999\ten\n"),
])  # fmt: skip
def test_records_give_text_id_and_metadata_by_field(cli: CommandLine, tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    kind = file.suffix[1:]
    cli.ok("index", file, "--from", kind, "--text-field", "body", "--id-field", "id", "--meta-field", "year")
    [hit] = cli.ok("query", "tea", "--where", "year = 1999", "--json").json["hits"]
    assert (hit["document"], hit["text"]) == ("x", "Tea is a drink.")
    assert set(hit["metadata"]) == {"year"}
    plain = cli.ok("index", file, "-n", "plain", "--from", "files", "--json").json
    assert plain["documents"]["added"] == 1


def test_a_query_of_a_database_is_indexed(cli: CommandLine, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE goods (id TEXT, text TEXT, price INT)")
        database.execute("INSERT INTO goods VALUES ('k1', 'A copper kettle.', 30), ('p1', 'A pan.', 20)")
    database.close()
    made = cli.ok(
        "index", tmp_path / "shop.db", "--sql", "select * from goods where price > 25", "--id-field", "id", "--json"
    )
    assert made.json["documents"]["added"] == 1
    assert cli.ok("query", "kettle", "--json").json["hits"][0]["document"] == "k1"


def test_standard_input_is_a_document_or_records(cli: CommandLine) -> None:
    assert cli("index", "-", stdin=KETTLE).code == 2  # what should it be called?
    assert cli.ok("index", "-", "-n", "in", "--json", stdin=KETTLE).json["documents"]["added"] == 1
    assert cli.ok("index", "-", "-n", "in", "--json", stdin=KETTLE).json["documents"]["unchanged"] == 1
    records = '{"id": "a", "text": "Tea."}\nbroken\n{"id": "b", "text": "Coffee."}\n'
    made = cli.ok("index", "-", "-n", "in", "--from", "jsonl", "--id-field", "id", "--json", stdin=records)
    assert (made.json["documents"]["added"], made.json["documents"]["skipped"]) == (2, 1)


def test_passages_are_cut_as_told_and_cut_anew_when_told_otherwise(cli: CommandLine, notes: Path) -> None:
    (notes / "long.txt").write_text("A sentence of some words stands here. " * 60, encoding="utf-8")
    small = cli.ok("index", notes, "--chunk", "tokens", "--chunk-size", "20", "--overlap", "5", "--json").json
    splitter = cli.ok("info", "--json").json["recipe"]["splitter"]
    assert splitter == {"kind": "tokens", "size": 20, "overlap": 5}
    whole = cli.ok("index", "--chunk", "none", "--json").json
    assert whole["passages"] < small["passages"]
    assert cli.ok("info", "--json").json["recipe"]["splitter"]["kind"] == "none"


def test_a_wrong_overlap_is_a_usage_error_and_leaves_nothing(cli: CommandLine, notes: Path) -> None:
    ran = cli("index", notes, "--chunk-size", "10", "--overlap", "10")
    assert ran.code == 2
    assert cli.ok("list", "--json").json["indexes"] == []


@pytest.mark.parametrize("backend", ["exact", "flat", "compressed", "ivf"])
def test_the_backend_is_the_one_that_was_asked_for(cli: CommandLine, notes: Path, backend: str) -> None:
    cli.ok("index", notes)
    cli.ok("index", "--backend-type", backend)
    assert cli.ok("info", "--json").json["recipe"]["backend"] == backend
    assert cli.ok("query", "kettle scale", "--json").json["hits"][0]["path"] == "kettle.md"


def test_another_encoder_is_refused_with_exit_4(cli: CommandLine, notes: Path) -> None:
    cli.ok("index", notes)
    ran = cli("index", notes, "-m", "default", "--json")
    assert ran.code == ran.json["error"]["code"] == 4
    assert "hashing" in ran.err


def test_a_device_that_is_absent_is_exit_6(cli: CommandLine, notes: Path) -> None:
    ran = cli("index", notes, "-m", "default", "--device", "cuda:7", "--json")
    assert ran.code == ran.json["error"]["code"] == 6
    assert cli.ok("list", "--json").json["indexes"] == []


def test_a_second_writer_is_exit_7_and_readers_go_on(cli: CommandLine, notes: Path) -> None:
    from semsearch.utils.writer_lock import WriterLock

    cli.ok("index", notes)
    lock = WriterLock(Path(os.environ["SEMSEARCH_HOME"]) / "notes")
    try:
        for arguments in (["index", "--force"], ["delete", "--id", "bread.txt"], ["compact"], ["rm", "notes", "-y"]):
            ran = cli(*arguments, "--json")
            assert ran.code == ran.json["error"]["code"] == 7, arguments
        assert cli.ok("query", "bread", "--json").json["hits"]
    finally:
        lock.release()
    assert cli.ok("info", "--json").json["documents"] == 2


def test_quiet_says_nothing_but_trouble(cli: CommandLine, notes: Path) -> None:
    ran = cli.ok("-q", "index", notes)
    assert (ran.out, ran.err) == ("", "")
    (notes / "b.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert "b.pdf" in cli.ok("-q", "index").err


def test_verbose_reports_progress_in_lines(cli: CommandLine, notes: Path) -> None:
    assert " passages/s" in cli.ok("index", notes, "-v").err


@pytest.mark.slow
@pytest.mark.parametrize("command", [["index", "--watch"], ["watch", "notes"]], ids=" ".join)
def test_watching_follows_changes_until_it_is_interrupted(cli: CommandLine, notes: Path, command: list[str]) -> None:
    cli.ok("index", notes)
    running = subprocess.Popen(
        [sys.executable, "-m", "semsearch", *command, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout
        assert '"unchanged": 2' in running.stdout.readline()
        (notes / "new.txt").write_text("A new note about coal.", encoding="utf-8")
        assert '"added": 1' in running.stdout.readline()
        assert cli.ok("query", "coal", "--json").json["hits"][0]["path"] == "new.txt"  # readers do not wait
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_cleanly_and_the_next_one_finishes_it(
    cli: CommandLine, tmp_path: Path, number: int, code: int
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for at in range(800):
        (folder / f"{at:04}.txt").write_text(f"Note {at}. " + "Words stand here. " * 40, encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-m", "semsearch", "index", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    store = Path(os.environ["SEMSEARCH_HOME"]) / "many" / "store.db"
    while not store.exists() or not passages(store):
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert cli.ok("verify", "many").code == 0
    done = cli.ok("index", folder, "--json").json
    assert done["documents"]["unchanged"] > 0
    assert sum(done["documents"].values()) == 800


def passages(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5) as connection:
            return int(connection.execute("SELECT count(*) FROM passages").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def test_a_base_installation_names_the_command_that_completes_it(
    cli: CommandLine, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find(name))
    ran = cli("index", notes, "-m", "default")
    assert ran.code == 1
    assert "the encoder default needs onnxruntime" in ran.err and install_command("cpu") in ran.err
    assert cli.ok("list", "--json").json["indexes"] == []


@pytest.mark.parametrize(
    ("file", "content", "code", "reason"),
    [
        ("a.csv", "id,question\n1,Why?\n", 2, "there are: id, question"),
        ("a.jsonl", '{"question": "Why?"}\n', 2, "there are: question"),
        ("a.pdf", "%PDF-1.4 nothing", 1, "nothing was indexed: a.pdf: "),
    ],
)
def test_a_file_named_by_itself_that_gives_nothing_is_an_error_and_leaves_no_index(
    cli: CommandLine, tmp_path: Path, file: str, content: str, code: int, reason: str
) -> None:
    (tmp_path / file).write_text(content, encoding="utf-8")
    ran = cli("index", tmp_path / file, "-n", "new", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (code, code)
    assert reason in ran.err
    assert cli.ok("list", "--json").json["indexes"] == []


def test_a_folder_whose_files_are_all_skipped_is_a_warning_and_leaves_no_index(
    cli: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "odd").mkdir()
    for number in range(12):
        (tmp_path / "odd" / f"{number}.pdf").write_bytes(b"%PDF-1.4 nothing")
    ran = cli.ok("index", tmp_path / "odd")
    assert "so no index was created" in ran.err and ran.err.count(".pdf: ") == 12
    assert cli.ok("list", "--json").json["indexes"] == []


def test_an_existing_index_stays_when_a_run_reads_nothing(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    cli.ok("index", notes)
    (tmp_path / "a.csv").write_text("id,question\n1,Why?\n", encoding="utf-8")
    assert cli("index", tmp_path / "a.csv", "-n", "notes").code == 2
    assert cli.ok("info", "notes", "--json").json["documents"] == 2


def test_several_text_fields_are_joined_in_their_order(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_text("id,question,answer\nq1,Why is it cold?,Winter.\n", encoding="utf-8")
    cli.ok("index", tmp_path / "faq.csv", "--text-field", "question", "--text-field", "answer", "--id-field", "id")
    assert cli.ok("get", "q1").out == "Why is it cold?\n\nWinter.\n"
    assert cli.ok("index", "--json").json["documents"]["unchanged"] == 1  # the recipe has both
