"""One server for all tests that do not change its options, with the index `house` and the encoder `hashing`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from helpers.serving import Serving, serving

from semsearch import Document, Index


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    with Index.create("house", encoder="hashing", home=folder) as index:
        index.add(
            [
                Document("boiler", "The boiler is under the stairs.", {"year": 2020}, "Heating"),
                Document("bread", "Bread needs salt, flour and water.", {"year": 2021}),
                Document("a/b.md", "Diesel engines ignite by compression.", {"year": 2022}),
            ]
        )
    return folder


@pytest.fixture(scope="package")
def server(home: Path) -> Iterator[Serving]:
    with serving(home, "-m", "hashing", "--max-body", "1", "--max-batch", "50") as running:
        yield running
