"""SentEval's transfer tasks as labelled texts, from the files that `get_transfer_data.bash` makes.

MR, CR, SUBJ and MPQA have no splits, TREC and MRPC have train and test, SST-2 and SST-5 train, dev and test. Rows are
in SentEval's order, by number of words and then by class, because folds and batches are drawn by position. Words are
joined by single spaces, as in the papers' code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from semsearch.errors import NotFound, UnknownName, UsageError

KINDS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")  # TREC's classes
Row = tuple[tuple[str, ...], int]  # one text or the two of a pair, and their class
Reader = Callable[[str], Row]


@dataclass(frozen=True, slots=True)
class LabelledTexts:
    """One column of texts, or two for pairs, and the class of each row: 0, 1, …"""

    columns: tuple[tuple[str, ...], ...]
    classes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True, slots=True)
class TransferTask:
    """`parts` are "all", or "train" and "test" with or without "dev", read from `files`."""

    name: str
    parts: Mapping[str, LabelledTexts]
    files: tuple[Path, ...]

    @property
    def classes(self) -> int:
        return 1 + max(label for part in self.parts.values() for label in part.classes)


def _plain(label: int) -> Reader:
    return lambda line: ((line,), label)


def _sst2(line: str) -> Row:
    text, label = line.rsplit("\t", 1)
    return (text,), int(label)


def _sst5(line: str) -> Row:
    label, text = line.split(" ", 1)
    return (text,), int(label)


def _trec(line: str) -> Row:
    kind, _, rest = line.partition(":")
    return (rest.partition(" ")[2],), KINDS.index(kind)


def _mrpc(line: str) -> Row:
    label, _, _, first, second = line.split("\t")
    return (first, second), int(label)


@dataclass(frozen=True, slots=True)
class _Source:
    """Files of one folder, each with its part, name and reader; the first `skip` lines are a header."""

    folder: str
    files: tuple[tuple[str, str, Reader], ...]
    encoding: str = "utf-8-sig"
    skip: int = 0


def _halves(folder: str, positive: str, negative: str) -> _Source:
    return _Source(folder, (("all", positive, _plain(1)), ("all", negative, _plain(0))), "latin-1")


def _thirds(folder: str, read: Reader) -> _Source:
    return _Source(folder, tuple((part, f"sentiment-{part}", read) for part in ("train", "dev", "test")))


SOURCES = {
    "MR": _halves("MR", "rt-polarity.pos", "rt-polarity.neg"),
    "CR": _halves("CR", "custrev.pos", "custrev.neg"),
    "SUBJ": _halves("SUBJ", "subj.objective", "subj.subjective"),
    "MPQA": _halves("MPQA", "mpqa.pos", "mpqa.neg"),
    "SST2": _thirds("SST/binary", _sst2),
    "SST5": _thirds("SST/fine", _sst5),
    "TREC": _Source("TREC", (("train", "train_5500.label", _trec), ("test", "TREC_10.label", _trec)), "latin-1"),
    "MRPC": _Source(
        "MRPC", (("train", "msr_paraphrase_train.txt", _mrpc), ("test", "msr_paraphrase_test.txt", _mrpc)), skip=1
    ),
}
TASKS = tuple(SOURCES)
SEVEN = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")  # whose average papers report


def read(name: str, data: Path) -> TransferTask:
    """The task `name`, in any case, of files at or below `data`. Raises UnknownName, NotFound, and UsageError."""
    source = SOURCES[task_name(name)]
    folder = _folder(source, data)
    rows: dict[str, list[Row]] = {}
    for part, file, reader in source.files:
        rows.setdefault(part, []).extend(_rows(folder / file, source, reader))
    parts = {part: _labelled(part_rows) for part, part_rows in rows.items()}
    return TransferTask(task_name(name), parts, tuple(folder / file for _, file, _ in source.files))


def task_name(name: str) -> str:
    """The name of a task, from a name in any case. Raises UnknownName."""
    if name.upper() not in SOURCES:
        raise UnknownName("transfer task", name.upper(), TASKS)
    return name.upper()


def _folder(source: _Source, data: Path) -> Path:
    for root in (data, data / "senteval_transfer", data / "downstream", data / "data" / "downstream"):
        if (root / source.folder / source.files[0][1]).is_file():
            return root / source.folder
    fix = "Name the folder made by SentEval's get_transfer_data.bash"
    raise NotFound(f"there is no {source.folder}/{source.files[0][1]} in {data}.", f"{fix}.", f"{fix}: --data DIR.")


def _rows(path: Path, source: _Source, reader: Reader) -> Iterator[Row]:
    try:
        lines = path.read_text(encoding=source.encoding).removesuffix("\n").split("\n")
    except OSError as error:
        raise NotFound(
            f"the task's file {path} does not exist.", "Check the folder.", "Check the folder: --data DIR."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}).", "Use SentEval's files.") from None
    for number, line in enumerate(lines[source.skip :], source.skip + 1):
        try:
            texts, label = reader(line.strip())
            if label < 0:
                raise ValueError(label)
        except ValueError:
            raise UsageError(f"{path}:{number}: not a line of {source.folder}.", "Use SentEval's files.") from None
        yield tuple(" ".join(text.split()) for text in texts), label


def _labelled(rows: Sequence[Row]) -> LabelledTexts:
    order = sorted(rows, key=lambda row: (*(len(text.split()) for text in row[0]), row[1]))
    return LabelledTexts(tuple(zip(*(texts for texts, _ in order), strict=True)), tuple(label for _, label in order))
