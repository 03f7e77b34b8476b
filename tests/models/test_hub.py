"""Models of the hub: fetched once and without what could run, found again without a network, refused in one line."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest
from helpers.checkpoints import copied

from semsearch.encoders.encoder import Encoder
from semsearch.errors import NotFound, UsageError
from semsearch.models import hub, model_folders

if TYPE_CHECKING:
    from helpers.commandline import CommandLine

pytest.importorskip("huggingface_hub")
FIRST, SECOND = "1" * 40, "2" * 40


@dataclass
class Hub:
    """What a hub on this machine has: owner/name -> revision -> the folder it serves; and what it was asked for."""

    repos: dict[str, dict[str, Path]] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body, as the hub's API has them."""
        self.asked.append(path)
        parts = unquote(urlparse(path).path).strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if api else parts[:2])
        if name in self.refusals:
            status, code = self.refusals[name]
            return status, {"X-Error-Code": code, "X-Error-Message": code}, b"{}"
        if name not in self.repos:
            return 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"{}"
        rest = parts[4:] if api else parts[2:]
        kind, revision, file = (*rest, "main", "")[:3] if len(rest) < 3 else (rest[0], rest[1], "/".join(rest[2:]))
        heads = {"main": SECOND if SECOND in self.repos[name] else FIRST, **{sha: sha for sha in self.repos[name]}}
        if revision not in heads:
            return 404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}, b"{}"
        sha = heads[revision]
        folder = self.repos[name][sha]
        files = sorted(each for each in folder.rglob("*") if each.is_file())
        if api and kind == "tree":
            told = [self._entry(each, folder) for each in files]
            return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
        if api:
            siblings = [{"rfilename": each.relative_to(folder).as_posix()} for each in files]
            told = {"_id": "0", "id": name, "modelId": name, "sha": sha, "siblings": siblings, "tags": []}
            return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
        content = (folder / file).read_bytes()
        etag = hashlib.sha1(content).hexdigest()
        return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": sha, "Accept-Ranges": "none"}, content

    def _entry(self, file: Path, folder: Path) -> dict[str, object]:
        content = file.read_bytes()
        return {"type": "file", "path": file.relative_to(folder).as_posix(), "size": len(content),
                "oid": hashlib.sha1(content).hexdigest()}  # fmt: skip

    def fetched(self) -> set[str]:
        """The names of the files that were sent."""
        return {path.rpartition("/")[2] for path in self.asked if "/resolve/" in path}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on 127.0.0.1, and an empty cache."""
    there = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = there.answer(self.path)
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    there.address = f"http://127.0.0.1:{httpd.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", there.address)
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "SEMSEARCH_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    impatient = SimpleNamespace(**{**vars(time), "sleep": lambda _: None})  # between its six tries: 23 s
    monkeypatch.setattr("huggingface_hub.utils._http.time", impatient)
    yield there
    httpd.shutdown()


@pytest.fixture
def tiny(server: Hub, golden: Path, tmp_path: Path) -> Path:
    """The folder behind hf:owner/tiny."""
    folder = copied(golden, "tiny-bert", tmp_path / "served")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    for name in ("pytorch_model.bin", "modeling_mine.py", "model.onnx", "notes.pdf"):
        (folder / name).write_text("not to be fetched")
    server.repos["owner/tiny"] = {FIRST: folder}
    return folder


def test_a_model_is_fetched_once_and_without_code_or_pickles(server: Hub, tiny: Path) -> None:
    pytest.importorskip("torch")
    encoder = Encoder.load("hf:owner/tiny#cot-bert")
    assert encoder.fingerprint == Encoder.load(f"{tiny}#cot-bert").fingerprint
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= server.fetched()
    assert not {"pytorch_model.bin", "modeling_mine.py", "model.onnx", "notes.pdf"} & server.fetched()
    assert encoder.info["licence"] == "mit" and encoder.info["source"] == "https://huggingface.co/owner/tiny"
    server.asked.clear()
    assert Encoder.load("hf:owner/tiny#cot-bert").fingerprint == encoder.fingerprint
    assert server.asked == []


@pytest.mark.parametrize("torch", [True, False])
def test_of_an_onnx_repository_one_graph_is_fetched_where_nothing_else_runs(
    server: Hub, tiny: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, torch: bool
) -> None:
    monkeypatch.setattr(hub, "find_spec", lambda name: torch or None)
    (tiny / "onnx").mkdir()
    for name in ("model.onnx", "model.onnx_data", "model_quantized.onnx", "model_fp16.onnx"):
        (tiny / "onnx" / name).write_text("a graph")
    (tiny / "model.onnx").unlink()
    assert cli("models", "pull", "hf:owner/tiny").code == 0
    graph, weights = {"model.onnx", "model.onnx_data"}, {"model.safetensors"}
    assert {"config.json", "tokenizer.json"} <= server.fetched()
    assert server.fetched() & {*graph, *weights} == (weights if torch else graph)
    assert not {"model_quantized.onnx", "model_fp16.onnx", "pytorch_model.bin"} & server.fetched()


def test_what_an_index_remembers_is_the_commit(server: Hub, tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    encoder = Encoder.load("hf:owner/tiny#cot-bert")
    assert encoder.reference == f"hf:owner/tiny@{FIRST}#cot-bert"
    newer = Path(shutil.copytree(tiny, tmp_path / "newer"))
    content = bytearray((newer / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (newer / "model.safetensors").write_bytes(content)
    server.repos["owner/tiny"][SECOND] = newer
    assert Encoder.load("hf:owner/tiny#cot-bert").fingerprint == encoder.fingerprint  # until it is asked for
    assert model_folders.pull("owner/tiny").name == SECOND
    assert Encoder.load("hf:owner/tiny#cot-bert").fingerprint != encoder.fingerprint
    assert Encoder.load(encoder.reference).fingerprint == encoder.fingerprint


def test_an_exported_encoder_brings_its_graph(server: Hub) -> None:
    server.repos["owner/exported"] = {FIRST: model_folders.find("minilm")}
    assert Encoder.load("hf:owner/exported").fingerprint == "7777f0d092591066"
    assert "model.onnx" in server.fetched()
    with pytest.raises(UsageError, match="template built in"):
        Encoder.load("hf:owner/exported#mean")


def test_offline_says_what_is_missing_and_asks_nobody(server: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SEMSEARCH_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(variable, "1")
        with pytest.raises(NotFound, match=r"owner/tiny is not on this machine.*pull\(.hf:owner/tiny"):
            model_folders.fetch("owner/tiny")
        with pytest.raises(NotFound, match="in offline mode"):
            model_folders.pull("owner/tiny")
        monkeypatch.delenv(variable)
    assert server.asked == []
    model_folders.fetch("owner/tiny")
    monkeypatch.setenv("SEMSEARCH_OFFLINE", "1")
    assert (model_folders.fetch("owner/tiny") / "model.safetensors").is_file()


def test_a_download_that_was_cut_off_is_no_model(server: Hub, tiny: Path) -> None:
    folder = model_folders.fetch("owner/tiny")
    (folder / "model.safetensors").unlink()
    assert model_folders.local("owner/tiny") is None
    server.asked.clear()
    assert (model_folders.fetch("owner/tiny") / "model.safetensors").is_file()
    assert server.asked


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "RepoNotFound", "is not on the hub, or is private"),
        (401, "RepoNotFound", "is not on the hub, or is private"),
        (403, "GatedRepo", "accepting its terms"),
        (404, "RevisionNotFound", "has no such revision"),
        (500, "", "could not be downloaded"),
    ],
)
def test_what_the_hub_refuses_is_one_line(server: Hub, status: int, code: str, said: str) -> None:
    server.refusals["owner/secret"] = (status, code)
    with pytest.raises(NotFound, match=said) as caught:
        model_folders.fetch("owner/secret", "v1" if "Revision" in code else "")
    assert caught.value.exit_code == 3 and "\n" not in str(caught.value) and caught.value.fix


def test_a_hub_that_does_not_answer_is_one_line_at_once(
    server: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    with pytest.raises(NotFound, match="could not be downloaded") as caught:
        model_folders.fetch("owner/tiny")
    assert "\n" not in str(caught.value)
    assert "Retrying" not in caplog.text  # its client tries six times


def test_pickled_models_are_refused_with_the_way_to_convert_them(server: Hub, tiny: Path) -> None:
    for name in ("model.safetensors", "model.onnx"):
        (tiny / name).unlink()
    with pytest.raises(NotFound, match=r"pickled weights only \(pytorch_model\.bin\)") as caught:
        model_folders.fetch("owner/tiny")
    assert hub.CONVERTER in caught.value.fix
    assert "pytorch_model.bin" not in server.fetched()


def test_a_repository_that_is_no_model_is_refused(server: Hub, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "README.md").write_text("rows")
    server.repos["owner/data"] = {FIRST: tmp_path / "data"}
    with pytest.raises(NotFound, match="no weights"):
        model_folders.fetch("owner/data")


@pytest.mark.parametrize("name", ["", "a/b/c", "../../etc", "owner/na me", "owner/"])
def test_a_name_that_cannot_be_is_refused_before_anything_is_asked(server: Hub, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a model"):
        model_folders.fetch(name)
    assert server.asked == []


def test_commands_fetch_list_describe_and_remove(
    server: Hub, tiny: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {**model_folders.catalogue(), "tiny": {"hub": "owner/tiny", "template": "cot-bert", "size": "1 MB",
                                             "licence": "MIT", "source": "x", "description": "tiny"}}  # fmt: skip
    monkeypatch.setattr(model_folders, "catalogue", lambda: known)
    assert not here(cli, "tiny") and here(cli, "default")
    told = cli.ok("models", "info", "tiny", "--json")
    assert told.json["model"] == {"name": "tiny", "local": False, **known["tiny"]}
    assert "models pull tiny" in told.err and server.asked == []
    assert cli("models", "info", "hf:owner/other").code == 3
    assert cli.ok("models", "pull", "tiny", "-q", "--json").json["bytes"] > 10_000
    assert here(cli, "tiny")
    assert cli("models", "rm", "tiny").code == 2  # nobody is there to ask
    assert "owner" in cli.ok("models", "rm", "hf:owner/tiny", "-y").err and not here(cli, "tiny")
    assert cli("models", "rm", "tiny", "-y").code == 3
    assert cli("models", "rm", "default", "-y").code == 2
    assert cli("models", "pull", "./folder").code == 2
    assert cli("models", "pull", "hf:owner/tiny", "--offline").code == 3
    assert "nothing to download" in cli.ok("models", "pull", "default").err


def test_info_downloads_nothing_where_another_revision_is_on_this_machine(
    server: Hub, tiny: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_folders.pull("owner/tiny")
    before = list(server.asked)
    known = {"tiny": {"hub": "owner/tiny", "revision": SECOND}}
    monkeypatch.setattr(model_folders, "catalogue", lambda: known)
    assert cli.ok("models", "info", "tiny", "--json").json["model"]["local"] is False
    assert server.asked == before


def test_a_name_of_the_catalogue_is_read_under_its_template(
    server: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    entry = {"hub": "owner/tiny", "template": "cot-bert", "licence": "MIT", "source": "https://example.org"}
    monkeypatch.setattr(model_folders, "catalogue", lambda: {"tiny": entry})
    encoder = Encoder.load("tiny")
    assert encoder.fingerprint == Encoder.load(f"{tiny}#cot-bert").fingerprint
    assert encoder.reference == f"tiny#revision={FIRST},template=cot-bert"
    assert (encoder.name, encoder.info["source"]) == ("tiny#cot-bert", "https://example.org")
    assert Encoder.load(encoder.reference).fingerprint == encoder.fingerprint
    assert Encoder.load("tiny#mean").info["method"] == "mean"


def here(cli: CommandLine, name: str) -> bool:
    found = {one["name"]: one["local"] for one in cli.ok("models", "list", "--json").json["models"]}
    return bool(found[name])
