"""Clusters with names, and how they change over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Index, NotFound, Topics, UnknownName, UsageError
from semsearch.analysis import document_vectors, timeline
from semsearch.analysis import topics as topic_clusters
from semsearch.utils.vectors import unit_rows

SUBJECTS = {
    "cars": ("diesel engine", "engine fuel diesel", "fuel of a diesel engine", "diesel engine fuel pump"),
    "bread": ("flour and yeast", "yeast in bread flour", "bread flour yeast", "yeast flour dough", "dough of yeast"),
    "birds": ("falcon wings", "falcon feathers wings", "feathers and wings of a falcon"),
}


def documents() -> list[Document]:
    return [
        Document(f"{subject}/{at}", text, {"date": f"20{10 + at}-0{at + 1}-15", "subject": subject})
        for subject, texts in SUBJECTS.items() for at, text in enumerate(texts)
    ]  # fmt: skip


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add(documents())
        yield made


def subjects(found: Topics) -> list[set[str]]:
    return [{name.split("/")[0] for name in topic.documents} for topic in found]


def test_clusters_are_named_by_their_words_with_the_central_document_first(index: Index) -> None:
    found = index.analysis.topics(3)
    assert subjects(found) == [{"bread"}, {"cars"}, {"birds"}] and found.others == ()
    assert [topic.name.split(" · ")[0] for topic in found] == ["yeast", "diesel", "falcon"]
    for topic in found:
        ids = [index.passages(name)[0]["id"] for name in topic.documents]
        cosines = index.vectors(ids) @ index.vectors(ids).T
        others = cosines[~np.eye(len(ids), dtype=bool)]
        assert topic.coherence == pytest.approx(others.mean(), abs=1e-3) and topic.coherence > found.coherence
        assert topic.example == index.get(topic.documents[0])["text"]


def test_the_example_of_a_cluster_begins_behind_the_front_matter(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document("a.md", "---\ntitle: Heaps\ntags: [soil]\n---\n\n# A heap\n\nCompost rots.")])
        assert [topic.example for topic in made.analysis.topics(1)] == ["# A heap Compost rots."]


def test_no_word_of_front_matter_names_a_topic_or_stands_on_the_map(tmp_path: Path) -> None:
    matters = ["---\nlayout: post\ntags: [soil]\n---\n", "+++\nlayout = 'post'\n+++\n"]
    subjects = ["Compost rots in the heap.", "The diesel engine ignites."]
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document(f"{at}.md", f"{matters[at % 2]}{subjects[at // 4]}") for at in range(8)])
        sample = made.analysis.sample_vectors(letters=12)
        assert set(sample.texts) == {subject[:12] for subject in subjects}
        named = {word for topic in made.analysis.topics(2) for word in topic.name.split(" · ")}
        assert named and not named & {"layout", "post", "tags", "soil"}


def test_prose_between_two_rules_is_no_front_matter(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document("a.md", "---\nThe first scene.\n---\nThe second one.")])
        assert made.analysis.sample_vectors().texts == ("---\nThe first scene.\n---\nThe second one.",)


def test_the_number_of_clusters_is_that_of_the_groups_in_the_vectors() -> None:
    random = np.random.default_rng(0)
    for groups in (2, 5, 12):
        centres = random.normal(size=(groups, 64))
        rows = unit_rows(np.repeat(centres, 20, axis=0) + random.normal(size=(groups * 20, 64)) * 0.3)
        assert topic_clusters.best_k(rows) == groups
    assert topic_clusters.best_k(rows[:1]) == topic_clusters.best_k(rows[:0]) == 1


def test_a_large_index_is_clustered_by_a_share_of_it(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = index.analysis.topics(3)
    monkeypatch.setattr(topic_clusters, "FITTED", 6)
    monkeypatch.setattr(document_vectors, "BLOCK", 2)
    steps = []
    found = index.analysis.topics(3, progress=steps.append)
    assert {frozenset(topic.documents) for topic in found} == {frozenset(topic.documents) for topic in whole}
    assert [topic.coherence for topic in found] == pytest.approx([topic.coherence for topic in whole], abs=1e-5)
    assert found.coherence == pytest.approx(whole.coherence, abs=1e-5) and len(steps) == 6


def test_a_threshold_leaves_documents_without_a_cluster(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add([Document("alone", "Quantum chromodynamics.")])
    found = index.analysis.topics(threshold=0.3, min_size=3)
    assert "alone" in found.others and {"bread"} in subjects(found)
    assert sum(len(topic.documents) for topic in found) + len(found.others) == len(index)
    monkeypatch.setattr(topic_clusters, "COMPARED", 5)
    with pytest.raises(UsageError, match="Pass k"):
        index.analysis.topics(threshold=0.3)


def test_what_has_no_document_has_no_cluster(index: Index) -> None:
    found = index.analysis.topics(where="subject = 'cars' and subject = 'bread'")
    assert (len(found), found.others) == (0, ())


def test_documents_are_counted_in_the_period_of_their_date(index: Index) -> None:
    found = index.analysis.topics(3)
    times = index.analysis.timeline(found)
    assert times.periods == ("2010", "2011", "2012", "2013", "2014") and times.undated == 0
    assert times.counts == ((1, 1, 1, 1, 1), (1, 1, 1, 1, 0), (1, 1, 1, 0, 0))
    months = index.analysis.timeline(found, by="month")
    assert months.periods[:3] == ("2010-01", "2010-02", "2010-03") and len(months.periods) == 53
    assert [sum(each) for each in months.counts] == [5, 4, 3]
    index.add([Document("bread/0", "flour and yeast")])
    assert index.analysis.timeline(found).undated == 1
    with pytest.raises(NotFound, match="nothing"):
        index.analysis.timeline(found, field="nothing")
    with pytest.raises(UnknownName, match="month"):
        index.analysis.timeline(found, by="week")  # type: ignore[arg-type]


def test_the_day_of_a_document_is_its_own_or_none(index: Index) -> None:
    index.add([Document("undated", "No date at all.")])
    assert index.analysis.days(["cars/1", "undated", "unknown"]) == {"cars/1": "2011-02-15"}
    assert index.analysis.days(["cars/1"], field="subject") == {}


def test_the_length_of_a_period_follows_from_the_time(tmp_path: Path) -> None:
    def periods(*days: str) -> tuple[str, ...]:
        with Index.create(tmp_path / "-".join(days), encoder="hashing") as made:
            made.add([Document(day, "text", {"made": day}) for day in days])
            return made.analysis.timeline(made.analysis.topics(1), field="made").periods

    assert periods("2024-02-28", "2024-03-01") == ("2024-02-28", "2024-02-29", "2024-03-01")
    assert periods("2023-11-30", "2024-02-01") == ("2023-11", "2023-12", "2024-01", "2024-02")
    assert periods("2019-12-31", "2024-01-01") == ("2019", "2020", "2021", "2022", "2023", "2024")


def test_a_date_far_away_is_an_error_that_says_what_to_do(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST", 30)
    with pytest.raises(UsageError, match="year"):
        index.analysis.timeline(index.analysis.topics(2), by="month")
    index.add([Document("end", "yeast flour", {"date": "9999-12-31"})])
    assert index.analysis.timeline(index.analysis.topics(1, where="document = 'end'"), by="day").periods == (
        "9999-12-31",
    )
