"""What an answer looks like in each format, and that a document cannot talk to the terminal."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from semsearch.cli.output import console as show
from semsearch.cli.output import hit_formats as hits
from semsearch.search.snippets import Snippet
from semsearch.types import Hit, Query, Results

EVIL = "\x1b[31mred\x1b[0m \x9b31m \u202eevil\u202c \x07 tab\there\nnext"


def hit(rank: int = 1, **changes: Any) -> Hit:
    usual: dict[str, Any] = {
        "rank": rank, "id": 40 + rank, "score": 0.0311, "strength": 0.98, "path": "a/b.md", "document": "a/b.md",
        "start": 120, "end": 310, "line": 7, "page": None, "heading": "Kettles", "text": "Vinegar removes scale.",
        "scores": {"cosine": 0.71, "bm25": 8.2}, "metadata": {"year": 2020}, "more_in_document": 2,
        "match": "likely",
    }  # fmt: skip
    return Hit(**{**usual, **changes})


def answer(*found: Hit, name: str = "1", **asked: Any) -> hits.Answer:
    query = Query(**{"text": "limescale", **asked})
    results = Results(query, found, {"encode": 4.1, "search": 0.9}, ("a warning",), {"mode": query.mode})
    head = {"index": "notes", "encoder": {"name": "default", "fingerprint": "f00"}}
    return hits.Answer(name, results, head, lambda r: [Snippet(0, 7, ((0, 7),)) for _ in r])


def written(capsys: pytest.CaptureFixture[str], shape: hits.Format, *answers: hits.Answer, **how: bool) -> str:
    batch, explain = how.pop("batch", False), how.pop("explain", False)
    hits.write(answers, hits.Layout(shape, **how), batch=batch, explain=explain)
    return capsys.readouterr().out


def test_json_has_exactly_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(written(capsys, "json", answer(hit())))
    assert shown == {
        "schema": 1, "query": "limescale", "index": "notes", "encoder": {"name": "default", "fingerprint": "f00"},
        "mode": "hybrid", "took_ms": {"encode": 4.1, "search": 0.9},
        "hits": [{"rank": 1, "id": 41, "score": 0.0311, "strength": 0.98, "path": "a/b.md", "document": "a/b.md",
                  "start": 120, "end": 310, "line": 7, "page": None, "heading": "Kettles",
                  "text": "Vinegar removes scale.", "scores": {"cosine": 0.71, "bm25": 8.2}, "metadata": {"year": 2020},
                  "more_in_document": 2, "match": "likely"}],
        "good_match": True, "abstain": 0.1, "warnings": ["a warning"],
    }  # fmt: skip


def test_json_names_near_copies_and_explains_only_when_there_is_something(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(written(capsys, "json", answer(hit(near_copies=("c.md",))), explain=True))
    assert shown["hits"][0]["near_copies"] == ["c.md"]
    assert shown["explain"]["plan"] == {"mode": "hybrid"}


def test_no_hits_are_an_empty_list_and_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(written(capsys, "json", answer()))["hits"] == []
    for shape in ("jsonl", "md", "paths", "trec"):
        assert written(capsys, shape, answer()) == ""
    assert len(written(capsys, "csv", answer()).splitlines()) == 1


def test_json_lines_are_a_hit_a_line_and_in_a_batch_a_query_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    one = [json.loads(line) for line in written(capsys, "jsonl", answer(hit(1), hit(2))).splitlines()]
    assert [found["rank"] for found in one] == [1, 2]
    many = written(capsys, "jsonl", answer(hit(), name="q1"), answer(name="q2"), batch=True).splitlines()
    assert [(json.loads(line)["id"], len(json.loads(line)["hits"])) for line in many] == [("q1", 1), ("q2", 0)]
    whole = json.loads(written(capsys, "json", answer(hit(), name="q1"), answer(name="q2"), batch=True))
    assert [query["id"] for query in whole["queries"]] == ["q1", "q2"]
    assert whole["schema"] == 1


@pytest.mark.parametrize(("shape", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_separated_values_come_back_as_they_were(
    capsys: pytest.CaptureFixture[str],
    shape: hits.Format,
    delimiter: str,
) -> None:
    found = hit(text='=1+2, "quoted"', heading="-minus", path="a,b.md")
    text = written(capsys, shape, answer(found), raw=True)
    quoting = csv.QUOTE_NONE if shape == "tsv" else csv.QUOTE_MINIMAL
    [row] = csv.DictReader(io.StringIO(text), delimiter=delimiter, quoting=quoting)
    assert (row["text"], row["heading"], row["path"]) == ('=1+2, "quoted"', "-minus", "a,b.md")
    assert (row["rank"], row["page"], row["line"]) == ("1", "", "7")


@pytest.mark.parametrize(("shape", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_no_cell_is_a_formula_for_a_spreadsheet(
    capsys: pytest.CaptureFixture[str], shape: hits.Format, delimiter: str
) -> None:
    texts = ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1"]
    found = [hit(at, text=text, heading=text, path=text, document=text) for at, text in enumerate(texts, 1)]
    lines = written(capsys, shape, answer(*found, name="=q"), batch=True)
    rows = list(csv.DictReader(io.StringIO(lines), delimiter=delimiter))
    assert len(rows) == len(texts)
    for row in rows:
        assert all(row[name].startswith("'") for name in ("query", "text", "heading", "path", "document"))
        assert row["rank"].isdigit() and float(row["score"])  # numbers stay numbers


def test_paths_open_from_the_current_folder_and_absolute_ones_from_any(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["notes/a.md", "two\nlines.md", os.fsdecode(b"caf\xe9.md")]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("A text.")
    printable = [os.fsencode(tmp_path / name).decode("utf-8", "backslashreplace") for name in names]
    found = answer(*(hit(at, path=name, file=printable[at]) for at, name in enumerate(names)))
    monkeypatch.chdir(tmp_path / "notes")
    hits.write([found], hits.Layout("paths", null=True), batch=False, explain=False)
    shown = capfdbinary.readouterr().out.split(b"\0")
    assert shown[0] == b"a.md" and shown.pop() == b""
    assert all(Path(os.fsdecode(path)).is_file() for path in shown) and len(shown) == 3
    hits.write([found], hits.Layout("paths", absolute=True), batch=False, explain=False)
    folder = os.fsencode(tmp_path)
    lines = [folder + b"/notes/a.md", b'"' + folder + rb"/two\nlines.md" + b'"', folder + b"/caf\xe9.md"]
    assert capfdbinary.readouterr().out.splitlines() == lines


def test_paths_are_each_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, "paths", answer(hit(1), hit(2), hit(3, path="c.md"))) == "a/b.md\nc.md\n"


def test_trec_is_a_run_file_that_its_tools_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    import ir_measures

    found = answer(hit(document="my notes/b.md"), name="q 7")
    text = written(capsys, "trec", found, batch=True)
    assert text == "q%207 Q0 my%20notes/b.md 1 0.031100 semsearch\n"
    [read] = ir_measures.read_trec_run(text)
    assert (read.query_id, read.doc_id, read.score) == ("q%207", "my%20notes/b.md", 0.0311)
    by_passage = written(capsys, "trec", answer(hit(1), hit(2, start=400, end=500), group="passage"))
    assert [line.split()[2] for line in by_passage.splitlines()] == ["a/b.md:120-310", "a/b.md:400-500"]


def test_a_table_names_the_place_the_strength_and_what_else_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    other = hit(2, page=3, line=None, strength=None, match="weak", near_copies=("c.md",))
    text = written(capsys, "table", answer(hit(), other))
    head, first, snippet, second, _ = text.splitlines()
    assert head.split()[:4] == ["#", "match", "strength", "score"] and "ranked by score" in head
    assert first.split()[:6] == ["1", "likely", "0.98", "0.0311", "a/b.md:7", "Kettles"]
    assert "+2 more in this document" in first
    assert snippet.strip() == "Vinegar removes scale."
    assert second.split()[1:3] == ["weak", "-"]
    assert "a/b.md p.3" in second
    assert "c.md" in second


def test_a_number_never_contradicts_its_word(capsys: pytest.CaptureFixture[str]) -> None:
    """0.8999 is weak, so it is not shown as 0.90."""
    weak = answer(hit(strength=0.8999, match="weak"))
    assert "weak        0.89" in written(capsys, "table", weak)
    assert "(weak, strength 0.89)" in written(capsys, "md", weak)
    assert json.loads(written(capsys, "jsonl", weak))["strength"] == 0.8999


def test_a_snippet_is_short_and_holds_the_matching_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Before. " * 200 + "Vinegar removes scale. " + "After. " * 200
    at = text.index("Vinegar")
    found = answer(hit(text=text))
    found = hits.Answer("1", found.results, {}, lambda _: [Snippet(at, at + 22, ())])
    lines = written(capsys, "table", found).splitlines()[2:]
    assert len(lines) <= 5
    assert "Vinegar removes scale." in " ".join(line.strip() for line in lines)
    assert lines[0].strip().startswith("… ")
    assert lines[-1].endswith("…")


def test_wide_letters_count_twice_and_lines_stay_within_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = "水垢は酢で落とせます。" * 40
    lines = written(capsys, "table", answer(hit(text=text, heading=None, more_in_document=0))).splitlines()[1:]
    assert len(lines) > 2
    assert max(show.columns(line) for line in lines) <= 60


@pytest.mark.parametrize("shape", ["table", "csv", "tsv", "md", "paths", "trec", "json", "jsonl"])
def test_a_document_cannot_talk_to_the_terminal(capsys: pytest.CaptureFixture[str], shape: hits.Format) -> None:
    found = answer(hit(text=EVIL, path=EVIL, document=EVIL, heading=EVIL, near_copies=(EVIL,)), text=EVIL, name=EVIL)
    for batch in (False, True):
        shown = written(capsys, shape, found, batch=batch, explain=True)
        assert shown.replace("\n", "").replace("\t", "").isprintable() or shape == "tsv"
        assert not set(shown) & set("\x1b\x9b\u202e\x07")
    if shape in ("json", "jsonl"):
        [first, *_] = json.loads(shown)["queries"][0]["hits"] if shape == "json" else json.loads(shown)["hits"]
        assert first["text"] == EVIL  # nothing is lost on the way


def test_markdown_of_a_document_stays_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = written(capsys, "md", answer(hit(text="<script>x</script> [a](javascript:b) **c**")))
    assert "<script>" not in text.replace("\\<", "")
    assert "\\[a\\](javascript:b) \\*\\*c\\*\\*" in text


def test_a_record_is_named_beside_its_file() -> None:
    assert hits.place(hit(path="a.csv", document="a.csv#12", line=None)) == "a.csv#12"
    assert hits.place(hit(path="a.csv", document="k7", line=None)) == "a.csv [k7]"
    assert hits.place(hit()) == "a/b.md:7"


def test_json_never_holds_what_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="JSON"):
        show.dumps({"score": float("nan")})


def test_numbers_align_and_tables_escape(capsys: pytest.CaptureFixture[str]) -> None:
    show.table([["a\x1b[2J", "5"], ["bb", "1,000"]], ("name", "n"))
    assert capsys.readouterr().out.splitlines() == ["name          n", "a\\x1b[2J      5", "bb        1,000"]


def test_columns_align_beside_wide_letters(capsys: pytest.CaptureFixture[str]) -> None:
    show.table([["寿司.txt", "1"], ["engines.md", "12"]])
    assert len({show.columns(line) for line in capsys.readouterr().out.splitlines()}) == 1
