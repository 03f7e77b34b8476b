"""docs/serving.md: its requests are answered, and its table of addresses is the server's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from helpers.serving import serving

from semsearch import Index

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def test_every_request_of_the_page_is_answered_and_every_address_is_in_its_table(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    Index.create("notes", encoder="hashing", home=tmp_path).close()
    commands = re.findall(r"^\$ (curl .*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) >= 6
    with serving(tmp_path, "-m", "hashing") as server:
        for command in commands:
            ran = subprocess.run(
                ["bash", "-c", command.replace("curl ", "curl --fail-with-body ", 1)],
                env={"SERVER": f"http://127.0.0.1:{server.port}", "PATH": "/usr/bin:/bin"},
                capture_output=True,
                text=True,
            )
            assert ran.returncode == 0, f"{command}\n{ran.stdout}"
            assert json.loads(ran.stdout)["schema"] == 1
        paths = server.ok("GET", "/openapi.json")["paths"]
        openai = pytest.importorskip("openai")
        (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
        names: dict[str, object] = {"server": f"http://127.0.0.1:{server.port}"}
        exec(example.replace('"default"', '"hashing"'), names)  # noqa: S102  (of this repository)
        assert [len(one) for one in names["vectors"]] == [128, 128]
        assert isinstance(names["client"], openai.OpenAI)
    table = PAGE.replace("{id}", "{document}")
    assert [path for path in paths if path not in table] == []
