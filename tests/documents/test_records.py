"""Records of JSON lines, tables, databases and standard input: each is a document, a broken one is skipped."""

from __future__ import annotations

import io
import json
import sqlite3
import time
import tracemalloc
from pathlib import Path

import pytest
from helpers.filemaking import all_of, refusal, sqlite, written

from semsearch import Index
from semsearch.documents import loaders
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Omission, Skipped

# ---- records


def test_jsonl_records_have_ids_titles_and_metadata(tmp_path: Path) -> None:
    records = [
        {"_id": "d1", "title": "On engines", "text": "They turn.", "metadata": {"a": 1}},
        {"id": 7, "content": "Second", "year": 2020},
        {"body": "Third", "tags": ["x"], "none": None},
    ]
    found = all_of(written(tmp_path, "a.jsonl", "\n\n".join(map(json.dumps, records))))
    assert found == [
        Document("d1", "On engines\n\nThey turn.", {"metadata": {"a": 1}}, "On engines"),
        Document("7", "Second", {"year": 2020}),
        Document("#5", "Third", {"tags": ["x"]}),
    ]


def test_fields_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"t": "words", "key": "k", "a": 1, "b": 2, "text": "other"}')
    assert all_of(path, text="t", id="key", meta=("b",)) == [Document("k", "words", {"b": 2})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "x"', "not JSON: Expecting ',' delimiter at column 13"),
        ("[1]", "not a JSON object"),
        ('{"other": 1}', "no field called text, content, body, abstract; there are: other"),
        ('{"text": {"a": 1}}', "field 'text' is not text: {'a': 1}"),
        (b'{"text": "\xff"}', "invalid UTF-8 at byte 11"),
        ("[" * 99_000, "nested more than 100 deep"),
        ('{"text": "x", "m": ' + "[" * 101 + "]" * 101 + "}", "nested more than 100 deep"),
        ('{"text": "x", "m": [' + "0," * 100_000 + "0]}", "more than 100,000 values"),
        ('{"id": {}, "text": "x"}', "no id in field 'id'"),
        ('{"text": "' + "x" * 200 + '"}', "a line of 0.0 MB is over the limit"),
    ],
)
def test_a_broken_line_is_skipped_with_its_number_and_the_rest_is_read(
    tmp_path: Path, line: str | bytes, reason: str
) -> None:
    line = line.encode() if isinstance(line, str) else line
    limit = 100 if b"xxx" in line else 2**20
    path = written(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"text": "first"}\n' + line + b'\n{"text": "last"}')
    first, broken, last = all_of(path, max_bytes=limit)
    assert (first, last) == (Document("#1", "first"), Document("#3", "last"))
    assert isinstance(broken, Skipped) and broken.path == "a.jsonl:2" and reason in broken.reason


def test_json_values_that_cannot_be_stored_are_replaced(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.jsonl",
        r'{"text": "a\u0000b\ud800c", "x": NaN, "y": 1e999, "z": ["\udfff"], "n": {"k": -Infinity}}',
    )
    (document,) = all_of(path)
    assert document == Document("#1", "a\ufffdb\ufffdc", {"y": None, "z": ["\ufffd"], "n": {"k": None}})


def test_a_line_of_100_mb_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text": "')
        for _ in range(100):
            file.write(b"x" * 2**20)
        file.write(b'"}\n{"text": "last"}\n')
    tracemalloc.start()
    broken, last = all_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(broken, Skipped) and broken.reason.startswith("a line of 100.0 MB is over the limit of 10 MB")
    assert last == Document("#2", "last")
    assert peak < 30 * 2**20


