"""The scripts keep their word: the sample collection, the demo, and the programs that measure."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from helpers import declared

from scripts.bench import strength
from semsearch import Document, Encoder, Index
from semsearch.documents.loaders import load
from semsearch.evaluation import retrieval
from semsearch.types import Mode

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = CHECKOUT / "scripts"
SAMPLE = SCRIPTS / "sample"
SOURCES = SCRIPTS / "release" / "sample_sources"
SHELL = [
    *(SCRIPTS / name for name in ("check", "demo", "faults/run", "lock", "release/audit_dependencies", "test")),
    CHECKOUT / ".ci" / "run",
]
DEMO = {
    "squealing when I slow down on my bicycle": "bicycles/disc-brakes.docx",
    "is this email from my bank a scam": "security/phishing.html",
    "vocal exercises before singing": "music/warming-up-a-choir.docx",
}
# Words that carry no subject: a question may share them with anything
FUNCTION_WORDS = re.compile(
    "a|about|after|all|an|and|any|are|as|at|be|before|both|by|can|do|does|each|every|for|from|go|has|have|his|how|"
    "i|in|into|is|it|its|me|my|next|not|of|off|on|or|out|should|so|still|that|the|their|then|they|this|to|too|two|"
    "under|up|what|when|where|which|why|with|you|your"
)


@pytest.fixture(scope="module")
def questions() -> dict[str, str]:
    """The document that answers each question of queries.tsv."""
    with (SAMPLE / "queries.tsv").open(encoding="utf-8", newline="") as lines:
        return {row["query"]: row["document"] for row in csv.DictReader(lines, delimiter="\t")}


@pytest.fixture(scope="module")
def sample(minilm_encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The sample collection, indexed with the encoder that ships."""
    with Index.create("sample", encoder=minilm_encoder, home=tmp_path_factory.mktemp("home")) as index:
        index.sync(SAMPLE)
        yield index


def content_words(text: str) -> set[str]:
    """Words without endings and function words: "baked" and "bakes" are one."""
    words = re.findall(r"[a-z0-9]+", text.casefold())
    return {re.sub(r"(ing|es|ed|s|e)$", "", word) for word in words if not FUNCTION_WORDS.fullmatch(word)}


def document(name: str) -> Document:
    (read,) = load(SAMPLE / name)
    assert isinstance(read, Document)
    return read


def articles() -> list[str]:
    apart = {"README.md", "queries.tsv", ".semsearchignore"}
    return sorted(
        file.relative_to(SAMPLE).as_posix() for file in SAMPLE.rglob("*") if file.is_file() and file.name not in apart
    )


def script(name: str) -> ModuleType:
    return importlib.import_module(f"scripts.{name}")


# ---- the sample collection


def test_the_sample_has_the_promised_number_of_each_format() -> None:
    suffixes = [Path(name).suffix for name in articles()]
    assert {suffix: suffixes.count(suffix) for suffix in set(suffixes)} == {
        ".md": 24,
        ".html": 12,
        ".pdf": 8,
        ".docx": 8,
        ".txt": 10,
    }


@pytest.mark.parametrize("source", sorted(SOURCES.rglob("*.md")), ids=lambda path: path.name)
def test_each_pdf_and_docx_says_what_its_source_says(source: Path) -> None:
    made = document(source.relative_to(SOURCES).with_suffix("").as_posix())
    wanted = re.sub(r"(?m)^(#+ |- |\d+\. )|\*", "", source.read_text(encoding="utf-8"))
    missing = set(re.findall(r"\w+", wanted)) - set(re.findall(r"\w+", made.text))
    assert not missing, "run scripts/release/make_sample.py"


def test_html_articles_lose_their_menus_and_footers() -> None:
    for name in (name for name in articles() if name.endswith(".html")):
        text = document(name).text
        assert len(text.split()) > 150, name
        assert not re.search(r"cookies|newsletter|Imprint|dataLayer", text), name


def test_no_question_shares_a_content_word_with_the_title_of_its_article(questions: dict[str, str]) -> None:
    assert len(questions) >= 50
    for question, name in questions.items():
        read = document(name)
        title = read.title or read.text.strip().splitlines()[0]
        assert not content_words(question) & content_words(title), question


