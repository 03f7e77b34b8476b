"""Make the PDF and DOCX files of scripts/sample from their Markdown sources in scripts/release/sample_sources.

    pip install fpdf2 python-docx && python -m scripts.release.make_sample

`health/back-pain.docx.md` becomes `sample/health/back-pain.docx`. Dates are fixed: same source, same bytes.
The sources use headings, paragraphs and lists only. fpdf2 is needed here alone, so it is in no extra.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import docx
import fpdf

from scripts.shared.places import SAMPLE

SOURCES = Path(__file__).parent / "sample_sources"
DATE = datetime(2024, 1, 1, tzinfo=UTC)
SIZES = {"#": 18, "##": 13, "": 11}  # points


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each block: '#', '##', '-', '1.' or '' for a paragraph; emphasis marks are dropped."""
    for block in re.split(r"\n{2,}|\n(?=- |\d+\. )", text.strip()):
        kind, words = re.fullmatch(r"(##?|-|\d+\.)?\s*(.*)", block, re.DOTALL).groups()  # type: ignore[union-attr]
        yield kind or "", re.sub(r"\*(\S[^*]*)\*", r"\1", " ".join(words.split()))


def pdf(text: str) -> bytes:
    """A5 pages in a core font: a few kilobytes, and most articles take two pages."""
    page = fpdf.FPDF(format="A5")
    page.set_creation_date(DATE)
    page.set_producer("scripts/release/make_sample.py")
    page.set_title(next(words for kind, words in blocks(text) if kind == "#"))
    page.set_margin(16)
    page.set_auto_page_break(True, margin=18)
    page.add_page()
    for kind, words in blocks(text):
        size = SIZES.get(kind, SIZES[""])
        page.set_font("Helvetica", style="B" if kind.startswith("#") else "", size=size)
        listed = f"{kind} {words}" if kind not in SIZES else words
        page.multi_cell(w=0, h=size * 0.5, text=listed, align="L", new_x="LMARGIN", new_y="NEXT")
        page.ln(2.5)
    return bytes(page.output())


def word(text: str) -> bytes:
    """Headings and lists with Word's own styles."""
    document = docx.Document()
    document.core_properties.created = document.core_properties.modified = DATE
    document.core_properties.author = "semsearch sample"
    for kind, words in blocks(text):
        if kind == "#":
            document.core_properties.title = words
        if kind.startswith("#"):
            document.add_heading(words, level=len(kind))
        else:
            style = {"": None, "-": "List Bullet"}.get(kind, "List Number")
            document.add_paragraph(words, style=style)
    written = io.BytesIO()
    document.save(written)
    return _with_fixed_dates(written)


def _with_fixed_dates(archive: io.BytesIO) -> bytes:
    fixed = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(fixed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist(), key=lambda name: (name != "[Content_Types].xml", name)):
            new.writestr(zipfile.ZipInfo(name, DATE.timetuple()[:6]), old.read(name), zipfile.ZIP_DEFLATED)
    return fixed.getvalue()


def main() -> None:
    for source in sorted(SOURCES.rglob("*.md")):
        target = SAMPLE / source.relative_to(SOURCES).with_suffix("")
        make = {".pdf": pdf, ".docx": word}[target.suffix]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(make(source.read_text(encoding="utf-8")))
        print(f"{target.stat().st_size:7,} bytes  {target.relative_to(SAMPLE)}")


if __name__ == "__main__":
    main()