def test_each_of_several_objects_on_a_line_is_a_document(tmp_path: Path) -> None:
    lines = '{"text": "a"}{"text": "b", "id": "own"} {"text": 1}, {"text": ""}\n'
    lines += '{"text": "c"},\n{"text": "d"} e\n{"text": "f"}'
    items = all_of(written(tmp_path, "a.jsonl", lines))
    texts = {each.id: each.text for each in items if isinstance(each, Document)}
    assert texts == {"#1": "a", "own": "b", "#1.3": "1", "#2": "c", "#4": "f"}
    reasons = [(each.path, each.reason) for each in items if isinstance(each, Skipped)]
    assert reasons == [("a.jsonl#1.4", "no text found in it"), ("a.jsonl:3", "not JSON: Extra data at column 14")]


def test_a_json_array_is_not_json_lines(tmp_path: Path) -> None:
    assert "JSON objects of several lines" in refusal(written(tmp_path, "b.jsonl", '{\n  "text": "x"\n}\n'))
    assert "JSON array" in refusal(written(tmp_path, "a.jsonl", '[\n{"text": "x"}\n]'))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("above", ["Report of May\n", "Report;;\n\nBy;Anna\n", "# made by, x, y and z\n"])
def test_lines_of_text_above_a_table_are_named(above: str, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", f"{above}id;text;year\n7;They turn.;1999\n8;They stop.;2000\n".encode(encoding))
    first, second = all_of(path)
    letters = len("".join(above.split()))
    assert first == Document("7", "They turn.", {"year": 1999}, omissions=(Omission("text above the table", letters),))
    assert second == Document("8", "They stop.", {"year": 2000})


def test_a_cell_called_text_is_no_header(tmp_path: Path) -> None:
    assert "there are: id, kind" in refusal(written(tmp_path, "a.csv", "id,kind\n1,text\n2,body\n"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_finds_its_delimiter_and_types_plain_numbers(tmp_path: Path, delimiter: str) -> None:
    lines = ["\ufeffid,text,year,price,zip,note", 'x,"two\nlines, ""quoted""",2020,3.5,007,', "y,second,0,,1e5,n"]
    path = written(tmp_path, "a.csv", "\r\n".join(lines).replace(",", delimiter))
    assert all_of(path) == [
        Document("x", f'two\nlines{delimiter} "quoted"', {"year": 2020, "price": 3.5, "zip": "007"}),
        Document("y", "second", {"year": 0, "zip": "1e5", "note": "n"}),
    ]


def test_of_a_row_with_too_many_cells_none_is_lost(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "text,year\na,1\nb,2,3\nc\n")
    assert all_of(path) == [
        Document("#2", "a", {"year": 1}),
        Document("#3", "b", {"year": 2, "column_3": "3"}),
        Document("#4", "c"),
    ]


def test_a_named_column_that_is_not_there_is_a_usage_error_with_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "name,year\na,1\n")
    with pytest.raises(UsageError, match=r"no column 'body'. Its columns are: name, year."):
        all_of(path, text="body")
    assert refusal(path).startswith("no field called text, content, body, abstract; there are: name, year")


def test_a_cell_longer_than_python_allows_by_default_is_read(tmp_path: Path) -> None:
    (document,) = all_of(written(tmp_path, "a.csv", "text\n" + "x" * 200_000 + "\n"))
    assert isinstance(document, Document) and len(document.text) == 200_000


def test_sqlite_gives_the_rows_of_a_query(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    sqlite(path, [(1, "T", "words", 2020), (None, None, b"bytes", None)])
    query = "SELECT id, title, text, year, x'ff00' AS raw FROM notes"
    assert all_of(path, sql=query) == [Document("1", "T\n\nwords", {"year": 2020}, "T"), Document("#2", "bytes")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE FROM notes", "only read"),
        ("UPDATE notes SET year = 1", "only read"),
        ("ATTACH 'other.db' AS other", "only read"),
        ("PRAGMA journal_mode=DELETE", "only read"),
        ("SELECT 1; DROP TABLE notes", "one statement"),
        ("SELECT colour FROM notes", "no such column: colour"),
        ("SELECT year FROM notes", "there are: year"),
        ("SELEC", "syntax error"),
    ],
)
def test_a_query_that_is_not_one_select_is_a_usage_error(tmp_path: Path, query: str, message: str) -> None:
    path = tmp_path / "a.db"
    sqlite(path, [(1, "T", "words", 2020)])
    with pytest.raises(UsageError, match=message):
        all_of(path, sql=query)
    assert sqlite3.connect(path).execute("SELECT year FROM notes").fetchall() == [(2020,)]


def test_a_database_without_a_query_says_how_to_read_it(tmp_path: Path) -> None:
    sqlite(tmp_path / "a.db", [])
    assert "choose what to read with a query" in refusal(tmp_path / "a.db")
    assert refusal(written(tmp_path, "b.db", "words")) == "not an SQLite database"


def test_a_name_in_a_database_that_is_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    sqlite(path, [(1, "T", "words", 2020)])
    path.write_bytes(path.read_bytes().replace(b"tablenotesnotes", b"tablenot\xffsnotes"))
    with pytest.raises(Unreadable, match="the database is damaged: invalid start byte in a name"):
        all_of(path, sql="SELECT * FROM notes")


# ---- standard input


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (b"Plain words.", "auto", Document("", "Plain words.", lines=True)),
        (b'{"id": "a", "text": "words"}\n', "auto", Document("a", "words")),
        (b"text\twhy\nwords\tx\n", "tsv", Document("#2", "words", {"why": "x"})),
        (b"<html><p>words", "auto", Document("", "words")),
    ],
)
def test_standard_input_is_known_by_its_content_or_kind(content: bytes, kind: str, expected: Document) -> None:
    assert list(loaders.load_stream(io.BytesIO(content), kind)) == [expected]


