"""Images of PDF pages: the requested page, and never from a file other than the indexed one."""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest
from helpers import filemaking

pytest.importorskip("pypdfium2")

from semsearch import Document, Index
from semsearch.documents.isolation.pdf_renderer import MAX_PIXELS, png, render
from semsearch.errors import NotFound, Unreadable, UsageError


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    filemaking.pdf(folder / "two.pdf", [["Diesel engines."], ["Many more words stand here, in a longer line of them."]])
    (folder / "note.txt").write_text("A note.")
    return folder


@pytest.fixture
def index(tmp_path: Path, files: Path) -> Path:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.sync(files)
        made.add([Document("typed", "A text that came from no file.")])
    return tmp_path / "notes"


def size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def test_each_page_has_the_requested_width_and_past_the_end_it_is_the_last(index: Path) -> None:
    with Index.open(index) as notes:
        first, second, past = (notes.page_image("two.pdf", page, width=306) for page in (1, 2, 9))
    assert (first.page, second.page, past.page) == (1, 2, 2)
    assert first.pages == 2
    assert size(first.png) == (306, 396)
    assert first.png != second.png == past.png


def test_the_lines_of_a_passage_are_boxes_on_the_image_of_its_page(tmp_path: Path) -> None:
    lines = [
        "Bread needs salt.",
        "A diesel engine ig-",
        "nites fuel by compression.",
        "The last line of it goes on",
    ]
    filemaking.pdf(tmp_path / "two.pdf", [lines, ["upon the following one.", "Knots."]])
    with Index.create(tmp_path / "notes", encoder="hashing") as notes:
        notes.sync(tmp_path / "two.pdf")
        text = "A diesel engine ignites fuel by compression."  # as the index has it, in one word
        there = notes.page_image("two.pdf", 1, text=text).boxes
        across = "The last line of it goes on\nupon the following one."
        ends = [notes.page_image("two.pdf", page, text=across).boxes for page in (1, 2)]
        assert notes.page_image("two.pdf", 1).boxes == notes.page_image("two.pdf", 1, text="zeppelin").boxes == ()
        assert notes.page_image("two.pdf", 9, text="Knots.").boxes == ()
    assert len(there) == 2
    (left, top, width, height), (_, below, _, _) = there
    assert left == pytest.approx(72 / 612, abs=0.01)  # where the file puts the line: 14 points a line from 720 of 792
    assert top < 1 - (720 - 14) / 792 < top + height < below + height
    assert 0.1 < width < 0.3
    assert [len(boxes) for boxes in ends] == [1, 1]


def test_a_file_that_is_missing_or_has_changed_is_not_used(index: Path, files: Path) -> None:
    filemaking.pdf(files / "two.pdf", [["Another file under the same name."]])
    with Index.open(index) as notes:
        with pytest.raises(NotFound, match="has changed since"):
            notes.page_image("two.pdf", 1)
        (files / "two.pdf").unlink()
        with pytest.raises(NotFound, match="no longer there"):
            notes.page_image("two.pdf", 1)


@pytest.mark.parametrize("document", ["note.txt", "typed"])
def test_a_document_that_is_not_a_pdf_has_no_page(document: str, index: Path) -> None:
    with Index.open(index) as notes, pytest.raises(UsageError, match="not read from a PDF"):
        notes.page_image(document, 1)


@pytest.mark.parametrize("path", ["../secret.pdf", "/etc/passwd", "a\x00b", "pipe", "folder", "empty"])
def test_an_index_cannot_name_a_file_outside_its_folder_or_anything_but_a_regular_file(
    path: str, index: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes an index can write what they want into it, but not the checksum of what they do not know."""
    (files.parent / "secret.pdf").write_bytes((files / "two.pdf").read_bytes())  # its checksum is even the right one
    os.mkfifo(files / "pipe")
    (files / "folder").mkdir()
    (files / "empty").touch()  # as those of /proc are by their size, whose reading may wait for ever
    with sqlite3.connect(index / "store.db") as store:
        store.execute("UPDATE sources SET path = ? WHERE loader = 'pdf'", (path,))
    store.close()
    monkeypatch.setattr("semsearch.documents.page_image._read", lambda path: pytest.fail(f"{path} was opened"))
    with Index.open(index) as notes, pytest.raises(NotFound):
        notes.page_image("two.pdf", 1)


def test_a_page_that_pdfium_cannot_render_is_an_error_and_harms_nobody(index: Path, files: Path) -> None:
    import hashlib

    (files / "two.pdf").write_bytes(b"%PDF-1.4 and nothing more")
    with sqlite3.connect(index / "store.db") as store:
        digest = hashlib.sha256((files / "two.pdf").read_bytes()).hexdigest()
        store.execute("UPDATE sources SET sha256 = ? WHERE loader = 'pdf'", (digest,))
    store.close()
    with Index.open(index) as notes, pytest.raises(Unreadable, match="cannot be rendered"):
        notes.page_image("two.pdf", 1)


def test_a_huge_page_gets_no_more_pixels_than_the_limit(tmp_path: Path) -> None:
    filemaking.pdf(tmp_path / "wide.pdf", [["x"]])
    content = (tmp_path / "wide.pdf").read_bytes().replace(b"[0 0 612 792]", b"[0 0 612 9e6]")
    width, height = size(render(content, 1, 1400)[2])
    assert width * height <= 1.01 * MAX_PIXELS


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 1), (3, 5, 3), (3, 5, 4)])
def test_a_png_holds_the_pixels_that_it_was_made_of(shape: tuple[int, ...]) -> None:
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    read = np.asarray(image.open(io.BytesIO(png(pixels))))
    assert (read == (pixels[..., :3] if pixels.ndim == 3 and shape[2] > 1 else pixels.reshape(3, 5))).all()
