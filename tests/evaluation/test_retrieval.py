from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, R, nDCG

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import retrieval
from semsearch.types import Query

DOCUMENTS = [f"d{number}" for number in range(30)]

rankings = st.lists(st.sampled_from(DOCUMENTS), unique=True, min_size=1, max_size=30)
judgements = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 4), min_size=1, max_size=15)


def answering(*ranked: list[str]) -> retrieval.Search:
    return lambda texts: ranked


@given(st.lists(st.tuples(rankings, judgements), min_size=1, max_size=4))
def test_every_measure_equals_that_of_ir_measures(cases: list[tuple[list[str], dict[str, int]]]) -> None:
    qrels = {f"q{number}": grades for number, (_, grades) in enumerate(cases)}
    run = {
        f"q{number}": {doc: -float(rank) for rank, doc in enumerate(ranking)}
        for number, (ranking, _) in enumerate(cases)
    }
    ours = retrieval.evaluate(answering(*(ranking for ranking, _ in cases)), dict.fromkeys(qrels, "text"), qrels, k=20)
    names = {nDCG @ 10: "nDCG@10", R @ 20: "recall@20", RR @ 10: "MRR@10", AP @ 20: "MAP@20"}
    for measured in ir_measures.iter_calc(list(names), qrels, run):
        assert ours["per_query"][measured.query_id][names[measured.measure]] == pytest.approx(measured.value, abs=1e-9)
    theirs = ir_measures.calc_aggregate(list(names), qrels, run)
    assert {names[measure]: ours[names[measure]] for measure in names} == pytest.approx(
        {names[m]: v for m, v in theirs.items()}, abs=1e-9
    )


def test_ndcg_is_the_number_worked_out_by_hand() -> None:
    grades = {"a": 3, "b": 2, "c": 1}
    # DCG = 2/log2(2) + 0 + 3/log2(4) = 3.5; ideal = 3 + 2/log2(3) + 1/log2(4) = 4.761860
    assert retrieval.ndcg(["b", "x", "a"], grades) == pytest.approx(3.5 / 4.761860, abs=1e-6)


def test_a_query_without_an_answer_counts_as_zero_and_is_not_left_out() -> None:
    report = retrieval.evaluate(answering(["a"], []), {"1": "x", "2": "y"}, {"1": {"a": 1}, "2": {"a": 1}})
    assert report["queries"] == 2
    assert report["nDCG@10"] == 0.5


def test_equal_ids_of_query_and_document_are_dropped_only_when_asked() -> None:
    queries, qrels = {"7": "text"}, {"7": {"7": 1, "8": 1}}
    kept = retrieval.evaluate(answering(["7", "8"]), queries, qrels)
    dropped = retrieval.evaluate(answering(["7", "8"]), queries, qrels, own_document="drop")
    assert (kept["recall@100"], dropped["recall@100"]) == (1.0, 0.5)


def test_only_judged_queries_are_searched() -> None:
    asked: list[str] = []

    def search(texts: list[str]) -> list[list[str]]:
        asked.extend(texts)
        return [["a"] for _ in texts]

    retrieval.evaluate(search, {"1": "judged", "2": "of another split"}, {"1": {"a": 1}})  # type: ignore[arg-type]
    assert asked == ["judged"]


