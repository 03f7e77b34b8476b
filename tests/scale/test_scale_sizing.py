"""`semsearch scale plan`: the formulas give the figures they are known for, and say what they assume."""

from __future__ import annotations

import pytest
from helpers.commandline import CommandLine

from semsearch.errors import UsageError
from semsearch.scale.sizing import FORMS, Scale, bytes_of_vector, nodes, plan


def scale(documents: float, dim: int, **more: object) -> Scale:
    return Scale(documents, dim, rate=10.0, rate_source="given", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("documents", "dim", "form", "expected"),
    [
        (1e9, 384, "fp32", 18),
        (1e9, 384, "fp16", 9),
        (1e9, 1024, "int8", 12),
        (1e10, 384, "fp32", 172),
        (1e10, 1024, "rabitq", 17),
        (1e10, 1024, "hnsw-int8", 131),
        (1e6, 384, "fp32", 2),
    ],
)
def test_the_nodes_of_known_sizes(documents: float, dim: int, form: str, expected: int) -> None:
    assert nodes(scale(documents, dim), form) == expected


def test_a_form_with_fewer_bytes_never_takes_more_nodes() -> None:
    for dim in (64, 384, 4096):
        by_size = sorted(FORMS, key=lambda form: bytes_of_vector(form, dim))
        counts = [nodes(scale(1e9, dim), form) for form in by_size]
        assert counts == sorted(counts)


def test_twice_the_documents_are_twice_the_bytes_and_hours() -> None:
    one, two = plan(scale(1e8, 384)), plan(scale(2e8, 384))
    assert two["memory_bytes"] == 2 * one["memory_bytes"] and two["disk_bytes"] == 2 * one["disk_bytes"]
    assert two["embedding"]["core_hours"] == pytest.approx(2 * one["embedding"]["core_hours"], rel=1e-3)
    assert one["queries"]["processor_ms"] < two["queries"]["processor_ms"] < 2 * one["queries"]["processor_ms"]


def test_a_billion_passages_at_ten_a_second_take_27_778_core_hours() -> None:
    found = plan(scale(1e9, 384, embedding_cores=1000, dollars_per_hour=1.6, cores=16))
    assert found["embedding"] == {"core_hours": 27777.78, "hours": 27.78, "dollars": 2777.78}


@pytest.mark.parametrize("wrong", [{"replicas": 0}, {"utilisation": 1.5}, {"text_bytes": -1.0}, {"form": "fp8"}])
def test_a_scale_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        scale(1e9, 384, **wrong)


def test_the_command_prints_every_assumption_and_the_same_figures_as_json(cli: CommandLine) -> None:
    given = ("scale", "plan", "--documents", "1e9", "--dim", "384", "--rate", "25", "--replicas", "3")
    found, shown = cli.ok(*given, "--json").json, cli.ok(*given).out
    assert (found["passages"], found["replicas"], found["forms"]["fp32"]["nodes"]) == (10**9, 3, 26)
    assert "25.0 passages a second" in shown and all(line in shown for line in found["assumptions"])
    assert "(IVF) for every form, hnsw-int8 included" in shown and "int8 vectors, which are kept on disk" in shown


def test_the_rate_is_measured_where_none_is_given(cli: CommandLine) -> None:
    found = cli.ok("scale", "plan", "--documents", "2_000_000_000", "-m", "hashing", "--json").json
    assert found["dim"] == 256 and found["embedding"]["core_hours"] > 0
    assert any("measured here with hashing" in line for line in found["assumptions"])


@pytest.mark.parametrize("documents", ["many", "0", "-5", "nan", "1e99"])
def test_a_number_of_documents_that_is_none_is_refused(cli: CommandLine, documents: str) -> None:
    ran = cli("scale", "plan", f"--documents={documents}", "--dim", "384", "--rate", "1")
    assert ran.code == 2 and "is not a number of documents" in ran.err
