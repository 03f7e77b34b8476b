"""A Ray cluster of a head and two nodes for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.rays import Cluster, cluster, isolated


@pytest.fixture(scope="module")
def rays() -> Iterator[Cluster]:
    pytest.importorskip("ray")
    if not isolated():
        pytest.skip("Ray listens on every address: run scripts/test --scale, which takes a namespace of its own")
    with cluster(2) as found:
        yield found
