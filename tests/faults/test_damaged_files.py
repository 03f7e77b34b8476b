"""Bits and bytes of every file of an index are damaged: each answer is right, or refused, or `verify` finds the damage.

A dump and an encoder have no answers of their own: what is read of them is what was written, or nothing is.
"""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import encoding
import forks
import pytest
from histories import documents
from programme import record, trials

from semsearch import Document, Index, admin
from semsearch.errors import Corrupt, SemsearchError
from semsearch.models import model_folders
from semsearch.stores.local.database.commit_record import FILE
from semsearch.vector_index import cache_files

QUESTIONS = ("harbour", "engine number 7", "日本語の文章", "kettle boils", '"cold harbour"')
SHOWN = ("id", "document", "start", "end", "text", "line", "page", "heading", "metadata", "path")
WORDS = ("harbour", "engine", "kettle", "boils", "salt", "bread", "cold", "number", "crystal", "quartz")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index that was closed, and with the files of one whose writer was killed before."""
    base = tmp_path_factory.mktemp("left")
    chance = random.Random(3)
    (base / "files").mkdir()
    for n in range(30):
        (base / "files" / f"f{n}.md").write_text(f"# Title {n}\n\n{words(chance)}\n\n## Part\n\n{words(chance)}\n")
    with Index.create(base / "notes", encoder="hashing") as index:
        index.sync(base / "files")
        index.add(Document(f"d{n}", f"{words(chance)} 日本語の文章 {n}", {"n": n}, f"Note {n}") for n in range(90))
        admin.rebuild(index, "flat")
    with Index.open(base / "notes") as index:
        for n in range(5):
            index.add([Document(f"new{n}", f"{words(chance)} number {n}", {"n": 200 + n})])
        index.delete(["d3", "d4"])
        killed = base / "killed"
        killed.mkdir()
        for file in (base / "notes").iterdir():
            if file.name in ("store.db", "store.db-wal", FILE) or file.match(cache_files.FILES):
                shutil.copy(file, killed / file.name)
    assert (killed / "store.db-wal").stat().st_size > 0
    assert list(killed.glob(cache_files.FILES))
    return base


def words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=25)) + "."


def flipped(file: Path, chance: random.Random) -> None:
    """One bit, eight bytes or a sector that is not all zeros, or the end of the file is gone."""
    content = bytearray(file.read_bytes())
    at = chance.choice([at for at in chance.sample(range(len(content)), min(200, len(content))) if content[at]] or [0])
    kind = chance.choice(("bit", "bytes", "sector", "end"))
    if kind == "end":
        del content[at:]
    elif kind == "bit":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "bytes":
        content[at : at + 8] = chance.randbytes(len(content[at : at + 8]))
    else:
        start = at // 512 * 512
        content[start : start + 512] = bytes(len(content[start : start + 512]))
    file.write_bytes(content)


def full_text(folder: Path, chance: random.Random) -> None:
    """One bit of a block of the full-text tables, as SQLite would write it."""
    with closing(sqlite3.connect(folder / "store.db", isolation_level=None)) as raw:
        table = chance.choice(("passages_fts", "passages_cjk"))
        part, column = chance.choice((("data", "block"), ("data", "block"), ("docsize", "sz")))
        number, block = chance.choice(raw.execute(f"SELECT id, {column} FROM {table}_{part}").fetchall())
        bad = bytearray(block)
        bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        raw.execute(f"UPDATE {table}_{part} SET {column} = ? WHERE id = ?", (bytes(bad), number))


DAMAGE: dict[str, Callable[[Path, random.Random], None]] = {
    "database": lambda folder, chance: flipped(folder / "store.db", chance),
    "log": lambda folder, chance: flipped(folder / "store.db-wal", chance),
    "full text": full_text,
    "cache": lambda folder, chance: flipped(next(folder.glob(cache_files.FILES)), chance),
}


def answers(folder: Path) -> list[Any]:
    """What is answered to each question; an error of ours is a refusal."""
    try:
        with Index.open(folder) as index:
            asked: list[Callable[[], Any]] = [
                *(lambda q=q, m=m: hits(index, q, m) for q in QUESTIONS for m in ("keyword", "semantic", "hybrid")),
                lambda: index.matching(where="n > 50"),
                lambda: hits(index, "harbour", "hybrid", where="n > 50"),
                lambda: [about["id"] for about in index.documents()],
                *(lambda name=name: index.get(name) for name in ("f1.md", "f20.md", "d1", "d3", "d60", "new2")),
            ]
            return [answered(ask) for ask in asked]
    except SemsearchError as error:
        return [type(error)]


def answered(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except SemsearchError as error:
        return type(error)


def hits(index: Index, question: str, mode: Any, **more: Any) -> list[Any]:
    found = index.search(question, mode=mode, k=8, **more)
    return [
        (*(getattr(hit, name) for name in SHOWN), round(hit.score, 5), round(hit.strength or 0, 4)) for hit in found
    ]


def found_by_verify(folder: Path) -> bool:
    try:
        with Index.open(folder) as index:
            return bool(index.analysis.verify())
    except SemsearchError:
        return True


@pytest.mark.parametrize("kind", DAMAGE)
def test_no_wrong_answer_goes_unnoticed(
    left: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    origin, count = left / ("killed" if kind == "log" else "notes"), trials(6, 500)
    sound = Path(shutil.copytree(origin, tmp_path / "sound"))
    right = answers(sound)
    assert not found_by_verify(sound)
    became: Counter[str] = Counter()
    for trial in range(count):
        folder = Path(shutil.copytree(origin, tmp_path / "damaged"))
        DAMAGE[kind](folder, random.Random(f"{kind} {trial}"))
        now = answers(folder)
        refused = now == right or all(isinstance(b, type) for a, b in zip(right, now, strict=False) if a != b)
        found = found_by_verify(folder)
        assert refused or found, (kind, trial, [(a, b) for a, b in zip(right, now, strict=True) if a != b][:2])
        became["as before" if now == right else "refused" if refused else "wrong, found by verify"] += 1
        became["named by verify"] += found
        shutil.rmtree(folder)
    record(f"damaged {kind}", count, **became)
    assert became["named by verify"] > count / 3, became


def test_a_damaged_dump_is_refused_or_restored_as_it_was(left: Path, tmp_path: Path) -> None:
    with Index.open(left / "notes") as index:
        admin.dump(index, tmp_path / "sound.dump")
    right, became, count = documents(left / "notes"), Counter[str](), trials(10, 500)
    for trial in range(count):
        file, folder = Path(shutil.copy(tmp_path / "sound.dump", tmp_path / "damaged.dump")), tmp_path / "restored"
        flipped(file, random.Random(f"dump {trial}"))
        try:
            admin.restore(file, folder).close()
        except SemsearchError as error:
            assert str(file) in str(error) and isinstance(error, Corrupt), (trial, error)
            became["refused"] += 1
        else:
            assert documents(folder) == right and not found_by_verify(folder), trial
            became["restored as it was"] += 1
            shutil.rmtree(folder)
        assert {path.name for path in tmp_path.iterdir()} == {"sound.dump", "damaged.dump"}, trial
    record("damaged dump", count, **became)
    assert became["refused"] > count / 2, became


def test_a_damaged_encoder_is_refused_or_gives_the_vectors_that_it_gave(tmp_path: Path) -> None:
    """Configuration, weights (a graph of ONNX) and tokenizer of an exported encoder; in processes that may crash."""
    origin = model_folders.find("default")
    right, became, count = encoded(origin), Counter[str](), trials(6, 500)
    assert not isinstance(right, str)
    for trial in range(count):
        folder, chance = tmp_path / "damaged", random.Random(f"bundle {trial}")
        folder.mkdir()
        for file in sorted(origin.iterdir()):
            (folder / file.name).symlink_to(file)
        file = folder / sorted(file.name for file in origin.iterdir())[trial % 3]
        whole = file.read_bytes()
        file.unlink()
        file.write_bytes(whole)
        flipped(file, chance)
        now = encoded(folder)
        if isinstance(now, str):
            assert str(folder) in now, (trial, now)
        else:
            assert now == right, (trial, file.name)
        became["refused" if isinstance(now, str) else "as before"] += 1
        shutil.rmtree(folder)
    record("damaged encoder", count, **became)
    assert became["refused"] > count / 2, became


def encoded(folder: Path) -> Any:
    """What the encoder in `folder` says and makes of some texts, or in words why it is refused."""
    [said] = forks.run(encoding.encode, folder, list(QUESTIONS)).said
    return said
