"""Isolated loaders: what a file does to its parser costs that file, and the caller neither memory nor processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread

import pytest
from helpers.filemaking import sample, written

from semsearch.documents import loaders
from semsearch.documents.isolation import pool
from semsearch.documents.isolation.messages import Malformed, TooLarge, item_of, packed, packed_item, receive
from semsearch.documents.isolation.process import ReaderProcess
from semsearch.documents.loaders import Exceeded, Fields, Limits
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Mark, Skipped

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds; a machine may be busy
LIMITS = Limits(seconds=60, memory_mb=200, output_mb=2)
SHORT = replace(LIMITS, seconds=1)  # for what would never end; on a busy machine anything else can take a second
PLUGIN = """
import os, signal, subprocess, sys, time
from pathlib import Path
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Skipped

SUFFIXES = (".trap",)
ISOLATED = True
KEPT = []


def load(path, fields):
    match path.read_text(encoding="utf-8").split():
        case ["text", text]:
            yield Document("", text)
        case ["hang"]:
            while True:
                pass
        case ["sleep"]:
            path.with_suffix(".asleep").write_text(f"{os.getpid()}\\n")
            time.sleep(1000)
        case ["signal", number]:
            os.kill(os.getpid(), int(number))
        case ["exit"]:
            os._exit(3)
        case ["grow"]:
            kept = []
            while True:
                kept.append(bytes(10**6))
        case ["long"]:
            yield Document("", "x" * 3_000_000)
        case ["many"]:
            while True:
                yield Document("", "x" * 100_000)
        case ["garbage"]:
            for number in range(3, 64):
                try:
                    os.write(number, b"garbage " * 100)
                except OSError:
                    pass
        case ["print"]:
            os.write(1, b"noise " * 100_000)
            print("noise " * 100_000)
            print("noise " * 100_000, file=sys.stderr)
            yield Document("", sys.stdin.read() + "quiet")
        case ["children"]:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
            path.with_suffix(".child").write_text(str(child.pid))
            time.sleep(1000)
        case ["usage"]:
            raise UsageError("no such column.", "Choose one.", "Choose one with --id-field.")
        case ["bug"]:
            raise KeyError("bug " * 1000)
        case ["date"]:
            yield Document("", "text", {"date": Path()})
        case ["pid"]:
            yield Document("", str(os.getpid()))
        case ["modules"]:
            yield Document("", " ".join(sys.modules))
        case ["keep", megabytes]:
            KEPT.append(b"x" * (int(megabytes) * 2**20))
            yield Document("", str(os.getpid()))
"""


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Writes files for a loader of another distribution, which does what its file says."""
    place = tmp_path / "site"
    (place / "trap-1.dist-info").mkdir(parents=True)
    (place / "trap-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: trap\nVersion: 1\n")
    (place / "trap-1.dist-info" / "entry_points.txt").write_text("[semsearch.documents.loaders]\ntrap = trap_loader\n")
    (place / "trap_loader.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(place)
    loaders._loader.cache_clear()
    pool.close()
    yield lambda what: written(tmp_path, f"{what.split()[0]}.trap", what)
    pool.close()


def read(path: Path, limits: Limits = LIMITS) -> list[Document | Skipped]:
    return list(loaders.load(path, "trap", Fields(), limits))


def text(path: Path, limits: Limits = LIMITS) -> str:
    (document,) = read(path, limits)
    assert isinstance(document, Document)
    return document.text


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


# ---- one file costs one file


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("hang", r"^reading took longer than 1 s: raise read_seconds \(SEMSEARCH_READ_SECONDS\)"),
        ("grow", r"^reading needed more than 200 MB of memory: raise read_memory_mb \(SEMSEARCH_READ_MEMORY_MB\)"),
        ("long", r"^its text and metadata are larger than 2 MB: raise read_output_mb \(SEMSEARCH_READ_OUTPUT_MB\)"),
        ("many", "larger than 2 MB"),
        (f"signal {int(signal.SIGSEGV)}", r"crashed \(SIGSEGV\)"),
        ("exit", r"crashed \(exit code 3\)"),
        ("garbage", "crashed|larger than 2 MB"),
    ],
)
def test_a_file_beyond_a_limit_is_refused_and_the_next_one_is_read(
    trap: Callable[[str], Path], what: str, reason: str
) -> None:
    with pytest.raises(Exceeded, match=reason):
        read(trap(what), SHORT if what == "hang" else LIMITS)
    assert text(trap("text next")) == "next"
    assert len(pool.pids()) == 1


def test_a_killed_process_costs_one_file_which_may_be_read_again(trap: Callable[[str], Path]) -> None:
    with pytest.raises(Unreadable, match=r"the process that read it was killed \(SIGKILL\)") as caught:
        read(trap(f"signal {int(signal.SIGKILL)}"))
    assert not isinstance(caught.value, Exceeded)  # which would be remembered
    assert text(trap("text next")) == "next"


