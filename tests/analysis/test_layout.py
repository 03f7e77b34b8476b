"""Passages in the plane: by PCA, by UMAP in a process that can be ended, kept beside the index as long as it fits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Index, MissingExtra, SemsearchError, UnknownName, UsageError, admin
from semsearch.analysis import umap_process
from semsearch.types import Progress

STUB = """
import numpy, sys, time
class UMAP:
    def __init__(self, **told):
        pass
    def fit_transform(self, vectors):
        {body}
"""
COUNTED = "return numpy.arange(2 * len(vectors)).reshape(-1, 2)"


def documents(first: int, last: int) -> list[Document]:
    return [Document(f"{at:03}.txt", f"word{at} of a note") for at in range(first, last)]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add(documents(0, 20))
        yield made


def with_umap(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """A stand-in for umap-learn in the process that computes."""
    stub = folder / "stub"
    stub.mkdir(exist_ok=True)
    (stub / "umap.py").write_text(STUB.format(body=body), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(stub))
    monkeypatch.setattr(umap_process, "require", lambda: None)


def test_pca_places_every_passage_of_the_sample_and_says_what_its_axes_explain(index: Index) -> None:
    found = index.analysis.layout(method="pca")
    assert (found.method, found.places.shape, len(found.sample)) == ("pca", (20, 2), 20)
    assert 0 < (found.explained or 0) <= 1
    assert np.array_equal(found.places, index.analysis.layout(method="pca").places)
    assert len(index.analysis.layout(5, method="pca").sample) == 5


def test_umap_is_computed_once_and_kept_until_the_file_is_deleted(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, tmp_path, COUNTED)
    sample = index.analysis.sample_vectors()
    assert index.analysis.kept_layout(sample) is None
    first = index.analysis.layout()
    assert first.places.tolist() == [[2 * at, 2 * at + 1] for at in range(20)]
    with_umap(monkeypatch, tmp_path, "raise RuntimeError('again')")
    kept = index.analysis.kept_layout(sample)
    assert kept is not None and np.array_equal(kept.places, first.places)
    assert np.array_equal(index.analysis.layout().places, first.places)
    (index.path / "layout-umap.cache").unlink()
    assert index.analysis.kept_layout(sample) is None
    with pytest.raises(SemsearchError, match="again"):
        index.analysis.layout()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text"])
def test_a_damaged_layout_is_as_good_as_none(
    damage: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, tmp_path, COUNTED)
    index.analysis.layout()
    file = index.path / "layout-umap.cache"
    whole = file.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    file.write_bytes({"cut": whole[:-9], "flipped": flipped, "empty": b"", "text": b"nonsense\n"}[damage])
    assert index.analysis.kept_layout(index.analysis.sample_vectors()) is None


def test_new_passages_are_put_between_their_neighbours_until_there_are_many(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, tmp_path, COUNTED)
    before = index.analysis.layout()
    index.add(documents(20, 22))
    grown = index.analysis.kept_layout(index.analysis.sample_vectors())
    assert grown is not None
    assert np.array_equal(grown.places[:20], before.places)
    low, high = before.places.min(axis=0), before.places.max(axis=0)
    assert ((low <= grown.places[20:]) & (grown.places[20:] <= high)).all()
    index.add(documents(22, 40))
    assert index.analysis.kept_layout(index.analysis.sample_vectors()) is None


def test_a_layout_belongs_to_the_encoder_of_its_vectors(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, tmp_path, COUNTED)
    index.analysis.layout()
    with Index.create(tmp_path / "other", encoder=None, dimensions=4) as other:
        other.add(documents(0, 20), vectors=np.eye(4)[np.arange(20) % 4])
        (other.path / "layout-umap.cache").write_bytes((index.path / "layout-umap.cache").read_bytes())
        assert other.analysis.kept_layout(other.analysis.sample_vectors()) is None


def test_a_removed_index_leaves_no_layout(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_umap(monkeypatch, tmp_path, COUNTED)
    index.analysis.layout()
    index.close()
    assert admin.remove(index.path) == [] and not index.path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
def test_an_exception_of_the_progress_ends_the_process(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pid"
    with_umap(monkeypatch, tmp_path, f"import os; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)")

    def stop(_: Progress) -> None:
        if file.exists() and file.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.analysis.layout(progress=stop)
    assert not Path(f"/proc/{file.read_text()}").exists()
    assert not (index.path / "layout-umap.cache").exists()


def test_what_cannot_be_laid_out_is_said(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName):
        index.analysis.layout(method="tsne")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        index.analysis.layout(0)
    monkeypatch.setitem(sys.modules, "umap", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra):
        index.analysis.layout()


def test_the_progress_is_read_from_what_umap_says() -> None:
    said = "Finding Nearest Neighbors\nBuilding RP forest with 8 trees\nNN descent for 12 iterations\n\t 6  /  12\n"
    steps = [umap_process.step(said[:length]).done for length in range(len(said) + 1)]
    assert steps == sorted(steps) and steps[-1] == 350
    assert umap_process.step(f"{said}Construct embedding\nEpochs completed: 100%|####").done == umap_process.STEPS
