"""The linters beside a run of the whole suite: they begin with it, and are its last test."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "scripts" / "check"


class Linters:
    """A plug-in of the process that reports: what `scripts/check` says stands there as a failed test where it fails."""

    def __init__(self) -> None:
        self._began = time.time()
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115  read once they have ended
        self._process = subprocess.Popen([CHECK], stdout=self._output, stderr=subprocess.STDOUT, start_new_session=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            os.killpg(self._process.pid, signal.SIGTERM)
        failed = self._process.wait() != 0
        self._output.seek(0)
        if failed:
            session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
        session.config.hook.pytest_runtest_logreport(
            report=pytest.TestReport(
                nodeid="scripts/check",
                location=("scripts/check", None, "scripts/check"),
                keywords={},
                outcome="failed" if failed else "passed",
                longrepr=self._output.read() if failed else None,
                when="call",
                duration=time.time() - self._began,
            )
        )


def are_due(config: pytest.Config) -> bool:
    """Whether this process is the one that reports on a run of the whole suite."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    usual = config.option.markexpr.startswith("not long")  # as in pyproject.toml, not of --fast, -m long or --scale
    return whole and usual and not config.option.collectonly and not hasattr(config, "workerinput")
