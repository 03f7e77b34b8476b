"""The faults that scripts/scale_faults.py causes: what is cut lets nothing through, and what is full takes nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.scripts import loaded

pytestmark = pytest.mark.scale

_SERVER = """
import socket
server = socket.create_server(("{host}", 7007))
print(flush=True)
while True:
    server.accept()[0].close()
"""


@pytest.fixture(autouse=True)
def own_namespaces() -> None:
    if os.geteuid():
        pytest.skip("networks and mounts need root: run scripts/test --scale as root")
    try:
        loaded("server_faults").require_namespace()
    except RuntimeError as error:
        pytest.skip(str(error))


def answers(host: str) -> bool:
    try:
        socket.create_connection((host, 7007), timeout=2).close()
    except OSError:
        return False
    return True


def test_a_cable_that_is_cut_lets_nothing_through_until_it_is_mended(tmp_path: Path) -> None:
    faults = loaded("server_faults")
    with faults.place("cut", tmp_path, 1) as place:
        command = [*place.inside, sys.executable, "-c", _SERVER.format(host=place.host)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                server.stdout.readline()
                assert answers(place.host)
                for silently in (False, True):
                    place.cable.cut(silently=silently)
                    assert not answers(place.host)
                    place.cable.mend()
                    end = time.monotonic() + 30
                    while not answers(place.host):
                        assert time.monotonic() < end, f"still cut (silently: {silently})"
            finally:
                server.kill()


def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    faults = loaded("server_faults")
    with faults.place("full", tmp_path, 8) as place:
        file = place.folder / "written"
        place.disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.write_bytes(b"x" * 10_000)
        place.disk.free()
        assert file.write_bytes(b"x" * 10_000) == 10_000
    assert not os.path.ismount(place.folder)
