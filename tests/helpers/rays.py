"""A Ray cluster for tests: what scripts/shared/ray_nodes.py starts."""

from __future__ import annotations

from helpers.scripts import loaded

_nodes = loaded("shared.ray_nodes")
Cluster, cluster, isolated = _nodes.Cluster, _nodes.cluster, _nodes.isolated
