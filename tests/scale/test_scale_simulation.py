"""The simulated job: nothing is lost or done twice without a failure, and failures cost what they should."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded


@pytest.fixture(scope="module")
def simulating() -> ModuleType:
    return loaded("simulate_scale")


def quiet(simulating: ModuleType) -> object:
    """Assumptions without failures, stragglers and spread."""
    return simulating.Assumptions(
        node_mtbf_hours=1e9, driver_mtbf_hours=1e9, straggler_share=0.0, spread=0.0, driver_passages_per_second=1e15
    )


def test_without_trouble_a_job_takes_the_start_and_the_ideal_time(simulating: ModuleType) -> None:
    found = simulating.Job(170 * 1600, 2, quiet(simulating), 0).run()
    assert found.hours == pytest.approx(found.ideal_hours + 20 / 3600, rel=1e-6)
    assert (found.node_failures, found.again) == (0, 0)


def test_twice_the_nodes_take_about_half_the_time(simulating: ModuleType) -> None:
    one, two = (simulating.Job(10**7, nodes, quiet(simulating), 0).run() for nodes in (4, 8))
    assert one.hours / two.hours == pytest.approx(2, rel=0.1)


def test_failing_nodes_cost_time_and_some_passages_again(simulating: ModuleType) -> None:
    calm = simulating.Job(10**7, 4, quiet(simulating), 0).run()
    rough = simulating.Job(10**7, 4, replace(quiet(simulating), node_mtbf_hours=0.2), 0).run()
    assert rough.node_failures > 2 and rough.hours > calm.hours and 0 < rough.again < 0.05


def test_a_driver_that_fails_costs_the_shards_that_were_open(simulating: ModuleType) -> None:
    found = simulating.Job(10**7, 4, replace(quiet(simulating), driver_mtbf_hours=0.1), 0).run()
    assert found.driver_failures > 0 and found.again > 0 and found.hours > found.ideal_hours


@pytest.mark.parametrize("seed", range(5))
def test_a_job_ends_however_often_nodes_and_drivers_fail(simulating: ModuleType, seed: int) -> None:
    rough = replace(quiet(simulating), node_mtbf_hours=0.3, driver_mtbf_hours=0.2)  # type: ignore[type-var]
    job = simulating.Job(3 * 10**7, 4, rough, seed)
    found = job.run()
    assert found.node_failures and found.driver_failures and found.hours > found.ideal_hours
    assert job.left == pytest.approx(0, abs=1e-6) and not job.running and sum(job.waiting) == pytest.approx(0, abs=1e-6)


def test_rounding_does_not_keep_a_large_job_from_ending(simulating: ModuleType) -> None:
    measured = replace(quiet(simulating), part_seconds=4.0, spread=0.75, passages_per_part=169.44)  # type: ignore[type-var]
    rough = replace(measured, node_mtbf_hours=500.0, driver_mtbf_hours=20.0)
    job = simulating.Job(10**10, 1000, rough, 0)
    found = job.run()
    assert found.driver_failures < 5 and found.hours < 1.5 * found.ideal_hours
    assert not job.waiting and not job.running


def test_what_a_driver_lost_is_shared_among_the_actors(simulating: ModuleType) -> None:
    many = replace(quiet(simulating), driver_mtbf_hours=0.05)  # type: ignore[type-var]
    found = simulating.Job(10**8, 100, many, 0).run()
    away = found.driver_failures * (many.driver_away_seconds + many.start_seconds) / 3600
    assert found.driver_failures and found.hours < 1.5 * (found.ideal_hours + away)


def test_more_workers_than_the_driver_can_serve_are_of_no_use(simulating: ModuleType) -> None:
    slow = replace(quiet(simulating), driver_passages_per_second=5000.0)
    found = simulating.Job(10**7, 50, slow, 0).run()
    assert found.hours >= 10**7 / 5000 / 3600 and found.driver_busy > 0.9
    assert simulating.Job(10**7, 50, replace(slow, worker_writes=True), 0).run().hours < found.hours / 5


def test_measured_values_take_the_place_of_the_assumed_ones(simulating: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "runs.json").write_text(json.dumps({"model": {"part_seconds": 4.5, "other": 1}}))
    found = simulating.calibrated(tmp_path / "runs.json", simulating.Assumptions())
    assert found.part_seconds == 4.5 and found.spread == simulating.Assumptions().spread


def run(what: str, passages: int, workers: int, seconds: float, **more: float) -> dict[str, object]:
    """A run as bench_scale_job.py tells: 100 passages and 1 s a part, after 10 s; 1,000 passages a second stored."""
    model = {
        "part_seconds": 1.0,
        "passages_per_part": 100.0,
        "spread": 0.0,
        "start_seconds": 10.0,
        "driver_passages_per_second": 1000.0,
        **more,
    }
    sizes = {"passages": passages, "workers": workers, "embedding_s": seconds, "storing_s": 0.0}
    return {"what": what, "encoder": "hashing", **sizes, "model": model}


def test_the_model_is_compared_with_the_runs_that_it_was_not_calibrated_with(simulating: ModuleType) -> None:
    local = {"what": "growth", "encoder": "hashing", "passages": 2000, "workers": 0}
    runs = [run("growth", 2000, 1, 32.0), run("growth", 4000, 2, 40.0, part_seconds=99.0), local]
    [(found, predicted)] = simulating.compared(runs)
    assert found is runs[1] and predicted == pytest.approx(10 + 40 / 2 + 4)
    assert "| growth, hashing | 4,000 | 2 | 40.0 | 34.0 | 85% |" in simulating.comparison(runs)


def test_a_kill_costs_a_start_of_one_worker_and_what_it_was_at(simulating: ModuleType) -> None:
    runs = [run("equal cores", 4000, 2, 34.0), run("a kill", 4000, 2, 40.0)]
    [(found, predicted)] = simulating.compared(runs)
    assert found["what"] == "a kill" and 10 + 20 + 4 + 10 / 2 <= predicted <= 10 + 20 + 4 + 10 / 2 + 3