def test_a_broken_record_of_standard_input_is_reported_by_its_line() -> None:
    found = list(loaders.load_stream(io.BytesIO(b'{"text": "a"}\n{\n'), "jsonl"))
    assert isinstance(found[1], Skipped) and found[1].path == "-:2"


def test_a_text_with_many_commas_is_no_structure(tmp_path: Path) -> None:
    text = 'a, b [c] "d" ' * 50_000
    (found,) = all_of(written(tmp_path, "a.jsonl", json.dumps({"text": text})))
    assert isinstance(found, Document) and found.text == text


def test_a_line_of_a_table_beyond_the_limit_is_skipped_and_the_rows_keep_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "text\nfirst\n" + "long " * 2**18 + "\nlast\n")
    assert all_of(path, max_bytes=2**20) == [
        Document("#2", "first"),
        Skipped("a.csv:3", "not CSV: a line is over the limit of 1 MB for files"),
        Document("#4", "last"),
    ]


def test_a_table_with_a_hundred_thousand_columns_is_read_in_linear_time(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "text," + ",".join(map(str, range(100_000))) + ",text\n" + "words,1\n" * 3)
    begin = time.process_time()
    found = all_of(path)
    assert time.process_time() - begin < 10  # 0.2 s; comparing each name with all others took minutes
    assert found == [Document(f"#{line}", "words", {"0": 1}) for line in (2, 3, 4)]


def test_a_deeply_nested_record_of_standard_input_is_skipped(tmp_path: Path) -> None:
    stream = io.BytesIO(b'{"text": ' + b'{"a": ' * 1100 + b"1" + b"}" * 1101 + b"\n")
    (skipped,) = loaders.load_stream(stream)
    assert skipped == Skipped("-:1", "nested more than 100 deep")


