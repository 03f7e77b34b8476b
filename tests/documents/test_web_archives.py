"""WARC: pages and PDFs as their loaders read them, whatever way they were sent; what is cut, too long or no WARC."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.filemaking import all_of, docx, odt, paragraph, refusal, warc_record, written

from semsearch import Index
from semsearch.documents import walk
from semsearch.documents.loaders import Enclosed, Fields, warc
from semsearch.documents.textless import Textless
from semsearch.errors import Unreadable
from semsearch.types import Document, Omission, Skipped

PAGE = "<title>Engines</title><h1>Engines</h1><p>A Größe.</p>".encode()
CHUNKS = b"5\r\n" + PAGE[:5] + b"\r\n%x\r\n" % len(PAGE[5:]) + PAGE[5:] + b"\r\n0\r\n\r\n"


def answer(body: bytes = PAGE, status: str = "200 OK", **headers: str) -> bytes:
    given = {
        "Content-Type": "text/html; charset=utf-8",
        **{name.replace("_", "-"): each for name, each in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


@pytest.mark.parametrize("packed", [False, True])
def test_each_page_is_a_document_under_its_address(packed: bool, tmp_path: Path) -> None:
    records = [
        warc_record(b"software: x", kind="warcinfo"),
        warc_record(answer()),
        warc_record(answer(b"", "404 Not Found"), "http://example.org/gone"),
        warc_record(answer(b"\x89PNG", Content_Type="image/png"), "http://example.org/a.png"),
        warc_record(answer(PAGE.replace(b"Engines", b"Boilers"))),
    ]
    data = b"".join(gzip.compress(each) for each in records) if packed else b"".join(records)
    name = "crawl.warc.gz" if packed else "crawl.warc"
    first, again = (item for item in all_of(written(tmp_path, name, data)) if isinstance(item, Document))
    assert (first.id, first.title) == ("#http://example.org/a", "Engines")
    assert first.text == "Engines\n\nA Größe."
    assert first.metadata == {"url": "http://example.org/a", "date": "2024-05-01T10:00:00Z"}
    assert (again.id, again.title) == ("#http://example.org/a#2", "Boilers")
    assert [item.relative for item in walk.files(tmp_path, walk.Rules()) if isinstance(item, walk.FileEntry)] == [name]


def test_the_page_at_the_root_of_a_site_is_read_and_so_are_office_documents(tmp_path: Path) -> None:
    docx(tmp_path / "a.docx", paragraph("A kettle."))
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    office = answer((tmp_path / "a.docx").read_bytes(), Content_Type=kind)
    odt(tmp_path / "a.odp", "<text:p>A boiler.</text:p>")
    talk = answer((tmp_path / "a.odp").read_bytes(), Content_Type="application/vnd.oasis.opendocument.presentation")
    data = warc_record(answer(), "http://example.org/") + warc_record(office, "http://example.org/get?id=7")
    data += warc_record(talk, "http://example.org/talk")
    root, document, slides = (item for item in all_of(written(tmp_path, "a.warc", data)) if isinstance(item, Document))
    assert slides.text == "A boiler."
    assert (root.id, root.text) == ("#http://example.org/", "Engines\n\nA Größe.")
    assert (document.id, document.text) == ("#http://example.org/get?id=7", "A kettle.")


@pytest.mark.parametrize(
    "sent",
    [
        answer(gzip.compress(PAGE), Content_Encoding="gzip"),
        answer(CHUNKS, Transfer_Encoding="chunked"),
    ],
    ids=["compressed", "in chunks"],
)
def test_a_page_is_read_in_whatever_way_it_was_sent(sent: bytes, tmp_path: Path) -> None:
    (found,) = all_of(written(tmp_path, "a.warc", warc_record(sent)))
    assert isinstance(found, Document) and found.text == "Engines\n\nA Größe."


def test_a_broken_answer_costs_no_other_one(tmp_path: Path) -> None:
    bad = [warc_record(b"no answer"), warc_record(answer(b"torn", Content_Encoding="gzip"), "http://example.org/b")]
    data = b"".join([*bad, warc_record(answer(), "http://example.org/c")])
    first, second, good = all_of(written(tmp_path, "a.warc", data))
    assert isinstance(first, Skipped) and first.path == "a.warc#http://example.org/a"
    assert isinstance(second, Skipped) and isinstance(good, Document)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"words", "does not begin with"),
        (warc_record(answer())[:-30], "cut in the middle"),
        (gzip.compress(warc_record(answer()))[:-20], "not a readable WARC"),
        (b"WARC/1.0\r\n\r\n", "without its length"),
    ],
)
def test_what_is_no_web_archive_says_why(data: bytes, reason: str, tmp_path: Path) -> None:
    assert reason in refusal(written(tmp_path, "a.warc", data))


def flipped(member: bytes, place: int) -> bytes:
    return member[:place] + bytes([member[place] ^ 0xFF]) + member[place + 1 :]


DAMAGED = {
    "its text in gzip": (True, lambda member: flipped(member, len(member) // 2), "incorrect data check"),
    "its checksum in gzip": (True, lambda member: flipped(member, -6), "incorrect data check"),
    "its beginning in gzip": (True, lambda member: flipped(member, 2), "unknown compression method"),
    "its length": (False, lambda record: record.replace(b"Content-Length", b"Content"), "without its length"),
    "all of it": (False, lambda _: b"no record\r\nat all\r\n", "does not begin with"),
}


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("packed", "damage", "reason"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_record_costs_itself_alone(
    packed: bool, damage: Callable[[bytes], bytes], reason: str, number: int, tmp_path: Path
) -> None:
    records = [warc_record(answer(), f"http://example.org/{at}") for at in range(4)]
    parts = [gzip.compress(each, mtime=0) for each in records] if packed else records
    parts[number] = damage(parts[number])
    read = all_of(written(tmp_path, "a.warc.gz" if packed else "a.warc", b"".join(parts)))
    [skipped] = [each for each in read if isinstance(each, Skipped)]
    assert skipped.path.endswith(f"#record {number + 1}") and reason in skipped.reason
    pages = [each.id for each in read if isinstance(each, Document)]
    assert pages == [f"#http://example.org/{at}" for at in range(4) if at != number]


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_cut_in_a_record_beyond_the_limit_says_so(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc, "MOST_RECORD", 2**20)
    data = warc_record(answer()) + warc_record(b"x" * 2**21, "http://example.org/large")[:-100]
    with pytest.raises(Unreadable, match="cut in the middle"):
        list(warc.load(written(tmp_path, "a.warc", gzip.compress(data) if packed else data), Fields()))


def test_pages_of_an_archive_are_found(tmp_path: Path) -> None:
    written(tmp_path, "crawl.warc.gz", gzip.compress(warc_record(answer())))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        assert index.sync([tmp_path / "crawl.warc.gz"]).added == 1
        assert index.search("engines", k=1)[0].document == "crawl.warc.gz#http://example.org/a"


def test_a_record_beyond_the_limit_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc, "MOST_RECORD", 2**20)
    large = warc_record(b"x" * 2**21, "http://example.org/large")
    path = written(tmp_path, "a.warc", large + warc_record(answer(), "http://example.org/small"))
    skipped, page = warc.load(path, Fields())
    assert skipped == Skipped("a.warc#http://example.org/large", "a record of 2.0 MB is over the limit of 1 MB")
    assert isinstance(page, Enclosed) and page.id == "#http://example.org/small"


def test_what_a_crawler_stored_as_text_or_without_an_answer_is_read_and_the_rest_counted(tmp_path: Path) -> None:
    def stored(content: bytes, kind: str, mime: str, url: str) -> bytes:
        return warc_record(content, url, kind).replace(
            b"Content-Length", f"Content-Type: {mime}\r\nContent-Length".encode()
        )

    records = [
        stored(b"Boilers heat water.", "conversion", "text/plain", "http://example.org/wet"),
        stored(PAGE, "resource", "text/html; charset=utf-8", "file:///engines.html"),
        stored(b"\x89PNG", "resource", "image/png", "file:///a.png"),
        warc_record(answer(b"", "302 Found"), "http://example.org/moved"),
        warc_record(answer(b"var kettle;", Content_Type="text/javascript"), "http://example.org/a.js"),
        warc_record(answer(b'{"a": 1}', Content_Type="application/json"), "http://example.org/a.json"),
        warc_record(b"GET / HTTP/1.1", kind="request"),
    ]
    wet, page, rest = all_of(written(tmp_path, "a.warc", b"".join(records)))
    assert isinstance(wet, Document) and (wet.id, wet.text) == ("#http://example.org/wet", "Boilers heat water.")
    assert isinstance(page, Document) and page.text == "Engines\n\nA Größe."
    assert isinstance(rest, Textless)
    assert rest.omissions == (
        Omission("picture", 0),
        Omission("redirect", 0),
        Omission("script", 10),
        Omission("record of another type", 7),
        Omission("record of the crawler", len("GET/HTTP/1.1")),
    )
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        for report in (index.sync([tmp_path / "a.warc"]), index.sync([tmp_path / "a.warc"])):
            assert (report.skipped, report.left_out["script"]) == ((), 10)


def test_the_character_set_that_a_server_names_is_that_of_its_page(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=koi8-r\r\n\r\n"
    path = written(tmp_path, "a.warc", warc_record(head + "<p>сова летит</p>".encode("koi8-r")))
    (document,) = (each for each in all_of(path) if isinstance(each, Document))
    assert document.text == "сова летит"