def test_a_process_that_died_while_it_was_idle_costs_nothing(trap: Callable[[str], Path]) -> None:
    pid = int(text(trap("pid")))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_running(pid))
    assert int(text(trap("pid"))) != pid


@pytest.mark.parametrize(("what", "kind", "message"), [
    ("usage", UsageError, r"^no such column\. Choose one\.$"),
    ("bug", Unreadable, "^the trap loader failed: KeyError: 'bug bug"),
    ("date", Unreadable, "metadata cannot be written as JSON"),
])  # fmt: skip
def test_the_errors_of_a_loader_arrive_as_they_are(
    trap: Callable[[str], Path], what: str, kind: type[Exception], message: str
) -> None:
    first = int(text(trap("pid")))
    with pytest.raises(kind, match=message) as caught:
        read(trap(what))
    if isinstance(caught.value, UsageError):
        assert caught.value.command == "Choose one with --id-field."
    assert not isinstance(caught.value, Exceeded) and len(str(caught.value)) <= 300
    assert int(text(trap("pid"))) == first


def test_what_a_parser_prints_goes_nowhere(trap: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    assert text(trap("print")) == "quiet"
    assert capfd.readouterr() == ("", "")


def test_the_processes_of_a_parser_end_with_it(trap: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(Exceeded):
        read(trap("children"), SHORT)
    child = int((tmp_path / "children.child").read_text())
    wait_for(lambda: not is_running(child))


# ---- processes


def test_files_share_a_process_which_ends_when_it_is_idle(
    trap: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = int(text(trap("pid")))
    assert {int(text(trap("pid"))) for _ in range(5)} == {pid}
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.1)
    wait_for(lambda: not pool.pids() and not is_running(pid))
    assert int(text(trap("pid"))) != pid


def test_a_process_that_keeps_much_memory_leaves_the_next_file_to_a_new_one(trap: Callable[[str], Path]) -> None:
    assert text(trap("keep 10")) == text(trap("pid"))
    assert text(trap("keep 140")) != text(trap("pid"))


def test_threads_read_at_the_same_time_and_may_end(trap: Callable[[str], Path]) -> None:
    """Linux ends a process together with the thread that started it, if the process asks for that."""
    path, found = trap("pid"), list[str]()
    threads = [Thread(target=lambda: found.append(text(path))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and text(path) in found  # the processes outlive the threads


def test_a_reader_that_stops_early_gets_no_rest_of_it_later(trap: Callable[[str], Path]) -> None:
    reading = loaders.load(trap("many"), "trap", Fields(), LIMITS)
    next(reading)
    reading.close()
    assert text(trap("text next")) == "next"


@pytest.mark.parametrize("name", ["text", "markdown", "jsonl", "csv", "tsv"])
def test_plain_formats_start_no_process(name: str, tmp_path: Path) -> None:
    pool.close()
    assert list(loaders.load(sample(name, tmp_path)))
    assert pool.pids() == []


def test_a_reading_process_loads_nothing_heavy(trap: Callable[[str], Path]) -> None:
    heavy = {"numpy", "faiss", "torch", "onnxruntime", "streamlit", "sqlite_utils", "tokenizers", "transformers"}
    assert heavy & set(text(trap("modules")).split()) == set()


def test_a_fork_reads_with_processes_of_its_own(tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from semsearch.documents import loaders
from semsearch.documents.isolation import pool
path = Path({str(sample("html", tmp_path))!r})
assert list(loaders.load(path))
before = pool.pids()
child = os.fork()
if not child:
    assert pool.pids() == [] and list(loaders.load(path)) and pool.pids() != before
    pool.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert list(loaders.load(path)) and pool.pids() == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=CHECKOUT, timeout=60)


@pytest.mark.parametrize("flags", [[], ["-I"], ["-B", "-X", "utf8"]], ids=str)
def test_a_script_without_a_guard_reads_from_any_folder(flags: list[str], tmp_path: Path) -> None:
    """The script runs once: no process imports it again. Its folder is read-only, and has a module of a usual name."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "json.py").write_text("raise SystemExit('a module of the working directory was imported')")
    script = written(
        tmp_path,
        "script.py",
        f"import sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nfrom pathlib import Path\n"
        "from semsearch.documents import loaders\nprint('once')\n"
        f"print(len(list(loaders.load(Path({str(sample('html', tmp_path))!r})))))\n",
    )
    place.chmod(0o555)
    ran = subprocess.run([sys.executable, *flags, script], capture_output=True, text=True, cwd=place, timeout=60)
    assert (ran.stdout.split(), ran.stderr) == (["once", "1"], "")


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_its_caller(trap: Callable[[str], Path], tmp_path: Path, ended_by: signal.Signals) -> None:
    path, asleep = trap("sleep"), tmp_path / "sleep.asleep"
    script = (
        f"import sys\nsys.path[:] = {sys.path!r}\nfrom pathlib import Path\nfrom semsearch.documents import loaders\n"
        f"list(loaders.load(Path({str(path)!r}), 'trap', limits=loaders.Limits(60, 200, 2)))\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    wait_for(lambda: asleep.exists() and asleep.read_text().endswith("\n"))
    pid = int(asleep.read_text())
    assert is_running(pid)
    caller.send_signal(ended_by)
    caller.communicate(timeout=PATIENCE)
    wait_for(lambda: not is_running(pid))


def test_a_process_ends_with_its_pipe_even_in_the_middle_of_a_file(trap: Callable[[str], Path]) -> None:
    """So it does where the system cannot end it with its caller."""
    worker = ReaderProcess()
    try:
        worker.wait_until_ready()
        worker._send(packed({
            "kind": "read", "loader": "trap", "path": str(trap("hang")),
            "fields": asdict(Fields()), "limits": asdict(LIMITS),
        }))  # fmt: skip
        assert worker.is_usable()
        worker._pipes()[0].close()
        wait_for(lambda: not worker.is_usable())
    finally:
        worker.kill()


def test_ctrl_c_is_for_the_caller_alone(trap: Callable[[str], Path]) -> None:
    pid = int(text(trap("pid")))
    assert os.getpgid(pid) != os.getpgrp()
    os.kill(pid, signal.SIGINT)
    assert int(text(trap("pid"))) == pid


def test_every_format_is_read_in_the_least_memory(tmp_path: Path) -> None:
    limits = Limits(60, 64, 1)
    for name in ("html", "pdf", "docx", "odt", "sqlite"):
        assert list(loaders.load(sample(name, tmp_path), name, Fields(sql="SELECT * FROM notes"), limits))


def test_a_program_that_cannot_be_started_is_a_reason(
    trap: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unreadable, match="no process could be started to read it") as caught:
        read(trap("pid"))
    assert not isinstance(caught.value, Exceeded)
    for program in ("/bin/true", "/bin/echo"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(Unreadable, match="no process could be started to read it"):
            read(trap("pid"))


# ---- messages


@pytest.mark.parametrize("item", [
    Document("#1", "text \udce9 €\n", {"a": [1, 2.5, None, {"b": True}]}, "title", (Mark(0, 1, "h"), Mark(5))),
    Document("", "", lines=True),
    Skipped("a.db:1", "no text"),
])  # fmt: skip
def test_a_message_brings_what_was_sent(item: Document | Skipped, tmp_path: Path) -> None:
    path = written(tmp_path, "pipe", packed_item(item, 10_000))
    with path.open("rb") as stream:
        message = receive(stream, 10_000)
        assert message is not None and item_of(message) == item
        assert receive(stream, 10_000) is None


GOOD = {"kind": "document", "id": "", "title": None, "lines": False, "metadata": {}, "marks": []}


@pytest.mark.parametrize("head", [
    {**GOOD, "id": 3}, {**GOOD, "marks": [[9, None, None]]}, {**GOOD, "marks": [[1, None, None], [0, None, None]]},
    {**GOOD, "marks": [[0, "1", None]]}, {**GOOD, "marks": [3]}, {**GOOD, "metadata": []}, {**GOOD, "title": 1},
    {**GOOD, "kind": "else"}, {"kind": "document"}, {"kind": "skipped", "path": 1, "reason": ""},
])  # fmt: skip
def test_a_message_that_is_no_document_is_refused(head: dict[str, object], tmp_path: Path) -> None:
    path = written(tmp_path, "pipe", packed(head, "text"))
    with path.open("rb") as stream, pytest.raises(Malformed):
        message = receive(stream, 10_000)
        assert message is not None
        item_of(message)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"\xff" * 16, TooLarge),
        (packed({"kind": "end"}, "x" * 20_000), TooLarge),
        (b"\0" * 7 + b"\2" + b"\0" * 8 + b"[]", Malformed),
        (b"\0" * 7 + b"\2" + b"\0" * 8 + b"{[", Malformed),
        (b"\0" * 7 + b"\1" + b"\0" * 8 + b"\xff", Malformed),
    ],
)
def test_bytes_that_are_no_message_are_refused_before_they_are_read(
    raw: bytes, error: type[Exception], tmp_path: Path
) -> None:
    with written(tmp_path, "pipe", raw).open("rb") as stream, pytest.raises(error):
        receive(stream, 10_000)


def test_a_cut_message_is_the_end(tmp_path: Path) -> None:
    whole = packed({"kind": "end"}, "text")
    for end in range(len(whole)):
        with written(tmp_path, "pipe", whole[:end]).open("rb") as stream, contextlib.closing(stream):
            assert receive(stream, 10_000) is None
