"""Training data of any form: which texts, in which columns, with which labels, and what is said of the rest."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from semsearch.errors import Corrupt, GuardRail, NotFound, SemsearchError, UnknownName, Unreadable, UsageError
from semsearch.training import Dataset, dataset_of_texts, nli_triplets, parse_columns, read_dataset
from semsearch.training.datasets.adaptation import adapt

NLI_ROWS = [
    ("a man sleeps", "a person rests", "entailment"),
    ("a man sleeps", "he dreams", "neutral"),
    ("a man sleeps", "a man runs", "contradiction"),
    ("a dog barks", "an animal is loud", "entailment"),
    ("a cat sits", "nothing sits", "contradiction"),
]


def written(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content, encoding="utf-8")
    return folder / name


def rows(examples: Dataset) -> list[tuple[str, ...]]:
    return list(zip(*examples.columns.values(), strict=True))


def nli_file(folder: Path) -> Path:
    lines = ["\t".join(row) for row in (("premise", "hypothesis", "label"), *NLI_ROWS)]
    return written(folder, "nli.tsv", "\n".join(lines) + "\n")


# Texts


def test_a_text_file_has_a_text_a_line_each_once(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path, "wiki.txt", "One text.\n\n  Another one.\r\nOne text.\nÜber alles"))
    assert found.columns == {"anchor": ["One text.", "Another one.", "Über alles"]}
    assert dict(found.skipped) == {
        "no text (first: wiki.txt:2)": 1,
        "a duplicate text (first: wiki.txt:4)": 1,
    }


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("ending", ["", ".xz"])
def test_a_compressed_file_is_known_by_its_content(pack: Callable[[bytes], bytes], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"texts.txt{ending}"
    path.write_bytes(pack(b"one\ntwo\n"))
    if ending:
        assert read_dataset(path).columns["anchor"] == ["one", "two"]
    table = tmp_path / f"pairs.csv{ending}"
    table.write_bytes(pack(b"sentence1,sentence2\nx,y\n"))
    assert rows(read_dataset(table)) == [("x", "y")]


def test_a_file_that_was_cut_short_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt.xz"
    path.write_bytes(lzma.compress(b"one\n" * 1000)[:-20])
    with pytest.raises(Unreadable, match=r"texts\.txt\.xz"):
        read_dataset(path)


def test_a_folder_gives_the_sentences_of_its_documents(tmp_path: Path) -> None:
    written(tmp_path, "a.md", "# Knots\n\nA bowline makes a loop\nthat holds. It is easily untied.\n\n1.\n")
    written(tmp_path, "b.html", "<p>Bread needs salt. Dr. Wu says so.</p>")
    (tmp_path / "c.png").write_bytes(b"\x89PNG")
    found = read_dataset(tmp_path)
    assert "A bowline makes a loop that holds." in found.columns["anchor"]
    assert "Dr. Wu says so." in found.columns["anchor"]
    assert not {"1.", "#"} & set(found.columns["anchor"])
    assert "binary file (image) (first: c.png)" in found.skipped


def test_a_folder_gives_passages_that_hold_every_word_in_few_texts(tmp_path: Path) -> None:
    sentences = [f"Sentence number {at} is about the thing called {at}." for at in range(60)]
    written(tmp_path, "a.txt", " ".join(sentences))
    found = read_dataset(tmp_path, granularity="passages").columns["anchor"]
    assert " ".join(found).split() == " ".join(sentences).split()
    assert all(len(text.split()) <= 128 for text in found) and len(found) < 10


def test_a_document_alone_is_read_as_a_folder_is(tmp_path: Path) -> None:
    path = written(tmp_path, "a.md", "A first sentence. A second sentence.\n")
    assert read_dataset(path).columns["anchor"] == ["A first sentence.", "A second sentence."]


def test_a_whole_disk_is_refused_until_the_user_says_yes() -> None:
    with pytest.raises(GuardRail):
        read_dataset("/")


def test_passages_of_an_index_can_be_read_as_sentences() -> None:
    whole = ["First sentence here. Second sentence here.", "Third sentence here."]
    assert dataset_of_texts(whole, "notes").columns["anchor"] == whole
    assert len(dataset_of_texts(whole, "notes", granularity="sentences")) == 3


# Records


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("anchor,positive,negative", "anchor positive negative"),
        ("ID,Sentence1,SENTENCE2", "- anchor positive"),
        ("text1,text2", "anchor positive"),
        ("sent0,sent1,hard_neg", "anchor positive negative"),
        ("query,passage", "anchor positive"),
        ("id,question,answer", "- anchor positive"),
        ("context,question", "positive anchor"),
        ("title,text", "- anchor"),
        ("src,tgt", "anchor positive"),
        ("question1,question2", "anchor positive"),
        ("text,label", "anchor -"),
    ],
)
def test_columns_are_known_by_their_names(header: str, roles: str, tmp_path: Path) -> None:
    names = header.split(",")
    found = read_dataset(written(tmp_path, "x.csv", f"{header}\n{','.join(f'{name} text' for name in names)}\n"))
    wanted = {role: [f"{name} text"] for name, role in zip(names, roles.split(), strict=True) if role != "-"}
    assert found.columns == wanted
    assert found.source.endswith(")")


def test_every_form_of_the_same_pairs_is_read_alike(tmp_path: Path) -> None:
    pairs = [('He said "no", twice', "a, b"), ('"quoted" first', "tab")]
    jsonl = "\n".join(json.dumps({"query": a, "positive": b}) for a, b in pairs)
    quoted = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in pairs)
    raw = "\n".join("\t".join(row) for row in pairs)
    doubled = "\n".join("\t".join('"' + c.replace('"', '""') + '"' if '"' in c else c for c in row) for row in pairs)
    for name, content in {
        "a.jsonl": jsonl,
        "a.csv": f"query,positive\n{quoted}\n",
        "a.tsv": f"query\tpositive\n{raw}\n",
        "b.tsv": f"query\tpositive\n{doubled}\n",
        "a.txt": f"query\tpositive\n{raw}\n",
        "bare.tsv": f"{raw}\n",
    }.items():
        assert rows(read_dataset(written(tmp_path, name, content))) == pairs, name


def test_named_columns_override_what_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "text1,text2,Sim\na,b,0.5\n")
    found = read_dataset(path, columns={"anchor": "TEXT2", "positive": "text1", "score": "sim"})
    assert (rows(found), found.labels) == ([("b", "a")], [0.5])
    with pytest.raises(UsageError, match=r"no column 'c'.*text1, text2, Sim"):
        read_dataset(path, columns={"anchor": "c"})


def test_columns_without_a_header_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "1.jpg\ta man runs fast\ta person is running\n2.jpg\tc d e\tf g h\n")
    found = read_dataset(path, columns={"anchor": "2", "positive": "3"})
    assert rows(found) == [("a man runs fast", "a person is running"), ("c d e", "f g h")]


@pytest.mark.parametrize(
    ("line", "roles"),
    [
        ("a man runs fast\ta person is running", "anchor positive"),
        ("a man runs fast\ta person is running\t4.5", "anchor positive"),
        ("a man runs fast\ta person is running\tnobody moves at all", "anchor positive negative"),
    ],
)
def test_a_table_without_header_is_pairs_scored_pairs_or_triplets(line: str, roles: str, tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path, "x.tsv", f"{line}\n{line}\n"))
    assert list(found.columns) == roles.split() and len(found) == 2
    assert found.labels == ([4.5, 4.5] if line.endswith("4.5") else None)


def test_an_unknown_table_says_its_columns_and_how_to_name_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"foo, bar.*anchor=NAME"):
        read_dataset(written(tmp_path, "x.csv", "foo,bar\na,b\n"))
    with pytest.raises(UsageError, match=r"foo.*anchor=NAME"):
        read_dataset(written(tmp_path, "x.jsonl", '{"foo": "a"}\n'))


def test_lists_of_positives_and_negatives_are_a_row_each(tmp_path: Path) -> None:
    record = {"query": "q", "pos": ["a", "b", "c"], "neg": ["x", "y"]}
    found = read_dataset(written(tmp_path, "x.jsonl", json.dumps(record)))
    assert rows(found) == [("q", "a", "x"), ("q", "b", "y"), ("q", "c", "x")]


def test_no_negative_of_a_list_is_left_out(tmp_path: Path) -> None:
    record = {"query": "q", "pos": "a", "neg": ["x", "y", "z"]}
    found = read_dataset(written(tmp_path, "x.jsonl", json.dumps(record)))
    assert rows(found) == [("q", "a", "x"), ("q", "a", "y"), ("q", "a", "z")]


def test_sts_and_sick_are_read_as_senteval_has_them(tmp_path: Path) -> None:
    sts = 'main\tMSRvid\t2012\t0001\t5.000\ta plane "flies"\tan air plane flies\nmain\tx\ty\t2\t0.5\ta\tb\textra\n'
    found = read_dataset(written(tmp_path, "sts-train.csv", sts))
    assert (rows(found)[0], found.labels) == (('a plane "flies"', "an air plane flies"), [5.0, 0.5])
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n1\ta\tb\t4.5\tNEUTRAL\n"
    path = written(tmp_path, "SICK_train.txt", sick)
    assert read_dataset(path).labels == [4.5]
    assert read_dataset(path, prefer="label").labels == [1.0]


def test_the_public_test_sets_have_the_sizes_they_are_known_for(data: Path) -> None:
    folder = data / "sts" / "senteval"
    assert len(read_dataset(folder / "STS" / "STSBenchmark" / "sts-train.csv")) == 5749
    assert len(read_dataset(folder / "SICK" / "SICK_train.txt")) == 4500


# Labels


def test_words_of_inference_are_ordered_by_how_alike_texts_are(tmp_path: Path) -> None:
    found = read_dataset(nli_file(tmp_path))
    assert found.labels == [2.0, 1.0, 0.0, 2.0, 0.0]
    upper = written(tmp_path, "u.tsv", nli_file(tmp_path).read_text().replace("entailment", "ENTAILMENT"))
    assert read_dataset(upper).labels == found.labels


def test_numbers_stay_and_an_order_can_be_told(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "premise,hypothesis,label\na,b,0\nc,d,1\ne,f,2\ng,h,-1\n")
    found = read_dataset(path)
    assert found.labels == [0.0, 1.0, 2.0]
    assert dict(found.skipped) == {"no gold label (first: x.csv:5)": 1}
    assert read_dataset(path, labels=("2", "1", "0")).labels == [2.0, 1.0, 0.0]


def test_a_score_may_be_negative_and_a_missing_one_is_counted(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path, "x.csv", "a,b,score\nm,n,-1\no,p,\nq,r,nan\ns,t,much\nu,v,1e-1\n"))
    assert (rows(found), found.labels) == ([("m", "n"), ("u", "v")], [-1.0, 0.1])
    assert list(found.skipped.values()) == [2, 1]
    assert any("x.csv:5" in reason and "known word" in reason for reason in found.skipped)


def test_labels_of_json_are_as_those_of_a_table(tmp_path: Path) -> None:
    lines = [{"a": "x", "b": "y", "label": label} for label in (True, False, None)]
    found = read_dataset(written(tmp_path, "x.jsonl", "\n".join(map(json.dumps, lines))))
    assert found.labels == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "content"), [("x.txt", "a\n"), ("x.csv", "a,b\nx,y\n"), ("x.tsv", "text\tlabel\na\t1\n")]
)
def test_an_order_of_labels_that_are_not_read_is_refused(name: str, content: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"x\..* has no labels.*Name their column"):
        read_dataset(written(tmp_path, name, content), labels=("0", "1"))


def test_columns_of_documents_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "a.md", "A first sentence.\n")
    with pytest.raises(UsageError, match="documents, which have no columns"):
        read_dataset(tmp_path, columns={"anchor": "text"})


# What cannot be used


def test_one_bad_record_is_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    lines = ['{"query": "q1", "positive": "p1"}', "{broken", "[1]", '{"query": "q2"}', '{"query": "", "positive": "p"}',
             '{"query": "q3", "positive": null}', '{"query": 7, "positive": "p\\ud800"}', ""]  # fmt: skip
    found = read_dataset(written(tmp_path, "x.jsonl", "\n".join(lines)))
    assert rows(found) == [("q1", "p1"), ("7", "p\ufffd")]
    assert {reason.partition(" (first: ")[2]: count for reason, count in found.skipped.items()} == {
        "x.jsonl:2)": 1,
        "x.jsonl:3)": 1,
        "x.jsonl:4)": 1,
        "x.jsonl:5)": 1,
        "x.jsonl:6)": 1,
    }


def test_rows_of_another_width_are_counted(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path, "x.csv", 'sentence1,sentence2\na,b\nc\nd,e,f\n"g,h\n'))
    assert rows(found) == [("a", "b")]
    assert sum(found.skipped.values()) == 3 and any("x.csv:5" in reason for reason in found.skipped)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("x.jsonl", "{broken\n", UsageError),
        ("x.csv", "sentence1,sentence2\n,\n", UsageError),
        ("x.csv", "", UsageError),
        ("x.txt", "\n \n", UsageError),
        ("x.csv", "sentence1,sentence2,label\na,b,-\n", UsageError),
        ("x.json", '[{"text": "a"}]', Unreadable),
    ],
)
def test_nothing_usable_is_an_error_that_says_why(
    name: str, content: str, error: type[SemsearchError], tmp_path: Path
) -> None:
    with pytest.raises(error, match=name.replace(".", r"\.")):
        read_dataset(written(tmp_path, name, content))


def test_what_is_not_there_or_no_text_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_dataset(tmp_path / "nothing.csv")
    (tmp_path / "x.csv").write_bytes(b"\0\1\2" * 100)
    with pytest.raises(Unreadable, match="binary"):
        read_dataset(tmp_path / "x.csv")


def test_columns_that_make_no_sense_are_refused() -> None:
    assert parse_columns(["text=a", "positive=b,score=c"]) == {"anchor": "a", "positive": "b", "score": "c"}
    with pytest.raises(UnknownName):
        parse_columns(["ancor=a"])
    for words in ("anchor", "anchor=", "anchor=a,anchor=b"):
        with pytest.raises(UsageError):
            parse_columns([words])


# As a method wants them


def uses(*read: str) -> Callable[[tuple[str, ...]], list[str]]:
    return lambda there: [name for name in read if name in there]


def test_labelled_pairs_become_triplets_where_a_method_reads_negatives(tmp_path: Path) -> None:
    found, told = adapt(read_dataset(nli_file(tmp_path)), uses("anchor", "positive", "negative"), "none")
    assert rows(found) == [("a man sleeps", "a person rests", "a man runs")]
    assert found.labels is None and "triplets" in told
    assert found.skipped["a premise that is not both entailed and contradicted"] == 2


def test_contradicted_texts_take_turns(tmp_path: Path) -> None:
    pairs = [("p", f"e{at}", 2.0) for at in range(3)] + [("p", f"c{at}", 0.0) for at in range(2)]
    columns = {"anchor": [row[0] for row in pairs], "positive": [row[1] for row in pairs]}
    found = nli_triplets(Dataset(columns, [row[2] for row in pairs]))
    assert rows(found) == [("p", "e0", "c0"), ("p", "e1", "c1"), ("p", "e2", "c0")]
    with pytest.raises(UsageError, match="highest"):
        nli_triplets(Dataset({"anchor": ["a"], "positive": ["b"]}, [1.0]))


def test_scored_pairs_become_pairs_that_are_alike() -> None:
    examples = Dataset({"anchor": list("abc"), "positive": list("xyz")}, [5.0, 3.9, 0.0], "sts")
    found, told = adapt(examples, uses("anchor", "positive"), "none")
    assert rows(found) == [("a", "x")] and "similar" in told
    assert sum(found.skipped.values()) == 2


def test_pairs_become_texts_where_a_method_reads_no_pairs() -> None:
    examples = Dataset({"anchor": ["a", "b"], "positive": ["b", "c"]})
    found, told = adapt(examples, uses("anchor"), "none")
    assert rows(found) == [("a",), ("b",), ("c",)] and told


def test_triplets_become_labelled_pairs_for_a_method_that_reads_scores() -> None:
    examples = Dataset({"anchor": ["a"], "positive": ["b"], "negative": ["c"]})
    found, _ = adapt(examples, uses("anchor", "positive"), "score")
    assert (rows(found), found.labels) == ([("a", "b"), ("a", "c")], [1.0, 0.0])


def test_scores_are_no_classes() -> None:
    examples = Dataset({"anchor": ["a"], "positive": ["b"]}, [2.5], "sts")
    with pytest.raises(UsageError, match=r"2\.5"):
        adapt(examples, uses("anchor", "positive"), "class")


def test_what_fits_stays_as_it_is() -> None:
    single = Dataset({"anchor": ["a", "b"]})
    pairs = Dataset({"anchor": ["a"], "positive": ["b"]}, [1.0])
    assert adapt(single, uses("anchor"), "none") == (single, "")
    assert adapt(single, uses("anchor", "positive"), "none") == (single, "")
    assert adapt(pairs, uses("anchor", "positive"), "score") == (pairs, "")
    assert adapt(pairs, uses("anchor", "positive"), "teacher")[0].labels is None


def test_a_limit_draws_the_same_examples_every_time_and_keeps_what_was_said(tmp_path: Path) -> None:
    path = written(tmp_path, "x.txt", "\n".join(f"text {at}" for at in range(100)) + "\n\n")
    found, again = read_dataset(path, max_samples=10), read_dataset(path, max_samples=10)
    texts = list(found.columns["anchor"])
    assert texts == again.columns["anchor"] and len(texts) == 10
    assert texts == sorted(texts, key=lambda each: int(each.split()[1]))
    assert texts != [f"text {at}" for at in range(10)]
    assert found.skipped and found.source == str(path)


def test_an_index_gives_the_text_of_every_passage_that_is_there(tmp_path: Path) -> None:
    from semsearch import Document, Index

    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document(name, f"The text of {name}.") for name in ("a", "b", "c")])
        index.delete(["b"])
        assert list(index.analysis.texts()) == ["The text of a.", "The text of c."]
    with sqlite3.connect(tmp_path / "notes" / "store.db") as store:
        store.execute("UPDATE passages SET text = 'Another text.' WHERE id = 3")
    with Index.open(tmp_path / "notes") as index, pytest.raises(Corrupt, match="passage 3"):
        list(index.analysis.texts())


def test_a_cell_beyond_the_limit_of_csv_is_skipped_between_tabs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, limit = csv.field_size_limit(100_000), csv.field_size_limit
    monkeypatch.setattr(csv, "field_size_limit", lambda *_: 0)  # else reading raises the limit of the process
    path = written(tmp_path, "x.tsv", f"sentence1\tsentence2\na\tb\nc\t{'d' * 140_000}\ne\tf\n")
    found = read_dataset(path)
    limit(before)
    assert rows(found) == [("a", "b"), ("e", "f")]
    assert [reason.partition(" (first: ")[2] for reason in found.skipped] == ["x.tsv:3)"]
