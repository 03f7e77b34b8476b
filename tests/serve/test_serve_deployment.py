"""The files in deploy/ are what the programs that read them accept, as far as these are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def accepted(program: str, *arguments: str | Path) -> None:
    """Run a program that checks a file; the test is skipped where it is not installed."""
    found = shutil.which(program, path=f"/usr/sbin:/sbin:{Path(sys.executable).parent}") or shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    run = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    server = re.sub(r"\s*(listen 443 ssl|ssl_certificate\S*).*?;", "", (DEPLOY / "nginx.conf").read_text())  # no files
    assert "proxy_pass http://127.0.0.1:8765;" in server
    (tmp_path / "server.conf").write_text(server.replace("server {", "server {\n    listen 127.0.0.1:8443;"))
    whole = f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ include {tmp_path}/server.conf; }}"
    (tmp_path / "nginx.conf").write_text(whole)
    accepted("nginx", "-t", "-c", tmp_path / "nginx.conf")


def test_caddy_accepts_its_configuration() -> None:
    accepted("caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "semsearch.service").read_text().replace("/opt/semsearch/bin/semsearch", sys.executable)
    (tmp_path / "semsearch.service").write_text(unit)
    accepted("systemd-analyze", "verify", "--man=no", tmp_path / "semsearch.service")


def test_systemd_accepts_the_unit_of_the_watcher(tmp_path: Path) -> None:
    unit = (
        (DEPLOY / "semsearch-watch@.service").read_text().replace("%h/.venvs/semsearch/bin/semsearch", sys.executable)
    )
    (tmp_path / "semsearch-watch@notes.service").write_text(unit)
    accepted("systemd-analyze", "verify", "--man=no", tmp_path / "semsearch-watch@notes.service")


def test_the_dockerfile_has_no_lint() -> None:
    accepted("hadolint", DEPLOY / "Dockerfile")


def test_the_image_copies_what_is_there_and_nothing_runs_as_root() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    ]
    shown = set((DEPLOY / "Dockerfile.dockerignore").read_text().replace("!", "").split())
    assert [name for name in copied if not (DEPLOY.parent / name).exists() or name not in shown] == []
    last = lines[max(at for at, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert any(re.fullmatch(r"USER [1-9]\d*", line) for line in last)
