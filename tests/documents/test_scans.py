"""Scanned pages are read by tesseract where languages are named, however long that takes; else they are told."""

from __future__ import annotations

import os
import shutil
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commandline import CommandLine
from helpers.filemaking import one, pdf, refusal, save_pdf

from semsearch.documents import loaders
from semsearch.documents.isolation import pool
from semsearch.documents.loaders import Fields, Limits
from semsearch.documents.parsing import ocr
from semsearch.errors import NotFound, UsageError

pdfium = pytest.importorskip("pypdfium2")
needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
LINE = "The kettle is descaled with vinegar"


def scan(path: Path, *pages: str) -> Path:
    """A PDF whose pages are pictures of text."""
    pdf(path, [[text] for text in pages])
    drawn = pdfium.PdfDocument(path)
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    for number in range(len(pages)):
        grey = drawn[number].render(scale=150 / 72, grayscale=True).to_numpy()
        pixels = zlib.compress(grey.tobytes())
        place, size = len(objects) + 1, f"/Width {grey.shape[1]} /Height {grey.shape[0]}"
        shown = b"612 0 0 792 0 0 cm /I Do"
        head = f"/Type /XObject /Subtype /Image {size} /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode"
        resources = f"/Resources << /XObject << /I {place + 2} 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents {place + 1} 0 R >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
            b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head.encode(), len(pixels), pixels),
        ]
    kids = " ".join(f"{3 + 3 * at} 0 R" for at in range(len(pages)))
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    save_pdf(path, objects)
    return path


@pytest.fixture
def recogniser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program called tesseract, which knows English and Greek."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "tesseract"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list-langs ]; then printf "List of languages (2):\\neng\\nell\\nosd\\n"; exit; fi\n'
        'head -c 2 | grep -q P5 || { echo "no image" >&2; exit 1; }\n'
        "sleep ${PAGE_SECONDS:-0}; echo a page in $4\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    ocr._installed.cache_clear()
    pool.close()  # the next one finds the program
    yield program
    ocr._installed.cache_clear()
    pool.close()


@needs_tesseract
def test_a_scanned_page_beside_one_with_text_is_read(tmp_path: Path) -> None:
    read = one(scan(tmp_path / "scan.pdf", LINE, "", LINE.upper()), fields=Fields(ocr="eng"))
    assert LINE in read.text
    assert LINE.upper() in read.text
    assert [mark.page for mark in read.marks] == [1, 3]


def test_without_languages_a_scan_is_refused_with_the_option_that_reads_it(tmp_path: Path) -> None:
    assert "`index --ocr eng`" in refusal(scan(tmp_path / "scan.pdf", LINE))


def test_pages_with_text_are_not_recognised(tmp_path: Path, recogniser: Path) -> None:
    pdf(tmp_path / "a.pdf", [["of text"]])
    assert one(tmp_path / "a.pdf", fields=Fields(ocr="eng")).text == "of text"


def test_the_time_for_a_document_counts_from_each_page(
    tmp_path: Path, recogniser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scan(tmp_path / "scan.pdf", *"abcd")
    monkeypatch.setenv("PAGE_SECONDS", "2")
    limits = Limits(seconds=7, memory_mb=1024, output_mb=10)  # four pages take 8 s, one 2 s and its start
    (read,) = loaders.load(path, "auto", Fields(ocr="ell"), limits)
    assert getattr(read, "text", "").splitlines() == ["a page in ell"] * 4


def test_the_command_names_a_language_that_is_missing_and_indexes_nothing(
    tmp_path: Path, recogniser: Path, cli: CommandLine
) -> None:
    scan(tmp_path / "notes.pdf", LINE)
    ran = cli("index", tmp_path / "notes.pdf", "-n", "n", "--ocr", "fin")
    assert (ran.code, ran.out) == (3, "")
    assert "tesseract has no language 'fin'; it has eng, ell." in ran.err
    assert cli("info", "n").code == 3


def test_an_update_recognises_new_pages_too(tmp_path: Path, recogniser: Path, cli: CommandLine) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    scan(notes / "a.pdf", "a")
    cli.ok("index", notes, "-m", "hashing", "--ocr", "eng")
    scan(notes / "b.pdf", "b")
    assert cli.ok("index", "-n", "notes", "--json").json["documents"]["added"] == 1


@pytest.mark.parametrize("languages", ["", "eng;rm", "--help", "../x"])
def test_what_is_no_list_of_languages_is_refused(languages: str) -> None:
    with pytest.raises(UsageError, match="no list of languages"):
        ocr.check(languages)


def test_a_missing_program_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotFound, match="needs the program tesseract") as raised:
        ocr.check("eng")
    assert "apt-get install tesseract-ocr" in raised.value.fix
