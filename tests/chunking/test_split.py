"""Passages are exact slices of their document, whole sentences where they fit, and never longer than asked."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from types import FrameType
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.chunking.sentences import sentences
from semsearch.chunking.splitter import Kind, Splitter, passages
from semsearch.encoders.encoder import Encoder
from semsearch.errors import UnknownName, UsageError
from semsearch.types import Document, Mark, Passage


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def letters(texts: Sequence[str]) -> list[int]:
    """As a tokenizer that knows no words: the most tokens a text can have."""
    return [sum(not letter.isspace() for letter in text) for text in texts]


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


TEXTS = st.text(st.sampled_from("ab A.。!? \n\t-#*1,　字x\u00a0'\")|ß"), max_size=400)
MARKS = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 4), st.sampled_from("HIJ")), max_size=8)


def document_of(text: str, places: list[tuple[int, int, str]]) -> Document:
    marks = tuple(Mark(start, page, heading) for start, page, heading in sorted({p[0]: p for p in places}.values()))
    return Document("x", text, marks=marks, lines=True)


@given(TEXTS, MARKS, st.sampled_from(get_args(Kind)), st.integers(1, 40), st.integers(0, 39))
def test_passages_are_slices_that_ascend_cover_everything_and_keep_to_the_size(
    text: str, places: list[tuple[int, int, str]], kind: Kind, size: int, overlap: int
) -> None:
    document = document_of(text, places)
    found = passages(document, Splitter(kind, size, overlap % size), letters)
    assert all(text[p.start : p.end] == p.text and p.text == p.text.strip() and p.text for p in found)
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(found))
    covered = {at for p in found for at in range(p.start, p.end)}
    assert all(at in covered for at, letter in enumerate(text) if not letter.isspace())
    assert kind == "none" or all(count <= size for count in letters([p.text for p in found]))
    for p in found:
        mark = next((m for m in reversed(document.marks) if m.start <= p.start), Mark(0))
        assert (p.page, p.heading, p.line) == (mark.page, mark.heading, 1 + text[: p.start].count("\n"))


@given(TEXTS)
def test_sentences_partition_the_text(text: str) -> None:
    spans = sentences(text)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four…", ["One.", "Two!", "Three?", "Four…"]),
        ("Dr. Wu met Mr. J. R. Smith at 3.14 p.m. on Jan. 5.", ["Dr. Wu met Mr. J. R. Smith at 3.14 p.m. on Jan. 5."]),
        ("Use e.g. Python, i.e. CPython 3.11. See fig. 2.", ["Use e.g. Python, i.e. CPython 3.11.", "See fig. 2."]),
        ("The answer is no. We stop.", ["The answer is no.", "We stop."]),
        ("It took 5 ms. Then it ended.", ["It took 5 ms.", "Then it ended."]),
        ("He said “Stop.” Then (it ended.) Yes.", ["He said “Stop.”", "Then (it ended.)", "Yes."]),
        ("“Really?” he asked. Yes.", ["“Really?” he asked.", "Yes."]),
        ("Visit example.org or v1.2.3 now.", ["Visit example.org or v1.2.3 now."]),
        ("Wait... what? Well... Yes.", ["Wait... what?", "Well...", "Yes."]),
        ("今天天气很好。我们去公园！真的？是的", ["今天天气很好。", "我们去公园！", "真的？", "是的"]),
        ("「行こう。」彼は言った。", ["「行こう。」", "彼は言った。"]),
        ("A line that is\nwrapped. The end", ["A line that is\nwrapped.", "The end"]),
        ("First paragraph\n\nsecond one", ["First paragraph", "second one"]),
        ("Buy:\n- milk\n- bread. And\n  butter", ["Buy:", "- milk", "- bread.", "And\n  butter"]),
        ("1. First step.\n2. Second\n  3. Third step", ["1. First step.", "2. Second", "3. Third step"]),
        ("# A title\nText below it", ["# A title", "Text below it"]),
        ("z.B. ein Satz, d.h. dieser. Noch einer.", ["z.B. ein Satz, d.h. dieser.", "Noch einer."]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences_end_where_a_reader_stops(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_windows_consist_of_whole_sentences_and_repeat_the_overlap() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    plain = [p.text for p in passages(Document("x", text), Splitter(size=6), words)]
    assert plain == ["One two three. Four five six.", "Seven eight nine. Ten eleven twelve."]
    overlapping = [p.text for p in passages(Document("x", text), Splitter(size=6, overlap=3), words)]
    assert overlapping == [
        "One two three. Four five six.",
        "Four five six. Seven eight nine.",
        "Seven eight nine. Ten eleven twelve.",
    ]


def test_a_heading_begins_a_window_once_a_third_is_full() -> None:
    text = "Intro words here today.\n\nSetup\n\nInstall it first. Then run it.\n\nUse\n\nCall it."
    marks = (
        Mark(0, heading="Intro"),
        Mark(text.index("Setup"), heading="Setup"),
        Mark(text.index("Use"), heading="Use"),
    )
    document = Document("x", text, marks=marks)
    assert [p.heading for p in passages(document, Splitter(size=12), words)] == ["Intro", "Setup", "Use"]
    assert [p.heading for p in passages(document, Splitter(size=60), words)] == ["Intro"]
    assert [p.heading for p in passages(document, Splitter("markdown", size=30), words)] == ["Intro", "Setup", "Use"]


@pytest.mark.parametrize("kind", ["sentences", "markdown"])
def test_furniture_is_kept_apart_however_short_it_is(kind: Kind) -> None:
    text = "Pumps run\n- Start\n- Stop\n\nThey start at six and stop at ten."
    marks = (Mark(0, heading="Pumps"), Mark(10, heading="Pumps", furniture=True), Mark(26, heading="Pumps"))
    cut = passages(Document("x", text, marks=marks), Splitter(kind, 100), words)
    assert [one.text for one in cut] == ["Pumps run", "- Start\n- Stop", "They start at six and stop at ten."]


def test_a_sentence_over_the_size_is_cut_between_words_and_a_word_between_letters() -> None:
    text = " ".join(f"word{n}" for n in range(100)) + " " + "x" * 500
    found = passages(Document("x", text), Splitter(size=16), words)
    assert all(words([p.text]) <= [16] for p in found)
    assert all(p.text.startswith(("word", "x")) and len(p.text) <= 16 * 16 for p in found)


def test_fixed_windows_come_close_to_their_size() -> None:
    text = " ".join(["word"] * 1000)
    found = passages(Document("x", text), Splitter("tokens", 64, 16), words)
    counts = words([p.text for p in found])
    assert all(count == 64 for count in counts[:-1])
    assert sum(counts) == 1000 + 16 * (len(counts) - 1)


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("text", ["", " \n\n "])
def test_a_document_without_text_has_no_passages(kind: Kind, text: str) -> None:
    assert passages(Document("x", text), Splitter(kind), words) == []


def test_none_keeps_the_document_whole() -> None:
    text = "  One. Two.\n\nThree.  "
    assert passages(Document("x", text, lines=True), Splitter("none"), words) == [Passage(2, 19, text.strip(), line=1)]


@pytest.mark.parametrize("arguments", [{"size": 0}, {"size": 8, "overlap": 8}, {"overlap": -1}])
def test_an_invalid_splitter_is_a_usage_error(arguments: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Splitter(**arguments)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="Did you mean 'sentences'"):
        Splitter("sentence")  # type: ignore[arg-type]


HOSTILE = ["x" * 9, "x ", ". ", "\n", "a.\n", "# ", "。", ".", "(", "\u00a0", "Dr. ", "- a\n", "𝒳"]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.slow
def test_time_is_linear_whatever_the_text(unit: str) -> None:
    def seconds(count: int) -> float:
        document = Document("x", unit * count)
        begin = time.process_time()
        passages(document, Splitter(size=128, overlap=32), letters)
        return time.process_time() - begin

    small = min(seconds(10_000) for _ in range(3))
    assert any(seconds(80_000) < 24 * small + 0.3 for _ in range(2))  # 8 times the text; quadratic would be 64 times


@given(st.text(max_size=300), st.integers(4, 64))
def test_the_minilm_encoders_tokens_stay_within_the_size(minilm_encoder: Encoder, text: str, size: int) -> None:
    found = passages(Document("x", text), Splitter(size=size), minilm_encoder.count_tokens)
    assert all(count <= size for count in minilm_encoder.count_tokens([p.text for p in found]))


def test_no_token_is_counted_of_a_text_with_fewer_letters_than_a_passage_has_tokens() -> None:
    def refused(texts: Sequence[str]) -> list[int]:
        raise AssertionError(f"{len(texts)} texts were counted")

    text = " One sentence. Another one!\n\nA third.\n"
    (found,) = passages(Document("x", text), Splitter(size=len(text) + 1), refused)
    assert (found.start, found.end, found.text) == (1, len(text) - 1, text.strip())
    for longer in (text, text.replace("third", "drítt")):
        with pytest.raises(AssertionError, match="texts were counted"):
            passages(Document("x", longer), Splitter(size=len(text)), refused)


UNBROKEN = ("x", "京", "x.", ". ", "#", "a\n", "- a", '"', " ", "a. ")


@pytest.mark.parametrize("piece", UNBROKEN)
def test_no_text_keeps_other_threads_waiting_while_it_is_split(piece: str) -> None:
    """It did for 0.004 s, and the longer the longer a text is: 1.9 s for 5 MB; 0.001 s now, and 0.05 for these."""
    assert any(longest_step(piece) <= 0.0025 for _ in range(5))


def longest_step(piece: str) -> float:
    """The most seconds of processor time between two lines of Python: only there may another thread take its turn."""
    longest, before = 0.0, time.thread_time()

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal longest, before
        now = time.thread_time()
        longest, before = max(longest, now - before), now
        return traced

    outer = sys.gettrace()
    gc.disable()  # of all that the tests before have left
    sys.settrace(traced)
    try:
        passages(Document("x", "a" + piece * (60_000 // len(piece)) + "b"), Splitter(), letters)
    finally:
        sys.settrace(outer)
        gc.enable()
    return longest
