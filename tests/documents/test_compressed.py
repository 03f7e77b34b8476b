"""Compressed texts are what is in them, and pages of the manual are their text."""

from __future__ import annotations

import bz2
import gzip
import lzma
from functools import partial
from pathlib import Path

import pytest
from helpers.filemaking import headings, one, refusal, written

from semsearch import Index
from semsearch.documents import loaders, walk
from semsearch.types import Skipped

PACKED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": partial(lzma.compress, format=lzma.FORMAT_ALONE),
}


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_text_is_read_as_the_file_within(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    written(folder, f"a.md{suffix}", PACKED[suffix](b"# Kettles\n\nThe kettle boils.\n"))
    rows = b"id,text,year\nx,A copper kettle,2020\ny,,2021\n"
    written(folder, f"b.csv{suffix}", PACKED[suffix](rows))
    written(folder, f"c.log.1{suffix}", PACKED[suffix](b"The pump failed.\n"))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        report = index.sync([folder])
        assert {each["id"] for each in index.documents()} == {f"a.md{suffix}", "x", f"c.log.1{suffix}"}
        assert [each.path for each in report.skipped] == [f"b.csv{suffix}"]
        (hit, *_) = index.search("kettle boils", k=1)
        assert (hit.heading, hit.line) == ("Kettles", 1)
        assert index.get("x")["metadata"] == {"year": 2020}


@pytest.mark.parametrize(
    "name", ["README.gz", "README.invoke-rc.d.gz", "changelog.Debian.amd64.gz", "ChangeLog-2013.gz", "NEWS.xz"]
)
def test_a_compressed_text_may_be_known_by_its_whole_name(name: str, tmp_path: Path) -> None:
    pack = lzma.compress if name.endswith(".xz") else gzip.compress
    written(tmp_path, name, pack(b"The kettle boils."))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        assert index.sync([tmp_path / name]).added == 1
        assert index.get(name)["text"] == "The kettle boils."


def test_archives_and_other_binary_files_are_left_as_before(tmp_path: Path) -> None:
    for name in ("src.tar.gz", "changes-2.1.tar.gz", "core.gz", "photo.png.gz"):
        written(tmp_path, name, gzip.compress(b"x"))
    skipped = [each.reason for each in walk.files(tmp_path, walk.Rules()) if isinstance(each, Skipped)]
    assert skipped == ["binary file (archive)"] * 4


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path) -> None:
    bomb = written(tmp_path, "a.txt.gz", gzip.compress(b"a" * 2**24))
    assert refusal(bomb) == "it unpacks to more than the limit of 10 MB for files"
    assert "not a readable .gz file" in refusal(written(tmp_path, "b.txt.gz", bomb.read_bytes()[:100]))
    assert "not a readable .xz file" in refusal(written(tmp_path, "b.txt.xz", b"words"))


MAN = r"""'\\" t
.\\" A comment
.if n .ad l
.TH KETTLE 1 2024-05-01
.SH NAME
kettle \\- boil \\(lqwater\\(rq
.SH "SEE ALSO"
.B kettle
.RI [ option ]...
.TP
.BR \\-v ", " \\-\\-verbose
Say \\fImore\\fR.
.nf
$ kettle  \\-v
  done
.fi
.TS
l l.
a	b
.TE
.BR pump (8)
""".replace("\\\\", "\\")

MDOC = r""".Dd May 1, 2024
.Dt KETTLE 8
.Os
.Sh NAME
.Nm kettle
.Nd boil water
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Fl o Ar file
.Sh DESCRIPTION
The
.Nm
utility, see
.Xr pump 8 ,
boils
.Dq water .
"""


@pytest.mark.parametrize("name", ["kettle.1", "kettle.conf.5", "kettle.man", "kettle.3pm"])
def test_a_page_of_the_manual_is_its_text(name: str, tmp_path: Path) -> None:
    found = one(written(tmp_path, name, MAN))
    assert found.title == "KETTLE(1)" and [name for name, _ in headings(found)] == ["NAME", "SEE ALSO"]
    assert found.text == (
        "NAME\n\nkettle - boil “water”\n\nSEE ALSO\n\nkettle [option]...\n\n-v, --verbose Say more.\n\n"
        "$ kettle  -v\n  done\n\na | b\n\npump(8)"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".ie t Typeset.\n.el Shown.", "Shown."),
        (".ie n Shown.\n.el Typeset.", "Shown."),
        (".ie t \\{\\\nTypeset.\n.\\}\n.el Shown.", "Shown."),
        (".ie t .ie n Typeset.\n.el Shown.", "Shown."),
    ],
)
def test_of_two_branches_a_page_has_the_one_for_a_terminal(source: str, text: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "kettle.1", f".TH KETTLE 1\n{source}\n")).text == text


def test_a_page_in_mdoc_is_its_text(tmp_path: Path) -> None:
    found = one(written(tmp_path, "kettle.8.gz", gzip.compress(MDOC.encode())))
    assert found.title == "KETTLE(8)"
    assert found.text == (
        "NAME\n\nkettle – boil water\n\nSYNOPSIS\n\nkettle [-v] [-o file]\n\nDESCRIPTION\n\n"
        "The kettle utility, see pump(8), boils “water”."
    )


def test_another_file_with_a_number_is_what_it_was(tmp_path: Path) -> None:
    assert loaders.loader_for(written(tmp_path, "notes.1", ".hidden files\nand words")) == "text"
    assert loaders.loader_for(written(tmp_path, "a.md.1", "# Kettles")) == "markdown"
    assert loaders.loader_for(written(tmp_path, "a.csv.2", "text\nwords\n")) == "csv"