@pytest.mark.parametrize("question", DEMO)
def test_a_demo_question_shares_at_most_one_content_word_with_its_article(question: str) -> None:
    assert question in (SCRIPTS / "demo").read_text(encoding="utf-8")
    assert len(content_words(question) & content_words(document(DEMO[question]).text)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize("question", DEMO)
def test_the_demo_is_answered_by_the_right_article(sample: Index, question: str, mode: Mode) -> None:
    hits = sample.search(question, k=3, mode=mode)
    assert hits[0].document == DEMO[question] and hits.good_match


@pytest.mark.slow
def test_meaning_finds_what_words_alone_cannot(sample: Index, questions: dict[str, str]) -> None:
    qrels = {question: {name: 1} for question, name in questions.items()}
    found = {}
    for mode in ("keyword", "semantic", "hybrid"):
        ranked = [[hit.document for hit in hits] for hits in sample.search(list(questions), k=10, mode=mode)]
        found[mode] = retrieval.evaluate(lambda _, ranked=ranked: ranked, {each: each for each in questions}, qrels)[
            "nDCG@10"
        ]
    assert found["semantic"] > 0.95  # measured 0.987
    assert found["keyword"] < found["hybrid"]
    assert found["hybrid"] > 0.95  # measured 0.993


# ---- the shell scripts


@pytest.mark.parametrize("file", SHELL, ids=lambda file: file.name)
def test_a_shell_script_runs_stops_at_errors_and_names_no_machine(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert os.access(file, os.X_OK)
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text
    assert not re.search(r"https?://|index-url|find-links|/work/|/home/", text)
    subprocess.run(["bash", "-n", str(file)], check=True)


def test_the_demo_names_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run([SCRIPTS / "demo", "no/such/folder"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        "error: no/such/folder does not exist. Name a folder of documents, or none for the sample collection.\n"
    )


def test_without_venv_and_without_root_the_line_to_type_is_printed(tmp_path: Path) -> None:
    stand_ins = {
        "python3": 'case "$2" in *ensurepip*) exit 1 ;; *print*) echo 3.11 ;; esac',
        "id": "echo 1000",
    }
    for name, body in stand_ins.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment.pop("PYTHON", None)
    command = ["bash", "-c", f"source {SCRIPTS / 'python3.sh'}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("Install that first: sudo apt-get install python3.11-venv")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of all that is tracked, with the environment of a demo that was cut short."""
    clone = tmp_path / "clone"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split("\0"):
        if name and (CHECKOUT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, clone / name)
    half_made = clone / ".venv-demo" / "bin"
    half_made.mkdir(parents=True)
    (half_made / "python").write_text("cut short")
    return clone


def run_demo(clone: Path, **variables: str) -> str:
    """Run the demo of a clone, see that it finds the right articles, and return what it writes to stderr."""
    unset = ("PYTHONPATH", "VIRTUAL_ENV", "SEMSEARCH_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment |= {"SEMSEARCH_CACHE": str(clone.parent / "cache.db"), **variables}
    demo = clone / "scripts" / "demo"
    done = subprocess.run([demo], cwd=clone.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in DEMO.values():
        assert re.search(rf"(?m)^ +1 .*{re.escape(name)}", done.stdout), done.stdout
    installed = {file.name for file in (clone / ".venv-demo").glob("lib/python*/site-packages/*")}
    assert "faiss" in installed
    assert not installed & {"torch", "transformers", "sentence_transformers"}
    return done.stderr


@pytest.mark.slow
def test_the_demo_of_a_clean_clone_needs_no_more_than_is_declared(clone: Path, tmp_path: Path) -> None:
    """All but pip itself: the environment has what pyproject.toml names, linked from this one."""
    needed = declared.distributions(clone, "cpu", "docs")
    python, asked = declared.stand_in(tmp_path / "tools", clone, needed)
    said = run_demo(clone, PYTHON=str(python))
    assert re.search(r"\(\d+ MB, in \.venv-demo\)", said)
    assert asked.read_text().endswith(" --editable .[cpu,docs]\n")
    assert declared.megabytes(needed) < 450


@pytest.mark.long
def test_a_stranger_gets_answers_from_a_clean_clone(clone: Path) -> None:
    assert (found := re.search(r"\((\d+) MB, in \.venv-demo\)", run_demo(clone)))
    assert int(found[1]) < 450


# ---- the programs that measure


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Two collections of three documents in BEIR's layout."""
    for name, split in (("scifact", "train"), ("cranfield", "test")):
        folder = tmp_path / name / "beir"
        (folder / "qrels").mkdir(parents=True)
        texts = {"a": "Diesel engines ignite by compression.", "b": "Bread needs salt.", "c": "Bees dance."}
        lines = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
        (folder / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / "queries.jsonl").write_text('{"_id": "1", "text": "a diesel engine"}\n', encoding="utf-8")
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["cranfield"], ["keyword", "semantic", "hybrid"]),
        (["--windows", "scifact", "cranfield"], ["64 tokens", "whole document"]),
    ],
)
def test_eval_retrieval_prints_its_table_and_writes_its_figures(
    tiny: Path, arguments: list[str], rows: list[str]
) -> None:
    figures = tiny / "figures.json"
    environment = {**os.environ, "SEMSEARCH_DATA": str(tiny)}
    command = [sys.executable, "-m", "scripts.bench.retrieval", *arguments, "-m", "hashing", "-o", figures]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(re.search(rf"(?m)^\| {row} +\| .*100\.0", done.stdout) for row in rows), done.stdout
    runs = json.loads(figures.read_text(encoding="utf-8"))["figures"]["runs"]
    assert {run["scores"]["hybrid"]["nDCG@10"] for run in runs} == {1.0}


def test_the_benchmark_gives_every_goal_a_verdict() -> None:
    bench = script("bench.index")
    same = {"memory": 100.0, "query_memory": 100.0, "warm": 10.0}
    found = {
        bench.PLAIN: {"rate": 10.0, "cold": 5.0, **same},
        bench.FP32: {"rate": 29.0, "cold": 2.0, **same},
        bench.INT8: {"rate": 61.0, "cold": 1.0, **same},
    }
    assert [line.split(":")[0] for line in bench.verdict("x", found)] == ["met", "MISSED", "met"]
    assert "| semsearch int8 | 61 (6.1x) |" in bench.table("x", found)
    assert "1.00 s (5.0x)" in bench.table("x", found)


def test_the_filters_of_the_scale_benchmark_pass_what_its_exact_answers_count() -> None:
    corpora, names = script("bench.scale_corpus"), {"topic": "science", "shelf": 3, "box": 7}
    fields = [corpora.metadata(at) for at in range(20_000)]
    for where, share in zip(corpora.FILTERS, (1, 0.5, 0.05, 0.001), strict=True):
        name = where.partition(" ")[0]
        passing = corpora.passing(where, len(fields)).tolist()
        assert passing == [not where or one[name] == names[name] for one in fields]
        assert sum(passing) / len(fields) == pytest.approx(share, rel=0.1)


def test_throughput_is_compared_round_by_round_and_beside_its_goal() -> None:
    bench = script("bench.throughput")
    walls = {bench.GRAPH: [1.0, 2.0, 1.0], bench.ENCODER: [1.25, 2.0, 1.25], bench.INDEX: [2.5, 2.5, 2.0]}
    found = {name: bench.Measured(100, wall, [2.0, 2.0, 2.0]) for name, wall in walls.items()}
    graph, encoder, index = bench.table("sentences", found).splitlines()[2:]
    assert graph == "| plain graph | 100 | 1.00 | 1.25 |  | 20.00 |"
    assert encoder == "| encoder | 80 | 0.80 | 1.00 | 95% of the plain graph | 20.00 |"
    assert index == "| index | 40 | 0.50 | 0.62 | 90% of the encoder | 20.00 |"


def test_no_level_of_strength_loses_less_than_at_best() -> None:
    own, foreign = (0.2, 0.5, 0.8, 0.8, 0.9), (*(0.1,) * 7, 0.8, 0.7, 0.6)
    at_best, area = strength.separation(own, foreign, accepted=0.1)
    levels = [level for level in (*own, *foreign, 1.0) if sum(one >= level for one in foreign) <= 1]
    assert at_best[0] == min(sum(one < level for one in own) / len(own) for level in levels) == 0.4
    assert area[0] == pytest.approx((7 + 7 + 9.5 + 9.5 + 10) / 50)  # a pair of equals counts half
    assert at_best[1] <= at_best[0] <= at_best[2] and area[1] <= area[0] <= area[2]
