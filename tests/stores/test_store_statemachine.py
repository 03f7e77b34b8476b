"""Any sequence of changes, checked against a model in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from helpers.opened import verify
from helpers.stores import contents, entry, made
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semsearch.stores.local import open_writer


class StoreAgainstModel(RuleBasedStateMachine):
    """Any sequence of changes, rollbacks and reopenings leaves what a dict would hold."""

    uris = st.sampled_from([f"u{n}" for n in range(6)])
    words = st.lists(st.sampled_from(["diesel", "engine", "日本語の文", "x\0y", "ß"]), min_size=0, max_size=3)

    @initialize()
    def make(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name) / "notes"
        self.store, self.space = made(self.folder)
        self.model: dict[str, list[str]] = {}
        self.highest = 0

    @rule(uri=uris, parts=words)
    def put(self, uri: str, parts: list[str]) -> None:
        self.store.replace([entry(uri, ". ".join(parts))], self.space.id)
        self.model[uri] = list(parts)
        fresh = self.store.reader.passage_ids([uri])
        assert all(fresh > self.highest)
        self.highest = max([self.highest, *fresh.tolist()])

    @rule(uri=uris)
    def drop(self, uri: str) -> None:
        assert self.store.delete([uri]) == int(self.model.pop(uri, None) is not None)

    @rule(old=uris, new=uris)
    def move(self, old: str, new: str) -> None:
        if old in self.model and new not in self.model:
            self.store.revise(old, new_uri=new)
            self.model[new] = self.model.pop(old)

    @rule(uri=uris, parts=words)
    def fail(self, uri: str, parts: list[str]) -> None:
        with pytest.raises(ZeroDivisionError), self.store.transaction():
            self.store.replace([entry(uri, ". ".join(parts))], self.space.id)
            raise ZeroDivisionError

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_writer(self.folder)

    @precondition(lambda self: self.model)
    @rule()
    def compact(self) -> None:
        self.store.compact()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "store"):
            return
        assert contents(self.store) == self.model
        found = self.store.connection.raw.execute("SELECT rowid FROM passages_fts WHERE passages_fts MATCH 'diesel'")
        wanted = sorted(part for parts in self.model.values() for part in parts if part == "diesel")
        assert sorted(p.text for p in self.store.reader.passages([row[0] for row in found.fetchall()])) == wanted

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert verify(self.store) == []
            self.store.close()
            self.place.cleanup()


TestStoreAgainstModel = StoreAgainstModel.TestCase
TestStoreAgainstModel.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
