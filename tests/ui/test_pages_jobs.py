"""Jobs of the pages that are on no index: they go by a key of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.pages import ended, opened
from streamlit.testing.v1 import AppTest

from semsearch import Progress, SemsearchError
from semsearch_ui.shared.work import background, jobs, progress

PAGE = "from semsearch_ui import job_list\njob_list.show()"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    import streamlit as st

    yield
    st.cache_resource.clear()


def test_a_job_of_a_key_gives_its_outcome_and_stands_beside_those_of_other_keys() -> None:
    go, first, second = threading.Event(), ("Compare", "a"), ("Compare", "b")
    jobs.start(first, "Measuring", lambda _: jobs.Outcome(f"first {go.wait(60)}"))
    jobs.start(second, "Measuring", lambda _: jobs.Outcome("second"))
    assert ended(second) == "done"
    assert jobs.busy(first)
    with pytest.raises(SemsearchError, match="Compare is busy: measuring is still running"):
        jobs.start(first, "Measuring", lambda _: jobs.Outcome(""))
    go.set()
    assert ended(first) == "done"
    found = [job.outcome.text for key in (first, second) if (job := jobs.last(key)) and job.outcome]
    assert found == ["first True", "second"]


def test_a_job_of_a_key_is_stopped_from_any_page_and_only_announced_jobs_are_announced() -> None:
    stepped = threading.Event()

    def work(report: jobs.Report) -> jobs.Outcome:
        while True:
            report(Progress(1, 4, "pairs", "*pair*"))
            stepped.set()
            time.sleep(0.01)  # as work that computes in C: the page gets its turn

    jobs.start(("Compare", "a"), "Measuring", work)
    jobs.start(("Compare", "b"), "Measuring", lambda _: jobs.Outcome("silent"), announced=False)
    assert stepped.wait(60)
    assert ended(("Compare", "b")) == "done"
    page = opened(PAGE)
    assert not page.success
    [button] = [each for each in page.button if each.label == "Stop"]
    button.click().run()
    assert ended(("Compare", "a")) == "stopped"
    page.run()
    assert not page.exception
    assert "stopped" in page.warning[0].value


def test_an_end_is_told_until_one_turns_to_another_page_and_stays_in_the_history() -> None:
    page = opened(PAGE)
    jobs.start(("Compare", "a"), "Measuring", lambda _: jobs.Outcome("All is well."))
    assert ended(("Compare", "a")) == "done"
    for _ in range(2):
        assert ["All is well" in each.value for each in page.run().success] == [True]
    page.session_state["address of the page"] = "map"
    assert not page.run().success
    assert any("All is well" in each.value for each in page.caption)
    fresh = opened(PAGE)  # another window
    assert not fresh.success and any("All is well" in each.value for each in fresh.caption)


def test_what_is_left_of_a_job_is_told_with_its_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.Job("notes", "Updating", began=1000.0)
    monkeypatch.setattr("time.monotonic", lambda: 1100.0)
    job.progress = Progress(25, 100, "bytes", "a.md", 4400, 510, 5000)
    assert progress.status(job) == "510 of 5,000 files · 4,400 passages · 5 min left"
    job.progress = Progress(100, 100, "bytes", "z.md", 0, 26, 27)  # all is read; encoding takes its time
    assert progress.status(job) == "26 of 27 files · 2 min"
    job.progress = Progress(3, 0, "files")
    assert progress.status(job) == "3 files · 2 min"


@pytest.mark.parametrize("surveyed", [0.0, 0.7, 1.0, 1.4])  # 0: begun before the survey has ended
@pytest.mark.parametrize("large_first, sparse", [(False, 1), (True, 1), (False, 4)])  # the largest, as PDFs are
def test_the_time_left_is_never_far_from_what_it_turns_out_to_be(
    surveyed: float, large_first: bool, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 files at ten passages a second, in batches; a survey that is a third off, one rate, then another."""
    sizes = sorted((1 + at * at // 400 for at in range(300)), reverse=large_first)
    found = [size // (sparse if size > 200 else 1) for size in sizes]  # passages
    total = sum(sizes)
    job = jobs.Job("notes", "Indexing", began=0.0, expected=round(surveyed * sum(found)))
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    job.report(Progress(0, total, "bytes", "a.md", 0, 0, len(sizes)))
    clock[0] = 8.0
    job.report(Progress(total // 9, total, "bytes", "b.md", 0, 9, len(sizes)))  # read, and not encoded yet
    assert "estimating" in progress.status(job)
    clock[0] = 0.0
    stored, read, there, left = 0, 0, 0, []
    for at, (size, passages) in enumerate(zip(sizes, found, strict=True), 1):
        read, there = read + size, there + passages
        while there - stored >= (256 if stored else 50) or (at == len(sizes) and stored < there):
            batch = min(256 if stored else 50, there - stored)
            clock[0] += batch / 10
            stored += batch
            job.report(Progress(read, total, "bytes", "", stored, at, len(sizes)))
            if clock[0] > 60:
                left.append((clock[0], progress._left(job, progress._rate(job), clock[0]), stored))
    seconds = {"s": 1.0, "min": 60.0, "h": 3600.0}
    for at, said, stored in left:
        truth = clock[0] - at
        if (truth > 60) if sparse == 1 else (10 < truth < 60):  # none sees sparse files come, but all see them pass
            number, unit, _ = said.split()
            assert float(number) * seconds[unit] <= 1.5 * truth + (30 if sparse == 1 else 5), (at, said, truth, stored)
            assert float(number) * seconds[unit] >= truth / 1.6 - 30, (at, said, truth, stored)


def test_only_the_last_jobs_of_keys_are_kept() -> None:
    for number in range(jobs.MOST_FINISHED + 3):
        jobs.start(("Compare", str(number)), "Measuring", lambda _: jobs.Outcome(""), announced=False)
        assert ended(("Compare", str(number))) == "done"
    assert jobs.last(("Compare", "0")) is None
    assert jobs.last(("Compare", str(jobs.MOST_FINISHED + 2))) is not None


class Panic(BaseException):
    """As Rust has them: no Exception."""


def panicking() -> None:
    raise Panic


def test_a_fault_that_is_no_exception_ends_its_job_and_holds_up_nobody_else() -> None:
    jobs.start(("Test", "panic"), "Falling", lambda _: panicking())
    assert ended(("Test", "panic")) == "failed"
    line = background.Worker()
    failed, next_ = line("one", panicking), line("two", lambda: 2)
    assert isinstance(failed.exception(60), Panic) and next_.result(60) == 2


def test_work_ends_without_a_word_where_the_server_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(jobs, "server_ends", lambda: True)
    for each in (work, lambda report: report(Progress(1, 2, "texts", ""))):
        job = jobs.Job(("Compare", "x"), "Measuring")
        job.run(each)
        assert (job.state, job.error) == ("stopped", "")


def test_what_somebody_waits_for_is_kept_however_much_is_asked_beside_it() -> None:
    line, go = background.Worker(), threading.Event()
    waiting = line("waiting", lambda: go.wait(60))
    others = [line(number, lambda: 0) for number in range(background.MOST_RESULTS)]
    assert line("waiting", lambda: False) is waiting
    go.set()
    assert waiting.result(60) and [each.result(60) for each in others] == [0] * background.MOST_RESULTS
    line("one more", lambda: 0)
    assert line(0, lambda: 1).result(60) == 1  # done, and the oldest: gone


def test_what_a_job_or_a_click_says_leaves_the_page_under_it_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path))
    page = AppTest.from_string(
        "from semsearch_ui.shared import messages\nmessages.outcome_of_click()\nimport streamlit as st\nst.title('x')",
        default_timeout=120,
    )
    page.run()
    before = len(page.main.children)
    page.session_state["refused"] = "busy"
    page.run()
    assert page.error[0].value == "busy"
    assert len(page.main.children) == before == 2