# ---- tables as programs write them


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_may_name_the_delimiter(line: str, encoding: str, tmp_path: Path) -> None:
    rows = f"{line}\r\nid;text\r\n1;A row, about a cuckoo\r\n2;Row about a swift\r\n"
    assert all_of(written(tmp_path, "a.csv", rows.encode(encoding))) == [
        Document("1", "A row, about a cuckoo"),
        Document("2", "Row about a swift"),
    ]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        (["1|plain", '2|"an open quote', "3|third", "4|fourth"], ["plain", '"an open quote', "third", "fourth"]),
        (['1|"an open quote', "2|second", '3|"closed"', "4|x"], ['"an open quote', "second", "closed", "x"]),
        (['1|"an open', '2|"another open', "3|x"], ['"an open', '"another open', "x"]),
        (['1|"an open', "2|second", '3|third"', "4|x"], ['"an open', "second", 'third"', "x"]),
        (['1|a 5" pipe', "2|x"], ['a 5" pipe', "x"]),
        (['1|"two', 'lines, ""quoted"""', "2|x"], ['two\nlines, "quoted"', "x"]),
        (['1|"milk', "2, eggs", '3 spoons"', "2|x"], ["milk\n2, eggs\n3 spoons", "x"]),
    ],
)
def test_a_stray_quotation_mark_joins_no_rows(
    rows: list[str], texts: list[str], delimiter: str, tmp_path: Path
) -> None:
    content = "\n".join(row.replace("|", delimiter) for row in ["id|text", *rows]) + "\n"
    name = "a.tsv" if delimiter == "\t" else "a.csv"
    assert [item.text for item in all_of(written(tmp_path, name, content)) if isinstance(item, Document)] == texts


def test_a_stray_quotation_mark_costs_no_more_than_its_row_in_a_large_table(tmp_path: Path) -> None:
    rows = [f'{number},"open {number}' if number % 3 else f"{number},plain {number}" for number in range(20_000)]
    began = time.process_time()
    read = all_of(written(tmp_path, "a.csv", "id,text\n" + "\n".join(rows)), max_bytes=2**20)
    assert len(read) == 20_000 and time.process_time() - began < 20


@pytest.mark.parametrize("header", ["ID,Text,Title", "Id,TEXT,title", "_ID,Content,TITLE"])
def test_the_case_of_a_usual_name_does_not_matter(header: str, tmp_path: Path) -> None:
    found = all_of(written(tmp_path, "a.csv", f"{header}\n7,Row about a crow,Crow title\n"))
    assert found == [Document("7", "Crow title\n\nRow about a crow", {}, "Crow title")]
    names = header.split(",")
    record = dict(zip(names, ["7", "Row about a crow", "Crow title"], strict=True))
    assert all_of(written(tmp_path, "a.jsonl", json.dumps(record))) == found


def test_the_exact_name_goes_before_one_in_capitals(tmp_path: Path) -> None:
    assert all_of(written(tmp_path, "a.csv", "Text,text\nnote,words\n")) == [Document("#2", "words", {"Text": "note"})]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('id;text;"notes, remarks, and other things"\n1;A shrike;x\n', "A shrike"),
        ("text;note, more\na, b, c;1\nd;2\n", "a, b, c"),
        ("id|text\n1|a, b; c\n2|d, e; f\n", "a, b; c"),
        ("text\none, two; three\n", "one, two; three"),
        ('"text, long";text\n"x, y";words\n', "words"),
    ],
)
def test_the_delimiter_is_the_one_that_gives_the_rows_their_columns(content: str, text: str, tmp_path: Path) -> None:
    first = all_of(written(tmp_path, "a.csv", content))[0]
    assert isinstance(first, Document) and text in (first.text, first.text.partition(",")[0])


