"""How much of real files a loader reads or names, beside an independent reader: a row for each format, and the worst.

    python -m scripts.bench.completeness [FOLDER …] [--files 200] [--only html,pdf] [--worst 20]

Letters are those of words: the ones of the reader's words that neither the text, the title and the metadata of the
documents have, as often, nor the omissions name. A file that is skipped with a reason is named. Readers: pandoc
and pdftotext of Debian, lxml, the standard library, and python-pptx and openpyxl where they are installed. Without a
FOLDER: the public data, and packages of Debian and PyPI that are fetched into ~/.cache/semsearch-completeness; files in
RTF are those of python-docx, as LibreOffice writes them.
"""

import argparse
import csv
import email
import email.policy
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import html

from scripts.shared.places import DATA
from semsearch.documents import loaders
from semsearch.documents.parsing.charset import decode
from semsearch.documents.textless import Textless
from semsearch.errors import SemsearchError
from semsearch.types import Document

CACHE = Path.home() / ".cache" / "semsearch-completeness"
DEBIAN = """
    python3.11-doc postgresql-doc-15 debian-handbook git-doc debian-policy developers-reference debmake-doc calibre
    python-sklearn-doc libpython3.11-testsuite r-cran-readxl r-cran-openxlsx r-cran-officer texlive-latex-base-doc
"""
PYPI = "python-docx python-pptx pyexcel-xlsx talon"
_MAILS = "test_email"  # a folder of the standard library, whose messages are called .txt
LARGEST = 10 * 2**20  # bytes, as the limit of the walk
SECONDS = 120  # of a reader
_WORD = re.compile(r"[^\W_]+")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_BROKEN = re.compile(r"(?<=\w)[-\u00ad\u2010]\s*\n\s*(?=\w)")


class File(NamedTuple):
    """What of a file was read, in letters of the independent reader's words."""

    path: Path
    format: str
    letters: int
    read: int
    named: int
    missing: Counter[str]

    @property
    def neither(self) -> int:
        return self.letters - self.read - self.named


def compared(path: Path, kind: str) -> File | None:
    """One file, or None where the independent reader cannot read it either."""
    try:
        reference = words(READERS[kind](path))
    except Exception:  # libraries raise anything for files that were made to test them
        return None
    letters = weight(reference)
    if not letters:
        return None
    own: Counter[str] = Counter()
    named = 0
    try:
        for item in loaders.load(path, kind):
            if isinstance(item, Document):
                own += words(" ".join([item.text, item.title or "", item.id, *values(item.metadata)]))
                named += sum(each.letters for each in item.omissions)
            elif isinstance(item, Textless):
                named += sum(each.letters for each in item.omissions)
            else:
                named = letters
    except SemsearchError:
        named = letters
    missing = reference - own
    lacking = weight(missing)
    return File(path, kind, letters, letters - lacking, min(named, lacking), missing)


def words(text: str) -> Counter[str]:
    """The words of a text, without regard to case and form; of a word that is broken at a line end, the whole."""
    plain = unicodedata.normalize("NFKC", _BROKEN.sub("", text)).replace("\u00ad", "").casefold()
    return Counter(_WORD.findall(plain))


def weight(counted: Counter[str]) -> int:
    """The letters of these words."""
    return sum(len(word) * number for word, number in counted.items())