@pytest.mark.parametrize(
    ("ranked", "queries", "words"),
    [
        ([["a", "a"]], {"1": "x"}, "twice"),
        ([], {"1": "x"}, "0 of 1"),
        ([["a"]], {}, "no text"),
        ([["a"]], {"1": " "}, "no text"),
    ],
)
def test_a_wrong_ranking_is_refused_rather_than_scored(
    ranked: list[list[str]], queries: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        retrieval.evaluate(answering(*ranked), queries, {"1": {"a": 1}})


def test_a_collection_is_read_as_beir_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    documents = [
        {"_id": "4", "title": "A title", "text": "The body."},
        {"_id": 5, "title": "", "text": 'Only "text".'},
        {"_id": "6", "title": "Only title", "text": ""},
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)) + "\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "größe?"}\n\n', encoding="utf-8")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\n1\t4\t2\n1\t5\t0\n", encoding="utf-8")
    read = [(document.id, document.title, document.text) for document in retrieval.beir_corpus(tmp_path)]
    assert read == [
        ("4", "A title", "A title\n\nThe body."),
        ("5", None, 'Only "text".'),
        ("6", "Only title", "Only title"),
    ]
    assert retrieval.beir_queries(tmp_path) == {"1": "größe?"}
    assert retrieval.beir_qrels(tmp_path, "dev") == {"1": {"4": 2, "5": 0}}
    with pytest.raises(NotFound, match=r"test\.tsv"):
        retrieval.beir_qrels(tmp_path)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A folder in BEIR's layout with one document, one query and one judgement."""
    folder = tmp_path / "tiny" / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "Tea."}\n{"_id": "e", "text": ""}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "tea"}\n')
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    return folder


def test_a_collection_is_found_in_its_beir_folder_and_named_after_the_parent(collection: Path) -> None:
    found = retrieval.Collection.read(collection.parent, "train")
    assert (found.name, dict(found.queries), found.qrels) == ("tiny", {"q": "tea"}, {"q": {"d": 1}})
    assert [document.id for document in found.documents()] == ["d"]  # one without a text cannot be found
    assert all(file.is_file() for file in found.files)
    with pytest.raises(NotFound, match=r"test\.tsv does not exist. Splits that exist: train"):
        retrieval.Collection.read(collection)


def test_qrels_without_a_header_lose_no_line(collection: Path) -> None:
    (collection / "qrels" / "test.tsv").write_text("q\td\t1\nq\te\t2\n")
    assert retrieval.beir_qrels(collection) == {"q": {"d": 1, "e": 2}}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("qrels/train.tsv", "q\td\t1\nq\td\thigh\n", r"train\.tsv:2: not a judgement"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\n", "contains no judgement"),
        ("qrels/train.tsv", "q\td\t²\n", r"train\.tsv:1: not a judgement"),
        ("qrels/train.tsv", "q\td\t--1\n", r"train\.tsv:1: not a judgement"),
        ("queries.jsonl", '{"_id": "q", "text": "\udcff"}\n', r"queries\.jsonl is not UTF-8"),
        ("queries.jsonl", '{"_id": "q", "text": "tea"}\n{"_id": \n', r"queries\.jsonl:2: broken JSON"),
        ("queries.jsonl", '{"id": "q"}\n', r"queries\.jsonl:1: a record needs an `_id`"),
    ],
)
def test_errors_in_a_collection_name_file_and_line(collection: Path, name: str, text: str, told: str) -> None:
    (collection / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(UsageError, match=told):
        retrieval.Collection.read(collection, "train")


def test_near_copies_rank_right_after_their_hit() -> None:
    hits = [SimpleNamespace(document="a", near_copies=("b", "c")), SimpleNamespace(document="d", near_copies=())]
    asked: list[Query] = []

    def find(query: Query) -> list[Any]:
        asked.append(query)
        return hits

    assert retrieval.ranked(find, "keyword", k=7)(["tea"]) == [["a", "b", "c", "d"]]
    assert [(query.text, query.mode, query.k) for query in asked] == [("tea", "keyword", 7)]


@pytest.mark.parametrize(
    ("name", "split", "documents", "queries", "judged"),
    [
        ("scifact", "test", 5183, 300, 339),
        ("scifact", "train", 5183, 809, 919),
        ("cranfield", "test", 1400, 225, 1837),
        ("cacm", "test", 3204, 52, 796),
    ],
)
def test_the_real_collections_have_the_published_sizes(
    data: Path, name: str, split: str, documents: int, queries: int, judged: int
) -> None:
    folder = data / name / "beir"
    qrels = retrieval.beir_qrels(folder, split)
    ids = {document.id for document in retrieval.beir_corpus(folder)}
    assert (len(ids), len(qrels), sum(map(len, qrels.values()))) == (documents, queries, judged)
    assert qrels.keys() <= retrieval.beir_queries(folder).keys()
