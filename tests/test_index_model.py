"""An index always answers like a brute-force model of it, whatever was done to it before."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from helpers import null_distributions
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from semsearch import Document, Index, admin
from semsearch.chunking.splitter import Splitter, passages
from semsearch.encoders.hashing import HashingEncoder
from semsearch.stores import null_queries
from semsearch.types import Role
from semsearch.utils.passage_context import embedded

if TYPE_CHECKING:
    from semsearch.types import Vectors

NAMES = st.sampled_from(
    [f"{folder}{name}" for folder in ("", "sub/") for name in ("a.txt", "b.txt", "c.md", "d", "e.rst")]
)
IDS = st.sampled_from(["x", "y", "z"])
WORDS = st.sampled_from(["diesel", "engine", "bread", "salt", "dough", "rain", "cloud", "knot", "star", "orbit"])
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(
    lambda words: ". ".join(" ".join(words[i : i + 5]) for i in range(0, len(words), 5)) + "."
)
SPLITTER = Splitter(kind="sentences", size=12, overlap=0)
TOLERANCE = 2e-3  # vectors are kept in 16 bits


class Killed(BaseException):
    """Stands for a kill: no handler of ours may catch it and go on."""


class DyingEncoder(HashingEncoder):
    """The hashing encoder until its life is over."""

    lives = 10**9

    def encode(self, texts: list[str], *, role: Role, **asked: object) -> Vectors:  # type: ignore[override]
        if texts and self.lives <= 0:
            raise Killed
        self.lives -= 1
        return super().encode(texts, role=role)


class IndexModel(RuleBasedStateMachine):
    """`files` and `added` are the truth; the index has to agree after each `sync`."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(null_queries, "questions", null_distributions.few)  # no strength is looked at
        self.top = Path(tempfile.mkdtemp())
        self.folder = self.top / "docs"
        self.folder.mkdir()
        self.encoder = DyingEncoder()
        self.index = Index.create(self.top / "index", encoder=self.encoder, splitter=SPLITTER)
        self.files: dict[str, str] = {}
        self.added: dict[str, str] = {}
        self.synced: dict[str, str] = {}

    def teardown(self) -> None:
        self.index.close()
        self.patch.undo()
        shutil.rmtree(self.top)

    @rule(name=NAMES, text=TEXTS)
    def write_a_file(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        self.files[name] = text

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def remove_a_file(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        (self.folder / name).unlink()
        del self.files[name]

    @precondition(lambda self: self.files)
    @rule(data=st.data(), new=NAMES)
    def move_a_file(self, data: st.DataObject, new: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        (self.folder / new).parent.mkdir(exist_ok=True)
        (self.folder / name).replace(self.folder / new)
        self.files[new] = self.files.pop(name)

    @rule(key=IDS, text=TEXTS)
    def add_a_document(self, key: str, text: str) -> None:
        self.index.add([Document(key, text)])
        self.added[key] = text

    @rule(key=IDS)
    def delete_a_document(self, key: str) -> None:
        assert self.index.delete([key]) == (key in self.added)
        self.added.pop(key, None)

    @rule()
    def sync(self) -> None:
        self.sync_now()

    @rule(data=st.data(), new=NAMES)
    @precondition(lambda self: self.files)
    def move_between_two_runs(self, data: st.DataObject, new: str) -> None:
        self.sync_now()
        self.move_a_file(data=data, new=new)
        self.sync_now()

    def sync_now(self) -> None:
        report = self.index.sync([self.folder])
        assert report.added + report.changed + report.unchanged + report.moved == len(self.files)
        self.synced = dict(self.files)

    @rule(lives=st.integers(0, 2))
    def sync_and_die(self, lives: int) -> None:
        self.encoder.lives = lives
        try:
            self.index.sync([self.folder])
        except Killed:
            self.index.close()
            self.encoder = DyingEncoder()
            self.index = Index.open(self.top / "index", encoder=self.encoder)
        self.encoder.lives = 10**9
        self.sync_now()

    @rule(how=st.sampled_from(["reopen", "compact", "lose every cache"]))
    def disturb(self, how: str) -> None:
        if how == "compact":
            admin.compact(self.index)
            return
        self.index.close()
        if how == "lose every cache":
            for file in (self.top / "index").iterdir():
                if not file.name.startswith("store.db") and not file.name.endswith(".lock"):
                    file.unlink()
        self.index = Index.open(self.top / "index", encoder=self.encoder)

    @invariant()
    def the_same_documents_are_there(self) -> None:
        kept = {d["id"]: self.index.get(d["id"])["text"] for d in self.index.documents()}
        assert kept == {**self.synced, **self.added}

    @invariant()
    def nothing_is_off(self) -> None:
        assert [p for p in self.index.analysis.verify() if "cache" not in p.lower()] == []

    @rule(query=TEXTS, k=st.integers(1, 8))
    def search(self, query: str, k: int) -> None:
        hits = self.index.search(query, k=k, mode="semantic", group="passage")
        there = {
            name: text
            for name, text in {**self.synced, **self.added}.items()
            if name in self.added or name in self.files
        }
        titles = {str(one["id"]): one["title"] for one in self.index.documents()}
        expected = brute_force([Document(name, text, title=titles[name]) for name, text in there.items()], query)
        scores = [hit.scores["cosine"] for hit in hits]
        assert len(hits) == min(k, len(expected))
        assert np.allclose(scores, [score for score, _ in expected[:k]], atol=TOLERANCE)
        known = {(document, text): score for score, (document, text) in expected}
        for hit in hits:
            assert abs(known[hit.document, hit.text] - hit.scores["cosine"]) < TOLERANCE


def brute_force(documents: list[Document], query: str) -> list[tuple[float, tuple[str, str]]]:
    """(cosine, (document, passage text)) of every passage, best first."""
    encoder = HashingEncoder()
    cut = [(document, p) for document in documents for p in passages(document, SPLITTER, encoder.count_tokens)]
    if not cut:
        return []
    texts, pairs = [embedded(*one) for one in cut], [(document.id, p.text) for document, p in cut]
    cosines = encoder.encode(texts, role="passage") @ encoder.encode([query], role="query")[0]
    return sorted(zip(cosines.tolist(), pairs, strict=True), key=lambda found: -found[0])


IndexModel.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 2, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
TestIndexModel = pytest.mark.slow(pytest.mark.filterwarnings("ignore")(IndexModel.TestCase))