def test_a_column_is_of_one_type_that_can_be_written_back(tmp_path: Path) -> None:
    rows = ["text,active,ver,zip,year,price,mixed,gap", "a,true,1.10,01234,2020,3.5,1,", "b,FALSE,1.9,98765,-7,4,x,2"]
    first, second = all_of(written(tmp_path, "a.csv", "\n".join(rows)))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.metadata == {"active": True, "ver": "1.10", "zip": "01234", "year": 2020, "price": 3.5, "mixed": "1"}
    assert second.metadata == {
        "active": False, "ver": "1.9", "zip": "98765", "year": -7, "price": 4, "mixed": "x", "gap": 2,
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_json_lines_of_two_bytes_a_letter_are_read(encoding: str, tmp_path: Path) -> None:
    lines = '{"id": "u", "text": "Größe"}\nbroken\n{"id": "v", "text": "日本"}'
    first, broken, last = all_of(written(tmp_path, "a.jsonl", lines.encode(encoding)))
    assert (first, last) == (Document("u", "Größe"), Document("v", "日本"))
    assert isinstance(broken, Skipped) and broken.path == "a.jsonl:2"


def test_a_prefix_begins_the_ids_that_records_have(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"id": "1", "text": "one"}\n{"text": "two"}\n')
    assert all_of(path, id_prefix="shop/") == [Document("shop/1", "one"), Document("#2", "two")]


# ---- rows of several files


def tables(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        written(folder, f"{name}.csv", f"id,text\n{rows}\n")
    return folder


def stored(index: Index) -> dict[str, str]:
    return {document: index.get(document)["text"] for document in sorted(each["id"] for each in index.documents())}


def test_rows_of_different_files_never_collide(tmp_path: Path) -> None:
    shop = tables(tmp_path / "shop", faq="1,Where is my parcel?\n2,How?", products="1,Copper kettle\n3,Glass mug")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        report = index.sync([shop])
        assert (report.added, report.skipped) == (4, ())
        rows = {"1": "Where is my parcel?", "2": "How?", "3": "Glass mug", "products.csv#1": "Copper kettle"}
        assert stored(index) == rows
        (hit, *_) = index.search("kettle", k=1)
        assert (hit.document, hit.path) == ("products.csv#1", "products.csv")


def test_a_row_keeps_its_id_whatever_other_files_do(tmp_path: Path) -> None:
    shop = tables(tmp_path / "shop", faq="1,Where is my parcel?", products="1,Copper kettle\n2,Mug")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([shop])
        tables(shop, before="1,A file that sorts before\n2,And its second row", products="1,Copper pot\n2,Mug\n3,Tray")
        report = index.sync()
        assert (report.added, report.changed, report.deleted, report.skipped) == (3, 1, 0, ())
        assert stored(index) == {
            "1": "Where is my parcel?",
            "2": "Mug",
            "3": "Tray",
            "before.csv#1": "A file that sorts before",
            "before.csv#2": "And its second row",
            "products.csv#1": "Copper pot",
        }
        (shop / "faq.csv").unlink()
        tables(shop, products="1,Copper pot\n2,Cup\n3,Tray")
        report = index.sync()
        assert (report.added, report.changed, report.deleted, report.skipped) == (0, 1, 1, ())
        assert stored(index)["products.csv#1"] == "Copper pot" and "1" not in stored(index)
        (shop / "products.csv").rename(shop / "stock.csv")
        report = index.sync()
        assert (report.moved, report.embedded) == (3, 0) and stored(index)["stock.csv#1"] == "Copper pot"


def test_a_second_row_with_an_id_of_its_own_file_is_named(tmp_path: Path) -> None:
    shop = tables(tmp_path / "shop", faq="1,Where is my parcel?", products="1,Copper kettle\n1,Copper pot")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        report = index.sync([shop])
        assert report.added == 2 and len(report.skipped) == 1
        assert "'products.csv#1' was already used in products.csv" in report.skipped[0].reason


def test_types_that_change_with_appended_rows_change_in_all_rows(tmp_path: Path) -> None:
    (folder := tmp_path / "t").mkdir()
    path = folder / "a.csv"
    path.write_text("text,zip\n" + "".join(f"row {number} {'x' * 80},{number + 1}\n" for number in range(1500)))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([folder])
        with path.open("a") as file:
            file.write("last,5001\n")
        assert index.sync().added == 1 and index.count(where="zip = 5001") == 1
        with path.open("a") as file:
            file.write("more,01234\n")
        report = index.sync()
        assert (report.added, report.changed) == (1, 1501) and report.embedded <= 1
        assert index.count(where="zip = '5001'") == 1


@pytest.mark.parametrize(
    ("rows", "texts"),
    [
        ([r'1,"She said \"now, please\", twice"', r'2,"a \\ b"'], ['She said "now, please", twice', r"a \ b"]),
        ([r'1,"a \"quoted\" word"', "2,plain"], ['a "quoted" word', "plain"]),
        ([r'1,"C:\kettles\"', r'2,"D:\"'], ["C:\\kettles\\", "D:\\"]),
        (['1, "milk, eggs"', '2, "salt"'], ["milk, eggs", "salt"]),
        (['1, "milk"', '2, "salt"'], ["milk", "salt"]),
        (['1,"he said, ""no"""', '2,"x, ""y"" z"'], ['he said, "no"', 'x, "y" z']),
        (["1,milk,,", "2,salt,", ",,,", ","], ["milk", "salt"]),
    ],
    ids=["backslashes", "no delimiter", "Windows", "blanks", "blanks alone", "doubled", "trailing delimiters"],
)
def test_tables_are_read_as_programs_quote_them(rows: list[str], texts: list[str], tmp_path: Path) -> None:
    assert [item.text for item in all_of(written(tmp_path, "a.csv", "\n".join(["id,text", *rows])))] == texts  # type: ignore[union-attr]


def test_a_json_sequence_is_read_record_by_record_also_over_several_lines(tmp_path: Path) -> None:
    records = [{"id": "a", "text": "They turn."}, {"id": "b", "text": "They stop."}, {"id": "c", "text": "They rust."}]
    content = "".join(f"\x1e{json.dumps(each, indent=2 if number else None)}\n" for number, each in enumerate(records))
    for name in ("a.jsonl", "a.json-seq"):
        assert [(each.id, each.text) for each in all_of(written(tmp_path, name, content))] == [  # type: ignore[union-attr]
            (each["id"], each["text"]) for each in records
        ]
    broken = content.replace('"They stop."', '"They stop.')
    stopped = all_of(written(tmp_path, "b.jsonl", broken))[1]
    assert isinstance(stopped, Skipped) and stopped.path == "b.jsonl:2"
    assert [each.id for each in loaders.load_stream(io.BytesIO(content.encode()))] == ["a", "b", "c"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("record", "text", "lost"),
    [
        ('{"text": "first words", "text": "last"}', "last", len("firstwords")),
        ('{"text": "last", "of": {"a": "first", "a": "b"}}', "last", len("first")),
        ('{"text": "a \\"b\\": c", "of": {"a": "\\"d\\" :"}}', 'a "b": c', None),
        ('{"text": "twice", "text" : "twice"}', "twice", None),
    ],
)
def test_the_value_of_a_key_that_comes_again_is_named(record: str, text: str, lost: int | None, tmp_path: Path) -> None:
    (document,) = all_of(written(tmp_path, "a.jsonl", record))
    assert isinstance(document, Document) and document.text == text
    assert document.omissions == (() if lost is None else (Omission("doubled key", lost),))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("before", ["\n \n", "sep=;\n\n"])
def test_blank_lines_may_stand_before_the_header(before: str, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", f"{before}id;text\n1;They turn.\n2;They stop.\n".encode(encoding))
    assert [(each.id, each.text) for each in all_of(path)] == [  # type: ignore[union-attr]
        ("1", "They turn."),
        ("2", "They stop."),
    ]


def test_cells_beyond_a_text_in_the_last_column_belong_to_it(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "year,text\n1,a\n2,tea, hot, please\n")
    assert [each.text for each in all_of(path) if isinstance(each, Document)] == ["a", "tea, hot, please"]


@pytest.mark.parametrize(("record", "text"), [('{"id": 7, "title": "Tea"}', "Tea"), ('{"title": "Tea", "x": "y"}', "")])
def test_a_record_of_nothing_but_a_title_is_its_text(record: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", record + "\n")
    assert "".join(each.text.strip() for each in all_of(path) if isinstance(each, Document)) == text
