"""The configuration files for clusters are what their tools take."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_the_ray_cluster_passes_the_schema_of_ray() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    if (ray := find_spec("ray")) is None or ray.origin is None:
        pytest.skip("Ray is not installed, and its schema is in it")
    schema = json.loads((Path(ray.origin).parent / "autoscaler" / "ray-schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text(encoding="utf-8")), schema)


def test_the_ray_cluster_asks_for_tokens_and_leaves_the_head_to_the_driver() -> None:
    cluster = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text(encoding="utf-8"))
    assert cluster["available_node_types"][cluster["head_node_type"]]["resources"]["CPU"] == 0
    starts = [
        line for key in ("head", "worker") for line in cluster[f"{key}_start_ray_commands"] if "ray start" in line
    ]
    assert len(starts) == 2 and all("RAY_AUTH_MODE=token" in line for line in starts)


def test_the_ray_cluster_installs_a_wheel_under_the_name_that_pip_asks_for() -> None:
    cluster = yaml.safe_load((DEPLOY / "ray-cluster.yaml").read_text(encoding="utf-8"))
    assert cluster["file_mounts"]["/home/ubuntu/dist"] == "dist"  # where scripts/release/build_package.py writes
    assert not [place for place in cluster["file_mounts"] if place.endswith(".whl")]
    assert any("~/dist/semsearch-*.whl" in line for line in cluster["setup_commands"])
