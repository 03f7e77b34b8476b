"""Looking after indexes through the command line: list info get delete rm compact verify dump restore audit eval."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.analysis import Analysis

TEXTS = {f"{animal}.txt": f"A note about the {animal}, number {at}." for at, animal in enumerate(
    ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx"))}  # fmt: skip


@pytest.fixture
def animals(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """A command line with one index of twelve short notes."""
    folder = tmp_path / "animals"
    (folder / "sub").mkdir(parents=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    cli.ok("-q", "index", folder)
    return cli


def store(name: str = "animals") -> Path:
    return Path(os.environ["SEMSEARCH_HOME"]) / name / "store.db"


def test_list_shows_every_index_and_a_broken_one_too(animals: CommandLine) -> None:
    (store().parents[1] / "broken").mkdir()
    (store().parents[1] / "broken" / "store.db").write_bytes(b"not a database at all" * 100)
    shown = animals.ok("list", "--json").json
    assert shown["home"] == os.environ["SEMSEARCH_HOME"]
    first, second = shown["indexes"]
    assert (first["index"], first["documents"], first["encoders"]) == ("animals", 12, ["hashing"])
    assert (second["index"], "problem" in second) == ("broken", True)
    ran = animals.ok("list")
    assert [line.split()[0] for line in ran.lines] == ["name", "animals", "broken"]
    assert max(map(len, ran.lines)) < 100  # the reason, a long one, does not tear the table apart
    assert ran.err.startswith("warning: broken: ")


def test_list_without_indexes_is_empty_and_valid(cli: CommandLine) -> None:
    assert cli.ok("list", "--json").json["indexes"] == []
    ran = cli.ok("list")
    assert ran.out == ""
    assert "semsearch index" in ran.err


def test_info_holds_counts_recipe_spaces_backend_and_why(animals: CommandLine) -> None:
    shown = animals.ok("info", "animals", "--json").json
    assert (shown["schema"], shown["index"], shown["documents"], shown["passages"]) == (1, "animals", 12, 12)
    assert {"recipe", "spaces", "backend", "why", "last_run", "vectors", "bytes", "path"} <= set(shown)
    assert shown["recipe"]["roots"][0]["path"].endswith("animals")
    assert shown["spaces"][0]["encoder"]["name"] == "hashing"
    assert "background" not in shown["spaces"][0]["encoder"]
    readable = animals.ok("info").out
    for word in (
        "hashing",
        "12",
        "exact search: 12 vectors",
        "last run",
        "sources",
        "sentences, 192 tokens, no overlap",
    ):
        assert word in readable
    assert "ant.txt" in animals.ok("info", "--documents").out
    listed = animals.ok("info", "--documents", "--json").json["list"]
    assert sorted(item["id"] for item in listed) == sorted(TEXTS)


def test_the_name_is_an_argument_or_an_option(animals: CommandLine) -> None:
    whole = animals.ok("info", "animals", "--json").json
    assert animals.ok("info", "-n", "animals", "--json").json == whole
    assert animals.ok("info", "animals", "-n", "animals", "--json").json == whole
    assert animals.ok("info", store().parent, "--json").json == whole


def test_get_prints_a_passage_or_a_document(animals: CommandLine) -> None:
    hit = animals.ok("query", "ibis", "-k", 1, "--json").json["hits"][0]
    assert animals.ok("get", "ibis.txt").out.strip() == TEXTS["ibis.txt"]
    assert animals.ok("get", hit["id"]).out.strip() == TEXTS["ibis.txt"]
    shown = animals.ok("get", hit["id"], "--json").json
    assert (shown["schema"], shown["index"], shown["document"]) == (1, "animals", "ibis.txt")
    assert animals("get", "unicorn.txt").code == 3
    assert animals("get", "999999").code == 3


def test_get_tells_documents_named_by_numbers_from_passages(cli: CommandLine) -> None:
    records = '{"id": "2", "text": "The first."}\n{"id": "1", "text": "The second."}\n'
    cli.ok("index", "-", "-n", "n", "--from", "jsonl", "--id-field", "id", stdin=records)
    assert cli.ok("get", "document:2").out == "The first.\n"
    assert cli.ok("get", "1").out == "The first.\n"  # passage 1
    assert cli.ok("get", "passage:2").out == "The second.\n"


def test_a_terminal_never_gets_a_documents_control_characters(cli: CommandLine) -> None:
    cli.ok("index", "-", "-n", "e", "--from", "jsonl", "--id-field", "id", stdin='{"id": "x", "text": "a\\u001b[2Jb"}')
    assert cli.ok("get", "x", terminal=True).out == "a\\x1b[2Jb\n"
    assert cli.ok("get", "x").out == "a\\x1b[2Jb\n"  # a pipe ends at a terminal, too
    assert cli.ok("get", "x", "--raw").out == "a\x1b[2Jb\n"


def test_delete_by_id_path_and_where(animals: CommandLine) -> None:
    assert animals.ok("delete", "--id", "ant.txt", "--id", "bee.txt", "--json").json["deleted"] == 2
    assert animals.ok("delete", "--path", "[cd]*.txt").out == "animals: 2 documents deleted\n"
    assert animals.ok("delete", "animals", "--where", "path = eel.txt", "--json").json["documents"] == ["eel.txt"]
    assert animals.ok("delete", "--path", "no*", "--json").json["deleted"] == 0
    assert animals.ok("info", "--json").json["documents"] == 7


def test_an_id_that_is_not_there_deletes_nothing(animals: CommandLine) -> None:
    assert animals("delete", "--id", "ant.txt", "--id", "unicorn.txt").code == 3
    assert animals.ok("info", "--json").json["documents"] == 12
    assert animals("delete", "--where", "year >").code == 2
    assert animals("delete", "--id", "ant.txt", "--path", "*").code == 2


def test_many_documents_go_only_when_somebody_says_so(animals: CommandLine) -> None:
    assert animals("delete", "--path", "**").code == 2  # twelve, and nobody is there to ask
    assert animals("delete", "--path", "**", terminal=True, stdin="n\n").code == 1
    assert len(animals.ok("delete", "--path", "**", "--dry-run").lines) == 12
    assert animals.ok("delete", "--path", "**", "--dry-run", "--json").json["dry_run"] is True
    assert animals.ok("info", "--json").json["documents"] == 12
    animals.ok("delete", "--path", "**", "-y")
    assert animals.ok("info", "--json").json["documents"] == 0
    assert animals.ok("query", "ant", "--json").json["hits"] == []


def test_rm_asks_first_and_leaves_what_is_not_its_own(animals: CommandLine) -> None:
    assert animals("rm", "animals").code == 2
    assert animals("rm", "animals", terminal=True, stdin="n\n").code == 1
    assert store().exists()
    (store().parent / "diary.txt").write_text("mine", encoding="utf-8")
    ran = animals.ok("rm", "animals", "-y")
    assert ran.out == "animals: removed\n"
    assert "diary.txt" in ran.err
    assert sorted(file.name for file in store().parent.iterdir()) == ["diary.txt"]
    assert animals("rm", "animals", "-y").code == 3


def test_rm_needs_no_name_where_only_one_index_exists_but_asks_for_it_by_name(animals: CommandLine) -> None:
    assert "index animals" in animals("rm").err
    assert store().exists()
    assert animals.ok("rm", "-y").out == "animals: removed\n"


def test_rm_takes_the_whole_folder_of_an_index(animals: CommandLine) -> None:
    animals.ok("compact")
    assert animals.ok("rm", "-n", "animals", "--yes", "--json").json == {
        "schema": 1,
        "index": "animals",
        "removed": True,
    }
    assert not store().parent.exists()


def test_compact_gives_back_space_and_answers_as_before(animals: CommandLine) -> None:
    before = animals.ok("query", "lynx", "-k", 1, "--json").json["hits"][0]["path"]
    many = "\n".join(f"Sentence {at} of a long note about nothing at all." for at in range(5000))
    animals.ok("index", "-", "-n", "animals", stdin=many)
    [long] = [
        item["id"] for item in animals.ok("info", "--documents", "--json").json["list"] if item["id"] not in TEXTS
    ]
    animals.ok("delete", "--id", long)
    shown = animals.ok("compact", "--json").json
    assert shown["bytes"] < shown["bytes_before"] / 2
    assert animals.ok("query", "lynx", "-k", 1, "--json").json["hits"][0]["path"] == before
    assert animals.ok("compact", "animals").out.startswith("animals: ")


def test_verify_is_quiet_about_a_good_index_and_fails_on_a_bad_one(animals: CommandLine) -> None:
    assert animals.ok("verify").out == "animals: no problems found\n"
    assert animals.ok("verify", "--json").json == {"schema": 1, "index": "animals", "ok": True, "problems": []}
    with sqlite3.connect(store()) as database:
        database.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE passage = 3")
    database.close()
    ran = animals("verify", "--json")
    assert ran.code == ran.json["error"]["code"] == 5
    assert ran.json["problems"]
    assert not ran.json["ok"]
    readable = animals("verify", "animals")
    assert readable.code == 5
    assert readable.lines


@pytest.mark.parametrize("damage", ["no database", "a torn page"])
def test_verify_lists_what_keeps_an_index_from_being_opened_too(animals: CommandLine, damage: str) -> None:
    animals.ok("compact")
    content = store().read_bytes()
    torn = b"not a database at all" * 400 if damage == "no database" else content[:4096] + bytes(len(content) - 4096)
    store().write_bytes(torn)
    ran = animals("verify", "animals", "--json")
    assert ran.code == ran.json["error"]["code"] == 5
    assert (ran.json["ok"], ran.json["index"]) == (False, "animals")
    [problem] = ran.json["problems"]
    assert "Verify the index" not in ran.err + problem  # that is what was just run
    assert animals("query", "ant").code == 1


def test_a_lost_log_is_reported_by_every_command_and_writing_waits_for_the_owner(animals: CommandLine) -> None:
    before = {file.name: file.read_bytes() for file in store().parent.glob("store.db*")}
    animals.ok("delete", "animals", "--id", "ant.txt", "-y")
    for name, content in before.items():
        if name != "store.db-commits":  # as if the log of the deletion were gone
            (store().parent / name).write_bytes(content)
    assert "has lost its last 1 change: " in animals.ok("get", "ant.txt").err
    refused = animals("compact", "animals")
    assert refused.code == 1
    assert "semsearch verify NAME --accept-loss" in refused.err
    assert animals("verify", "animals").code == 5
    accepted = animals.ok("verify", "animals", "--accept-loss")
    assert accepted.err.rstrip().endswith("Accepted.")
    assert animals.ok("verify", "animals", "--accept-loss").err == "animals: no acknowledged change is missing.\n"
    assert animals.ok("compact", "animals").err == ""


def test_compact_tells_the_size_that_is_left_when_it_is_done(animals: CommandLine) -> None:
    shown = animals.ok("compact", "--json").json
    assert shown["bytes"] == sum(file.stat().st_size for file in store().parent.iterdir())


def test_dump_and_restore_are_a_round_trip(animals: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "animals.dump"
    made = animals.ok("dump", "animals", "-o", file, "--json").json
    assert (made["file"], made["bytes"]) == (str(file), file.stat().st_size)
    assert animals("dump", "animals", "-o", file).code == 2  # it exists, and nobody is there to ask
    animals.ok("dump", "animals", "-o", file, "-y")
    assert animals("dump", "animals").code == 2
    made = animals.ok("restore", file, "-n", "copy", "--json").json
    assert (made["index"], made["documents"]) == ("copy", 12)
    assert animals("restore", file).code == 2  # an index called animals exists
    for query in ("gnu", "a note about the jay"):
        answers = [animals.ok("query", query, "-n", name, "--format", "paths").out for name in ("animals", "copy")]
        assert answers[0] == answers[1]
    assert animals.ok("verify", "copy").code == 0
    file.write_bytes(file.read_bytes()[:-50])
    assert animals("restore", file, "-n", "third").code == 1
    assert [one["index"] for one in animals.ok("list", "--json").json["indexes"]] == ["animals", "copy"]


def test_audit_says_what_is_exact_and_what_is_stale(animals: CommandLine) -> None:
    shown = animals.ok("audit", "--sample", 5, "-k", 3, "--json").json
    assert (shown["schema"], shown["index"], shown["exact"], shown["recall"]) == (1, "animals", True, None)
    assert shown["drift"]["changed"] == 0 and shown["files"] == {"current": 12}
    text = animals.ok("audit", "animals").out
    assert "exact search" in text and "0 passages with the text of another" in text
    assert animals.ok("audit", "--fail-under", 1).code == 0


def test_audit_fails_under_a_recall_that_is_not_reached(animals: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {**animals.ok("audit", "--json").json, "exact": False, "recall": 0.9, "recall_filtered": 0.7}
    found["plan"] = {"backend": "ivf", "why": "many vectors"}
    monkeypatch.setattr(Analysis, "audit", lambda *_, **__: found)
    assert "0.9000" in animals.ok("audit", "--fail-under", 0.7).out
    failed = animals("audit", "--fail-under", 0.8)
    assert failed.code == 5 and "recall 0.700 is below 0.8." in failed.err


def test_bench_races_engines_and_vector_indexes(animals: CommandLine) -> None:
    shown = animals.ok("bench", "animals", "--sample", 4, "-k", 2, "--keep", "--json").json
    assert shown["encoder"]["fastest"] == "numpy fp32"
    assert shown["vectors"]["kept"] and shown["vectors"]["vectors"] == 12
    table = animals.ok("bench", "--sample", 4, "--recall", 0.5)
    assert "engines of hashing" in table.out and "recall@10" in table.out
    alone = animals.ok("bench", "-m", "hashing", "--sample", 4, "--json").json
    assert alone["vectors"] is None and alone["encoder"]["model"] == "hashing"
    assert animals("bench", "animals", "-m", "hashing").code == 2


def test_eval_measures_an_index_on_judgements(animals: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("q1\tabout the fox\nq2\tabout the hen\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("q1 0 fox.txt 1\nq2 0 hen.txt 1\n", encoding="utf-8")
    asked = ["eval", "--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "qrels"]
    shown = animals.ok(*asked, "--json").json
    assert set(shown["modes"]) == {"hybrid", "semantic", "keyword"}
    assert shown["modes"]["hybrid"]["nDCG@10"] == 1.0
    assert list(animals.ok(*asked, "--mode", "keyword", "-n", "animals", "--json").json["modes"]) == ["keyword"]
    table = animals.ok(*asked, "-k", 5).lines
    assert table[0].split() == ["mode", "nDCG@10", "recall@5", "MRR@10", "MAP@5"]
    (tmp_path / "qrels").write_text("q3 0 fox.txt 1\n", encoding="utf-8")
    assert animals(*asked).code == 2
    assert animals("eval", "--queries", tmp_path / "q.tsv").code == 2


def test_info_gives_the_reason_for_the_backend_from_present_numbers(animals: CommandLine, tmp_path: Path) -> None:
    animals.ok("index", "-", "-n", "animals", "--backend-type", "flat", stdin="A thirteenth animal.")
    assert "exact search: 13 vectors; flat was requested" in animals.ok("info").out
    animals.ok("index", "-n", "animals", "--backend-type", "auto")
    assert "exact search: 13 vectors; fast enough up to 50,000" in animals.ok("info").out
    animals.ok("delete", "--id", "ant.txt")
    assert animals.ok("info", "--json").json["why"] == "12 vectors; fast enough up to 50,000"


def test_a_dry_run_of_delete_tells_how_many_also_of_none(animals: CommandLine) -> None:
    ran = animals.ok("delete", "--path", "zzz*", "--dry-run")
    assert (ran.out, ran.err) == ("", "0 documents would be deleted\n")


def test_an_index_is_not_renamed_to_its_own_name(animals: CommandLine) -> None:
    ran = animals("rename", "animals", "animals")
    assert ran.code == 2
    assert "has this name already" in ran.err


def test_an_unknown_id_leads_to_the_list_of_documents(animals: CommandLine) -> None:
    assert "List them: semsearch info animals --documents" in animals("get", "unicorn.txt").err


def test_a_question_that_cannot_be_asked_names_the_flag(animals: CommandLine) -> None:
    wanted = "error: removing index animals needs confirmation, and this is not a terminal: pass -y.\n"
    assert animals("rm", "animals").err == wanted
