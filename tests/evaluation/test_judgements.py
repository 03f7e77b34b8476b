"""Judged hits: kept beside the index, never half written or lost, and a test set in formats that others read."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semsearch import Document, Index, admin
from semsearch.errors import Corrupt, NotFound, UsageError
from semsearch.evaluation import Judgements, evaluate, evaluate_search, read_judgements
from semsearch.evaluation.retrieval import ranked
from semsearch.types import Query, Results
from semsearch.utils import atomic_write

DOCUMENTS = [
    Document("diesel.txt", "A diesel engine ignites fuel by compression."),
    Document("petrol.txt", "A petrol engine ignites fuel with a spark plug."),
    Document("my bread.txt", "Bread needs salt and time and a hot oven."),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Index.create("notes", encoder="hashing", home=tmp_path) as index:
        index.add(DOCUMENTS)
    return tmp_path


def test_a_judgement_is_there_for_the_next_process_and_for_its_owner_alone(home: Path) -> None:
    Judgements("notes", home).judge("which  engine\nhas a spark? ", "petrol.txt", 1)
    Judgements("notes", home).judge("which engine has a spark?", "diesel.txt", 0)
    again = Judgements(home / "notes")
    assert again.grades() == {"which engine has a spark?": {"petrol.txt": 1, "diesel.txt": 0}}
    assert again.of(" which engine has a spark?") == {"petrol.txt": 1, "diesel.txt": 0}
    assert again.of("another") == {}
    assert again.file.parent.stat().st_mode & 0o077 == 0
    assert admin.names(home) == ["notes"]


def test_a_judgement_is_replaced_and_taken_back(home: Path) -> None:
    kept = Judgements("notes", home)
    for grade in (1, 0, 3):
        kept.judge("q", "a", grade)
        assert kept.of("q") == {"a": grade}
    kept.judge("q", "b", 1)
    kept.judge("q", "a", None)
    kept.judge("never", "judged", None)
    assert kept.grades() == {"q": {"b": 1}}
    kept.judge("other", "a", 1)
    kept.forget("q")
    assert list(kept.grades()) == ["other"]
    kept.forget()
    assert kept.grades() == {}
    with pytest.raises(UsageError, match="needs a question"):
        kept.judge(" ", "a", 1)


def test_judgements_follow_a_rename_and_outlive_the_index(home: Path) -> None:
    Judgements("notes", home).judge("q", "a", 1)
    admin.rename("notes", "papers", home)
    assert Judgements("notes", home).grades() == {}
    assert Judgements("papers", home).grades() == {"q": {"a": 1}}
    admin.remove("papers", home)
    assert Judgements("papers", home).grades() == {"q": {"a": 1}}


def test_the_test_set_has_the_questions_that_a_document_answers(home: Path) -> None:
    kept = Judgements("notes", home)
    for question, document, grade in (("one", "a", 1), ("one", "b", 0), ("none helps", "a", 0), ("two", "b", 2)):
        kept.judge(question, document, grade)
    found = kept.test_set()
    assert dict(found.queries) == {"q1": "one", "q2": "two"}
    assert dict(found.qrels) == {"q1": {"a": 1, "b": 0}, "q2": {"b": 2}}
    assert found.left_out == ("none helps",)


def test_what_is_exported_is_read_by_eval_and_imported_again(home: Path, tmp_path: Path) -> None:
    kept = Judgements("notes", home)
    kept.judge("where is salt? “ü”", "my bread.txt", 1)
    kept.judge("where is salt? “ü”", "diesel.txt", 0)
    kept.judge("a spark", "petrol.txt", 2)
    files = kept.export(tmp_path / "out")
    assert [file.name for file in files] == ["queries.jsonl", "qrels.txt"]
    written = [file.read_text(encoding="utf-8") for file in files]
    assert tuple(written) == kept.written()
    assert [line.split()[:2] for line in written[1].splitlines()] == [["q1", "0"], ["q1", "0"], ["q2", "0"]]  # TREC
    other = Judgements("other", home)
    other.judge("a spark", "petrol.txt", 0)
    other.judge("a spark", "diesel.txt", 1)
    assert other.add(*read_judgements(*written)) == 3
    assert other.grades() == {
        "a spark": {"petrol.txt": 2, "diesel.txt": 1}, "where is salt? “ü”": {"my bread.txt": 1, "diesel.txt": 0}
    }  # fmt: skip


def test_files_that_do_not_belong_together_change_nothing(home: Path) -> None:
    kept = Judgements("notes", home)
    with pytest.raises(UsageError, match="1 judged queries have no text; the first is 'q9'"):
        kept.add(*read_judgements("q1\tone\n", "q9 0 a 1\n"))
    with pytest.raises(UsageError, match=r"mine\.txt:2: not a judgement"):
        read_judgements("q1\tone\n", "q1 0 a 1\nnonsense\n", ("queries.tsv", "mine.txt"))
    with pytest.raises(NotFound, match="no judgements"):
        kept.export(home / "out")
    assert kept.grades() == {} and not (home / "out").exists()
    kept.judge("q", "a\tb", 1)
    with pytest.raises(UsageError, match="a tab or a line break"):
        kept.written()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"questions": 7}', '{"questions": [{"text": "q", "grades": {"a": "x"}}]}']
)
def test_a_damaged_file_is_named_and_left_as_it_is(content: str, home: Path) -> None:
    kept = Judgements("notes", home)
    kept.file.parent.mkdir()
    kept.file.write_text(content, encoding="utf-8")
    for act in (kept.grades, lambda: kept.judge("q", "a", 1), kept.forget):
        with pytest.raises(Corrupt, match=r"notes\.json"):
            act()
    assert kept.file.read_text(encoding="utf-8") == content


def test_a_change_that_fails_half_way_leaves_what_was_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Judgements("notes", home)
    kept.judge("q", "a", 1)

    def failing(file: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(atomic_write, "sync_file", failing)
        with pytest.raises(OSError):
            kept.judge("q", "b", 1)
    assert kept.grades() == {"q": {"a": 1}}
    kept.judge("q", "b", 0)  # neither the lock nor the unfinished file is in the way
    assert kept.grades() == {"q": {"a": 1, "b": 0}}


def test_several_who_judge_at_once_lose_nothing(home: Path) -> None:
    def judge(number: int) -> None:
        Judgements("notes", home).judge(f"question {number % 3}", f"document {number}", number % 2)

    with ThreadPoolExecutor(8) as several:
        list(several.map(judge, range(40)))
    found = Judgements("notes", home).grades()
    assert {name for of in found.values() for name in of} == {f"document {number}" for number in range(40)}
    json.loads(Judgements("notes", home).file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_a_search_is_measured_as_evaluate_does_with_times_and_unjudged_hits(mode: str, home: Path) -> None:
    queries = {"q1": "engine with a spark plug", "q2": "bread and salt"}
    qrels = {"q1": {"petrol.txt": 1, "diesel.txt": 0}, "q2": {"my bread.txt": 1}}
    asked: list[Query] = []
    steps: list[tuple[int, int]] = []
    with Index.open("notes", home=home) as index:

        def find(query: Query) -> Results:
            asked.append(query)
            return index.search(query)

        found = evaluate_search(find, queries, qrels, mode, progress=lambda *step: steps.append(step))
        right = evaluate(ranked(index.search, mode, 10), queries, qrels, 10)
        hits = {query: [hit.document for hit in index.search(text, mode=mode, k=10)] for query, text in queries.items()}
    assert {name: found[name] for name in ("nDCG@10", "recall@10", "MRR@10", "queries")} == {
        name: right[name] for name in ("nDCG@10", "recall@10", "MRR@10", "queries")
    }
    shares = [sum(name in qrels[query] for name in hits[query]) / len(hits[query]) for query in queries]
    assert [each["judged@10"] for each in found["per_query"].values()] == pytest.approx(shares)
    assert found["judged@10"] == pytest.approx(sum(shares) / 2) and (mode == "keyword" or found["judged@10"] < 1)
    assert 0 < found["ms"] <= found["ms, 95 %"]
    assert len(asked) == 3 and steps == [(0, 2), (1, 2)]  # the first twice: it loads the encoder


def test_a_copy_of_a_judged_document_counts_as_judged(home: Path) -> None:
    with Index.open("notes", home=home) as index:
        index.add([Document("copy.txt", DOCUMENTS[1].text)])
        found = evaluate_search(index.search, {"q": "spark plug"}, {"q": {"petrol.txt": 1}}, "keyword")
    assert found["judged@10"] == 1.0 and found["MRR@10"] == 1.0


def test_where_likely_hits_did_not_help_fewer_hits_are_likely(home: Path) -> None:
    with Index.open("notes", home=home) as index:
        before = index.search("which engine has a spark plug")
        strength = before[0].strength
        assert before.good_match and strength is not None and before.query.abstain == 0.1
        kept = Judgements("notes", home)
        for n in range(4):
            kept.judge(f"question {n}", "petrol.txt", 0, 0.96)
        after = index.search("which engine has a spark plug")
        assert after.query.abstain < 0.04
        assert index.search("a spark", abstain=0.01).query.abstain == 0.01
        for n in range(4):  # helped after all
            kept.judge(f"question {n}", "diesel.txt", 1, 0.9)
        assert index.search("which engine has a spark plug").query.abstain == 0.1
        with pytest.raises(UsageError, match="abstain"):
            index.search("a spark", abstain=2)