def values(value: object) -> Iterator[str]:
    """The texts and numbers in metadata, with the names of fields."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from values(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from values(inner)
    else:
        yield str(value)


# ---- independent readers: the text of a file


def output(*command: object) -> str:
    ran = subprocess.run(list(map(str, command)), capture_output=True, timeout=SECONDS, check=True)
    return ran.stdout.decode("utf-8", "replace")


def pandoc(path: Path, kind: str) -> str:
    return output("pandoc", "-f", kind, "-t", "plain", "--wrap=none", path)


def page(data: bytes | str) -> str:
    """All of a page but what no browser shows: scripts, styles and comments."""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    root = html.document_fromstring(data.encode("utf-8", "replace") if isinstance(data, str) else data, parser)
    for element in root.xpath("//script|//style|//head|//template"):
        element.drop_tree()
    return " ".join(root.itertext())


def html_file(path: Path) -> str:
    return page(decode(path.read_bytes())[0])


def message(path: Path) -> str:
    return of_message(email.message_from_bytes(path.read_bytes(), policy=email.policy.default))


def of_message(parsed: email.message.EmailMessage) -> str:
    """The subject and all texts, of alternatives the plain one."""
    texts = [str(parsed.get("subject", ""))]
    for part in parsed.walk():
        if part.get_content_maintype() == "text":
            text = str(part.get_content())
            texts.append(page(text) if part.get_content_subtype() == "html" and text.strip() else text)
    return "\n".join(texts)


def book(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        pages = [name for name in archive.namelist() if name.lower().endswith((".xhtml", ".html", ".htm"))]
        return "\n".join(page(archive.read(name)) for name in pages)


def slides(path: Path) -> str:
    from pptx import Presentation  # type: ignore[import-not-found,import-untyped,unused-ignore]

    texts = []
    for slide in Presentation(str(path)).slides:
        shapes = list(slide.shapes) + (list(slide.notes_slide.shapes) if slide.has_notes_slide else [])
        while shapes:
            shape = shapes.pop()
            shapes += getattr(shape, "shapes", [])  # of a group
            texts += [shape.text_frame.text] if shape.has_text_frame else []
            texts += [cell.text for row in shape.table.rows for cell in row.cells] if shape.has_table else []
    return "\n".join(texts)


def sheets(path: Path) -> str:
    from openpyxl import load_workbook  # type: ignore[import-untyped,unused-ignore]

    workbook = load_workbook(path, read_only=True, data_only=True)
    cells = [cell for sheet in workbook for row in sheet.iter_rows(values_only=True) for cell in row]
    return "\n".join(cell for cell in cells if isinstance(cell, str))


def notebook(path: Path) -> str:
    cells = json.loads(path.read_bytes())
    cells = cells.get("cells") or [cell for sheet in cells.get("worksheets", []) for cell in sheet["cells"]]
    sources = [cell.get("source", cell.get("input", "")) for cell in cells]
    results = [
        result.get("text", result.get("data", {}).get("text/plain", ""))
        for cell in cells
        for result in cell.get("outputs", [])
    ]
    return "\n".join(part if isinstance(part, str) else "".join(part) for part in [*sources, *results])


def table(path: Path, delimiter: str) -> str:
    rows = csv.reader(io.StringIO(decode(path.read_bytes())[0]), delimiter=delimiter)
    next(rows, None)
    return "\n".join(cell for row in rows for cell in row)


def json_lines(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    return "\n".join(text for record in records for value in record.values() for text in values(value))


def plain(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text) if path.suffix == ".json" else text


READERS: dict[str, Callable[[Path], str]] = {
    "html": html_file,
    "pdf": lambda path: output("pdftotext", "-q", path, "-"),
    "docx": lambda path: pandoc(path, "docx"),
    "odt": lambda path: pandoc(path, "odt"),
    "rtf": lambda path: pandoc(path, "rtf"),
    "epub": book,
    "pptx": slides,
    "xlsx": sheets,
    "email": message,
    "notebook": notebook,
    "csv": lambda path: table(path, ","),
    "tsv": lambda path: table(path, "\t"),
    "jsonl": json_lines,
    "markdown": plain,
    "rst": plain,
    "text": plain,
    "code": plain,
}


# ---- the files


def fetched() -> list[Path]:
    """The folders with what is unpacked of the packages; each is fetched once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folders = []
    for name in DEBIAN.split():
        folders.append(folder := CACHE / name)
        if not folder.is_dir():
            subprocess.run(["apt-get", "download", "-q", name], cwd=CACHE, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["dpkg-deb", "-x", *CACHE.glob(f"{name}_*.deb"), folder], check=True)
    for name in PYPI.split():
        folders.append(folder := CACHE / name)
        if not folder.is_dir():
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name]
            subprocess.run([*command, "-d", folder], check=True)
            for archive in list(folder.glob("*.tar.gz")):
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter="data")
                archive.unlink()
    folders.append(folder := CACHE / "rtf")
    if not folder.is_dir():
        documents = sorted((CACHE / "python-docx").rglob("*.docx"))
        to_rtf = ["soffice", "--headless", "--convert-to", "rtf", "--outdir", str(folder), *map(str, documents)]
        subprocess.run(to_rtf, check=True, stdout=subprocess.DEVNULL)
    return folders


def by_format(folders: Iterable[Path]) -> dict[str, list[Path]]:
    """The files that have a reader, by loader."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix and path.stat().st_size <= LARGEST:
                try:
                    kind = "email" if _MAILS in path.parts and path.suffix == ".txt" else loaders.loader_for(path)
                except SemsearchError:
                    continue
                if kind in READERS:
                    files[kind].append(path)
    return files


def show(files: list[File], worst: int) -> None:
    print("| format | files | letters | read | named | neither | files below 99 % |")
    print("|---|---|---|---|---|---|---|")
    kinds = sorted({file.format for file in files})
    for kind in [*kinds, "all"]:
        some = [file for file in files if kind in (file.format, "all")]
        letters = sum(file.letters for file in some)
        shares = (sum(getattr(file, name) for file in some) / letters for name in ("read", "named", "neither"))
        below = sum(file.neither > 0.01 * file.letters for file in some)
        shown = " | ".join(f"{share:.2%}".replace("%", " %") for share in shares)
        print(f"| {kind} | {len(some):,} | {letters:,} | {shown} | {below} |")
    print()
    for file in sorted(files, key=lambda file: -file.neither / file.letters)[:worst]:
        lacking = " ".join(word for word, _ in file.missing.most_common(12))
        print(f"{file.neither / file.letters:.1%} of {file.letters:,}: {file.path}: {lacking}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", nargs="*", type=Path)
    arguments.add_argument("--files", type=int, default=0, help="of each format, chosen by chance; 0 for all")
    arguments.add_argument("--only", default="", help="formats, with commas")
    arguments.add_argument("--worst", type=int, default=20)
    chosen = arguments.parse_args()
    files = by_format(chosen.folders or [DATA, *fetched()])
    results = []
    for kind in [each for each in READERS if each in files and (not chosen.only or each in chosen.only.split(","))]:
        paths = files[kind]
        if chosen.files and len(paths) > chosen.files:
            paths = random.Random(0).sample(paths, chosen.files)
        results += [file for path in paths if (file := compared(path, kind)) is not None]
        print(f"{kind}: {len(paths)} files", file=sys.stderr, flush=True)
    show(results, chosen.worst)


if __name__ == "__main__":
    main()
