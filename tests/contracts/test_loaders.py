"""The contract of every loader, built in or installed; a new file in loaders/ is found and tested."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.filemaking import sample

from semsearch.documents import loaders
from semsearch.documents.loaders import Enclosed, Fields, Place
from semsearch.documents.suffixes import BY_LOADER, LOADERS
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Mark, Skipped
from semsearch.utils import plugins

NAMES = plugins.names(loaders)
SQL = Fields(sql="SELECT * FROM notes")


def documents(path: Path, kind: str) -> list[Document]:
    return [item for item in loaders.load(path, kind, SQL) if isinstance(item, Document)]


def test_the_loaders_of_the_contract_are_there() -> None:
    assert {"text", "markdown", "html", "pdf", "docx", "jsonl", "csv", "tsv", "sqlite"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_its_suffixes_are_lower_case_and_lead_to_it(name: str, tmp_path: Path) -> None:
    suffixes = BY_LOADER.get(name) or plugins.load(loaders, name).SUFFIXES
    assert suffixes and all(suffix == suffix.lower() and suffix.startswith(".") for suffix in suffixes)
    assert all(loaders.loader_for(tmp_path / f"File{suffix.upper()}") == name for suffix in suffixes)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_whether_it_is_isolated(name: str) -> None:
    """A format that is binary, nested, compressed or computed is read by another process: `Loader.ISOLATED`."""
    assert vars(plugins.load(loaders, name)).get("ISOLATED") in (True, False)


@pytest.mark.parametrize("name", NAMES)
def test_another_process_reads_it_as_this_one_does(name: str, tmp_path: Path) -> None:
    path = sample(name, tmp_path)
    assert documents(path, name) == list(loaders.read(name, path, SQL))


def test_the_table_of_suffixes_names_every_loader_of_ours_and_no_suffix_twice() -> None:
    assert set(BY_LOADER) == set(plugins.names(loaders, foreign=False))
    assert sum(map(len, BY_LOADER.values())) == len(LOADERS)


ON_THE_WAY = """
import sys
from pathlib import Path
from semsearch import Index
from semsearch.encoders.hashing import HashingEncoder

folder = Path(sys.argv[1])
with Index.create(folder / "index", encoder=HashingEncoder()) as index:
    assert index.sync(folder / "notes").added == 5
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("semsearch.documents.loaders.")))
"""


def test_a_folder_of_markdown_loads_no_other_loader(tmp_path: Path) -> None:
    (notes := tmp_path / "notes").mkdir()
    for number in range(5):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nThe diesel engine.\n")
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{ON_THE_WAY}", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["markdown"]


@pytest.mark.parametrize("name", NAMES)
def test_a_good_file_gives_its_text_and_marks_in_order(name: str, tmp_path: Path) -> None:
    (document,) = documents(sample(name, tmp_path), name)
    assert "The engine has a Größe of 12." in document.text
    assert all(before.start < after.start for before, after in pairwise(document.marks))
    assert all(0 <= mark.start < len(document.text) for mark in document.marks)
    assert "\r" not in document.text
    for before, mark in pairwise([Mark(0), *document.marks]):
        if mark.heading and mark.heading != before.heading:
            section = document.text[mark.start :].lstrip("# ")
            assert section.startswith(mark.heading) or (name == "code" and mark.heading.split(".")[-1] in section)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_file_gives_equal_documents(name: str, tmp_path: Path) -> None:
    path = sample(name, tmp_path)
    assert documents(path, name) == documents(path, name)


def ruined(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a good file with some of them changed, a part cut out, or the end missing."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 20)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    if rng.random() < 0.5:
        del out[rng.randrange(len(out)) :]
    return bytes(out)


@pytest.mark.parametrize("name", NAMES)
def test_any_bytes_are_read_skipped_or_unreadable(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    good = sample(name, tmp_path).read_bytes()
    path = tmp_path / "broken"
    for data in [b"", b"\0" * 100, rng.randbytes(5000), good[:-1], *(ruined(good, rng) for _ in range(60))]:
        path.write_bytes(data)
        try:
            found = list(plugins.load(loaders, name).load(path, SQL))
        except Unreadable as error:
            assert error.message
        except UsageError as error:  # a database without the table or the column that the query names
            assert name == "sqlite" and "query" in str(error)
        else:
            assert all(isinstance(item, Document | Skipped | Enclosed) for item in found)
            for item in found:
                if isinstance(item, Document):
                    item.text.encode("utf-8")
                    assert "\0" not in item.text


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_bytes(random.Random(0).randbytes(20_000))
    with pytest.raises(Unreadable):
        list(loaders.load(path, name, SQL))


TRICKY = {
    "jsonl": b'{"text": "one"}\n\n{broken\r\n  {"text": "two", "id": "x"}\n[1]\n' * 3 + b'{"text": "end"}\n',
    "csv": b'text,year\r\n"two\nlines, ""quoted""",1\r\n\nplain,2\ntoo,many,cells\n' * 3 + b"end,3\n",
    "tsv": b"text\tyear\none\t1\rtwo\t2\r\n\xe9\t3\n" * 3 + b"end\t4\n",
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", TRICKY)
def test_reading_goes_on_at_every_place_as_if_it_had_begun_before(name: str, mark: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"tricky.{name}"
    path.write_bytes(mark + TRICKY[name])
    steps: list[tuple[Document | Skipped, Place | None, str]] = []
    digest = hashlib.sha256()
    for item, place in loaders.read_from(path, "auto", Fields(), Place(), digest):
        steps.append((item, place, digest.hexdigest()))
    assert [item for item, *_ in steps] == list(loaders.load(path))
    places = [(at, place, before) for at, (_, place, before) in enumerate(steps, start=1) if place is not None]
    assert len(places) > 5 and places[-1][0] == len(steps)
    for at, place, before in places:
        assert before == hashlib.sha256(path.read_bytes()[: place.at]).hexdigest()
        rest = list(loaders.read_from(path, "auto", Fields(), place, hashlib.sha256()))
        assert rest == [(item, after) for item, after, _ in steps[at:]]


@pytest.mark.parametrize(
    ("name", "content", "goes_on"),
    [
        ("jsonl", b'{"text": "one"}\n{"text": "tw', 16),
        ("jsonl", b'{"text": "one"}\n{"text": "two"}', None),
        ("csv", b"text\none\ntw", None),
        ("csv", b'text\none\n"two\nlines\n', None),
        ("csv", b"text\none\ntwo\r", None),
        ("csv", "text\none\n".encode("utf-16"), None),
    ],
)
def test_a_last_record_without_its_end_is_read_again_or_everything_is(
    name: str, content: bytes, goes_on: int | None, tmp_path: Path
) -> None:
    path = tmp_path / f"begun.{name}"
    path.write_bytes(content)
    *_, (_, place) = loaders.read_from(path, "auto", Fields(), Place(), hashlib.sha256())
    assert (place and place.at) == goes_on
