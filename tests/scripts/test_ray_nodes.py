"""How nodes of a Ray cluster are started on a busy machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from helpers.scripts import loaded

ray_nodes = loaded("shared.ray_nodes")


def test_a_node_does_not_wait_for_what_a_slow_agent_will_say(tmp_path: Path) -> None:
    place = [f"--session-dir={tmp_path}", "--node-id=0a1b", "--minimal"]
    slow = [sys.executable, "-c", "input()", "/ray/dashboard/agent.py", *place]
    said = tmp_path / "dashboard_agent_listen_port_0a1b"
    with subprocess.Popen(slow, stdin=subprocess.PIPE) as agent:
        try:
            end = time.monotonic() + 60
            while not said.exists() and time.monotonic() < end:  # until the process has its command line
                ray_nodes._answer_for_agent(os.getpid())
            assert said.read_text() == "-1" and [*tmp_path.iterdir()] == [said]
            said.write_text("20101")  # by the agent
            ray_nodes._answer_for_agent(os.getpid())
            assert said.read_text() == "20101"
        finally:
            agent.kill()
