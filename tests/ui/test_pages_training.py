"""The parts Encoders, Export and Train of the page of models."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import again, at_home, before, click, ended, rows, until
from helpers.pages import said as alerts
from streamlit.testing.v1 import AppTest

from semsearch import Encoder, Index
from semsearch.errors import MissingExtra
from semsearch.utils.writer_lock import WriterLock

METHODS = [
    {
        "name": "simcse",
        "what": "A text twice.",
        "needs": "texts",
        "source": "Gao",
        "url": "https://x.org",
        "batch_size": 64,
        "learning_rate": 3e-5,
        "epochs": 1,
        "max_length": 30,
        "options": {"temperature": 0.05},
    },
    {
        "name": "cosent",
        "what": "Pairs in order.",
        "needs": "pairs with a score or label",
        "source": "Su",
        "url": "https://y.org",
        "batch_size": 32,
        "learning_rate": 2e-5,
        "epochs": 5,
        "max_length": 62,
        "options": {},
    },
]
FIGURES = {
    "texts": 320,
    "least_cosine": 0.91,
    "mean_cosine": 0.95,
    "largest_difference": 0.1,
    "batch_difference": 0.01,
    "spearman_of_pairs": 0.97,
}
said = partial(alerts, more=["markdown", "caption"])
BASE = "bert-base-uncased"
HOSTILE = "<b>x *y* $z$"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home called `indexes`; the models lie beside it."""
    from semsearch_ui.models import train

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("SEMSEARCH_OFFLINE", "1")
    monkeypatch.setattr(train, "training_methods", lambda: METHODS)
    with at_home(tmp_path / "indexes", tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were begun, none of which runs."""
    from semsearch_ui.models import commands

    found: list[list[str]] = []

    def note(arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        found.append(list(arguments))
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(commands, "process", note)
    return found


def shown(part: str, **url: str) -> AppTest:
    page = before("models", part=part, **url)
    until(lambda: not any("Loading" in each.value for each in again(page).info))  # it is computed beside the page
    return page


def run(folder: Path, *metrics: object, result: object = None, error: str = "", **settings: object) -> Path:
    """A run as it lies on the disk, begun by the page."""
    place = folder / "run"
    place.mkdir(parents=True)
    told = {"method": "simcse", "steps": 100, "seed": 0, "dev": "MRR", "base": {"name": "/m/bert"}, **settings}
    told |= {"recipe": {"batch": 8, "rate": 3e-5}, "examples": {"count": 40, "source": f"{HOSTILE}.txt"}}
    (place / "settings.json").write_text(json.dumps(told))
    (place / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in metrics))
    (place / "command.json").write_text(json.dumps({"arguments": ["train", "--method=simcse"], "in": "/"}))
    (place / "output.log").write_text(f"data: 40 texts\n{error}")
    if result:
        (place / "result.json").write_text(json.dumps(result))
    return folder


def filled(page: AppTest, **more: Any) -> AppTest:
    page.selectbox(key="train.base").set_value(BASE)
    page.text_input(key="train.name").set_value("mine")
    for key, value in more.items():
        kind = page.number_input if isinstance(value, int | float) else page.text_input
        kind(key=f"train.{key.replace('_', '-')}").set_value(value)
    return page


# Training


def test_the_form_becomes_the_command_and_empty_boxes_are_left_out(home: Path, begun: list[list[str]]) -> None:
    (home / "notes").mkdir()
    page = shown("Train")
    assert "A text twice." in said(page)
    filled(page, path=str(home / "notes"), steps=20, learning_rate=1e-4, eval_every=5, validation="held-out:9")
    page.selectbox(key="train.template").set_value("cot-bert")
    again(page)
    page = click(page, "Train it")
    [command] = begun
    out = home / "models" / "mine"
    assert command[:3] == ["train", "--method=simcse", f"--output={out}"]
    assert sorted(command[3:]) == sorted(
        [
            f"--base={BASE}",
            f"--data={home / 'notes'}",
            "--steps=20",
            "--learning-rate=0.0001",
            "--eval-every=5",
            "--validation=held-out:9",
            "--template=cot-bert",
        ]
    )
    assert json.loads((out / "run" / "command.json").read_text())["arguments"] == command
    assert page.selectbox(key="run").value == str(out)


def test_the_flags_of_the_form_are_those_of_the_command_line() -> None:
    from typer.testing import CliRunner

    from semsearch.cli.main import app
    from semsearch_ui.models import train_options

    told = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).output
    named = [*train_options.BOXES, "method", "base", "data", "from-index", "output", "set", "yes"]
    assert [name for name in named if f"--{name}" not in told] == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"base": None}, "no base model"),
        ({"name": ""}, "needs a name"),
        ({"name": "../up"}, "needs a name"),
        ({"name": "-x"}, "needs a name"),
        ({"path": ""}, "nothing to train on"),
        ({"steps": 5, "epochs": 2.0}, "both set"),
        ({"name": "there"}, "a run there already"),
    ],
)
def test_what_cannot_be_trained_is_a_sentence_and_nothing_is_begun(
    wrong: dict[str, Any], why: str, home: Path, begun: list[list[str]]
) -> None:
    run(home / "models" / "there")
    page = filled(shown("Train"), **{"path": "~/notes", **{k: v for k, v in wrong.items() if k != "base"}})
    if "base" in wrong:
        page.selectbox(key="train.base").set_value(None)
    assert why in said(click(again(page), "Train it"))
    assert begun == []


def test_an_index_and_an_uploaded_file_can_be_trained_on(home: Path, begun: list[list[str]]) -> None:
    Index.create("notes", encoder="hashing").close()
    page = filled(shown("Train"))
    click(again(page), "Train it")
    assert "--from-index=notes" in begun[0]
    page = filled(shown("Train"))
    page.session_state["train.from"] = "A file to upload"
    again(page)
    page.text_input(key="train.name").set_value("other")
    page.file_uploader(key="train.file").set_value(("../<b>te xts</b>.txt", b"One.\nTwo.\n", ""))
    click(again(page), "Train it")
    [data] = [each.removeprefix("--data=") for each in begun[1] if each.startswith("--data=")]
    assert Path(data).parent == home / "models" / "other" / "run" / "data"
    assert Path(data).suffix == ".txt" and Path(data).read_bytes() == b"One.\nTwo.\n"


def test_a_method_for_pairs_offers_no_index(home: Path) -> None:
    Index.create("notes", encoder="hashing").close()
    page = shown("Train")
    page.selectbox(key="train.method").set_value("cosent")
    assert [each.key for each in again(page).text_input if each.key == "train.path"] == ["train.path"]
    assert "Pairs in order." in said(page)


def test_a_run_is_shown_with_its_loss_its_score_and_what_it_was_told(home: Path) -> None:
    lines = [{"step": 10, "loss": 2.0, "seconds": 3}, {"step": 20, "loss": 1.5, "seconds": 6}]
    folder = run(home / "models" / "mine", *lines, {"step": 20, "dev": 71.25, "measure": "MRR@10"})
    lock = WriterLock(folder / "run")
    page = shown("Train")
    [bar] = page.get("progress")
    told = bar.proto.text.replace("\\", "")
    assert "running · step 20 of 100 · loss 1.5000 · 6 s · score 71.25 · best 71.25 at step 20" in told
    titles = [json.loads(each.proto.spec)["title"]["text"] for each in page.get("vega_lite_chart")]
    assert titles == ["Loss", "MRR@10, percent"]
    assert "simcse on bert, 40 examples" in said(page)
    lock.release()
    assert "stopped · step 20 of 100" in said(shown("Train"))
    (folder / "run" / "step").write_text("23")
    assert "stopped · step 23 of 100" in said(shown("Train"))


def test_a_chart_of_a_long_run_is_thinned_and_ends_where_the_run_is() -> None:
    from semsearch_ui.models import run_charts

    curve = [(10 * at, float(at)) for at in range(1, 20_001)]
    found = run_charts.thinned(curve)
    assert len(found) <= run_charts.POINTS + 1
    assert (found[0], found[-1]) == ((10, 1.0), (200_000, 20_000.0))


def test_every_step_is_shown_with_the_time_that_is_left_and_a_validation_by_its_name(home: Path) -> None:
    folder = run(home / "models" / "mine")
    moment = {"step": 3, "loss": 2.5, "seconds": 12.0, "seconds_left": 400.0, "doing": "training"}
    (folder / "run" / "step").write_text(json.dumps(moment))
    lock = WriterLock(folder / "run")
    page = shown("Train")
    bar = page.get("progress")[0].proto.text.replace("\\", "")
    assert "running · step 3 of 100 · loss 2.5000 · 12 s · 7 min left" in bar
    assert len(page.get("vega_lite_chart")) == 1  # the loss, from the first step on
    (folder / "run" / "step").write_text(json.dumps(moment | {"doing": "validating"}))
    assert "validating · step 3" in shown("Train").get("progress")[0].proto.text.replace("\\", "")
    lock.release()


def test_a_run_that_prepares_says_what(home: Path, begun: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch_ui.models import commands

    folder = run(home / "models" / "mine")
    (folder / "run" / "settings.json").unlink()
    (folder / "run" / "output.log").write_text("preparing: reading the texts\ndata: 4\npreparing: loading PyTorch\n")
    monkeypatch.setattr(commands, "is_alive", lambda _: True)
    bar = shown("Train").get("progress")[0].proto.text.replace("\\", "")
    assert bar.startswith("starting for") and bar.endswith("loading PyTorch")


def test_the_curves_of_a_run_are_its_losses_and_its_scores(home: Path) -> None:
    lines = [{"step": 10, "loss": 2.0}, {"step": 10, "dev": 72.5, "measure": "MRR@10"}]
    run(home / "models" / "run0", *lines)
    charts = [json.loads(each.proto.spec) for each in shown("Train", run="run0").get("vega_lite_chart")]
    assert [chart["title"]["text"] for chart in charts] == ["Loss", "MRR@10, percent"]
    assert "There is no validation" not in said(shown("Train", run="run0"))


def test_the_methods_are_read_without_pytorch_in_the_server() -> None:
    pytest.importorskip("torch")
    program = (
        "import sys\nfrom semsearch_ui.models.methods import training_methods\n"
        "assert any(each['name'] == 'simcse' for each in training_methods())\n"
        "assert 'torch' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_run_that_is_done_leads_to_its_index_and_its_export(home: Path, begun: list[list[str]]) -> None:
    folder = run(home / "models" / "mine", result={"score": 71.25, "step": 20, "steps": 100, "measure": "MRR"})
    page = shown("Train")
    assert "Best score 71.25, at step 20" in said(page)
    page = click(page, "Export it")
    assert page.selectbox(key="export.model").value == str(folder)
    page = click(shown("Train"), "Create an index with it")
    assert page.session_state["add.encoder"] == str(folder)  # of the panel in the library
    assert page.session_state["go on to"][0] == "library"


def test_a_run_that_failed_says_why_and_is_tried_again(home: Path, begun: list[list[str]]) -> None:
    folder = home / "models" / "mine"
    run(folder, error=f"error: there is no folder {HOSTILE}. Check the path.\n")
    (folder / "run" / "settings.json").unlink()
    page = shown("Train")
    assert f"There is no folder {HOSTILE}. Check the path." in said(page)
    assert all("<b>" not in each.value.replace("\\<", "") for each in (*page.error, *page.caption, *page.markdown))
    click(page, "Try again")
    assert begun == [["train", "--method=simcse"]]


def test_a_process_is_stopped_by_a_signal_and_its_run_gone_on_with(home: Path, begun: list[list[str]]) -> None:
    from semsearch_ui.models import commands

    folder = run(home / "models" / "mine", {"step": 10, "loss": 2.0})
    code = f"""
import time
from pathlib import Path
from semsearch.utils.writer_lock import WriterLock
lock = WriterLock(Path({str(folder / "run")!r}))
print("here", flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"here\n"
    page = shown("Train")
    click(page, "Stop")
    assert process.wait(60) == -signal.SIGTERM
    assert commands.stopping(folder, process.pid)
    click(shown("Train"), "Resume")
    assert begun == [["train", "--method=simcse"]]


def test_a_run_of_the_command_line_says_how_it_goes_on(home: Path) -> None:
    folder = run(home / "models" / "mine", {"step": 10, "loss": 2.0})
    (folder / "run" / "command.json").unlink()
    page = shown("Train")
    assert "Type the same command again" in said(page)
    assert not [each for each in page.button if each.label == "Resume"]


def test_without_pytorch_the_page_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch_ui.models import train

    def missing() -> None:
        raise MissingExtra("train", "train", "torch")

    monkeypatch.setattr(train, "training_methods", missing)
    assert "[train]'" in said(shown("Train"))


# Export


def export(monkeypatch: pytest.MonkeyPatch, answer: object, *notes: str) -> list[list[str]]:
    """An export that answers and notes this; the commands that were given."""
    from semsearch_ui.models import commands

    found: list[list[str]] = []

    def answering(arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        found.append(list(arguments))
        code = f"import sys; print({json.dumps(answer)!r}); print({chr(10).join(notes)!r}, file=sys.stderr)"
        return subprocess.Popen([sys.executable, "-c", code], **how)

    monkeypatch.setattr(commands, "process", answering)
    return found


def exported(page: AppTest) -> str:
    """The page, once the export is done."""
    ended(("Export",))
    return said(again(page))


def test_an_export_is_the_command_and_says_what_it_passed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"folder": "/m/bert-int8", "size": 1500, "parity": {"gate": "a gate", **FIGURES}}
    commands = export(monkeypatch, {"export": made}, "loading", json.dumps(FIGURES))
    page = shown("Export")
    page.selectbox(key="export.model").set_value(BASE)
    page.radio(key="export.dtype").set_value("int8")
    page.number_input(key="export.dim").set_value(64)
    assert "1.5 kB in /m/bert-int8. It passed: a gate." in exported(click(page, "Export it"))
    out = home / "models" / f"{BASE}-int8"
    assert commands == [["export", f"--output={out}", "--dtype=int8", "--json", "--dim=64", "--", BASE]]


def test_an_export_that_misses_its_gate_shows_every_figure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"message": "the int8 export is off. Nothing was written.", "fix": "Use fp32.", "code": 5}
    export(monkeypatch, {"error": error}, "measuring", json.dumps(FIGURES))
    page = shown("Export")
    page.selectbox(key="export.model").set_value(BASE)
    told = exported(click(page, "Export it"))
    assert "It did not pass: the int8 export is off. Nothing was written. Use fp32." in told
    assert "Spearman of the cosines of unrelated sentences: 0.97" in told
    assert "Lowest cosine of a text's vector to that of PyTorch: 0.91" in told


def test_an_export_that_cannot_be_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = export(monkeypatch, {"error": {"message": f"There is no folder {HOSTILE}.", "fix": "Check it."}})
    page = shown("Export")
    assert "There is no model to export" in said(click(page, "Export it"))
    page.selectbox(key="export.model").set_value(BASE)
    page.text_input(key="export.name").set_value("a/b")
    assert "needs a name" in said(click(page, "Export it"))
    assert commands == []
    page.text_input(key="export.name").set_value("mine")
    assert f"There is no folder {HOSTILE}. Check it." in exported(click(page, "Export it"))


def test_what_was_measured_of_an_export_is_kept_and_shown(home: Path) -> None:
    from semsearch.models import bundle as bundles
    from semsearch.models import model_folders

    source = bundles.read(model_folders.find("default"))
    folder = home / "models" / "small"
    folder.mkdir(parents=True)
    for file in source.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    page = shown("Export")
    told = {row["what"]: row["figure"] for row in rows(page, "figure")}
    assert float(told["Lowest cosine of a text's vector to that of PyTorch"]) == source.parity["least_cosine"]
    assert f"Passed: {source.parity['gate']}" in said(page)
    [row] = rows(shown("Encoders"), "runs in")
    assert (row["name"], row["runs in"], row["precision"], row["dimensions"]) == ("small", "ONNX Runtime", "int8", 384)


# Encoders


def test_the_catalogue_says_what_is_here_its_size_and_its_licence(home: Path) -> None:
    known = {row["name"]: row for row in rows(shown("Encoders"), "licence")}
    assert [*known] == [each["name"] for each in Encoder.catalogue()]
    assert known["default"]["here"]
    assert known["default"]["on disk"] > 1_000_000
    assert known["hashing"]["licence"] == "Apache-2.0"


def test_one_encoder_is_told_in_full(home: Path) -> None:
    page = shown("Encoders")
    page.selectbox(key="encoder").set_value("hashing")
    told = {row["what"]: row["value"] for row in until(lambda: rows(again(page), "value"))}
    assert told["Dimensions"] == "256"
    assert told["Fingerprint"]


def test_a_model_that_is_not_here_is_not_loaded_and_cannot_be_fetched_offline(home: Path) -> None:
    from semsearch_ui.shared.work import jobs

    page = shown("Encoders")
    page.selectbox(key="encoder").set_value("bge-small-en-v1.5")
    assert "It is not on this machine" in said(again(page))
    click(page, "Download it")
    key = ("Models", "bge-small-en-v1.5")
    until(lambda: not jobs.busy(key))
    assert "cannot be downloaded in offline mode" in said(again(page))


def test_an_encoder_that_cannot_be_read_is_a_sentence_and_hides_no_other(home: Path) -> None:
    broken = home / "models" / HOSTILE
    broken.mkdir(parents=True)
    (broken / "encoder.json").write_text("{}")
    page = shown("Encoders")
    assert "cannot be read" in rows(page, "problem")[0]["problem"]
    page.selectbox(key="encoder").set_value(str(broken))
    until(lambda: again(page).error)
    assert "cannot be read" in said(page)
    assert all("<b>" not in each.value.replace("\\<", "") for each in page.error)
