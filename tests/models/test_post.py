"""Post-processing that an encoder carries: in Torch, saved, exported, shortened, and always part of what it is."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.arithmetic import ROUNDING, UNIT, error

from semsearch.encoders.encoder import Encoder
from semsearch.errors import Corrupt, EncoderMismatch, NotFound, UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import model_folders, postprocessing
from semsearch.models.model_ref import Reference
from semsearch.models.postprocessing import Step
from semsearch.utils.vectors import unit_rows

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

from helpers.checkpoints import rewrite, shallow  # noqa: E402
from helpers.commandline import CommandLine  # noqa: E402
from helpers.tracing import tracing_once  # noqa: E402

from semsearch.evaluation.papers import whitening  # noqa: E402
from semsearch.evaluation.papers.fitting import Fit, fitted  # noqa: E402
from semsearch.export import export, precision  # noqa: E402

DEFAULT = "7777f0d092591066"
TEXTS = ("A man is playing a guitar.", "a", "", "Is it so?", 'He said "no".', "on and on about nothing, " * 40)


def sentences(count: int) -> list[str]:
    """Different texts of words that the tiny models know."""
    rng = np.random.default_rng(2)
    words = [*ascii_lowercase, "man", "is", "playing", "guitar", "the", "cat", "on", "mat", "sentence", "about", "no"]
    return [f"{' '.join(rng.choice(words, rng.integers(3, 12)))} ." for _ in range(count)]


@pytest.fixture(scope="module")
def tiny(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shallow(golden, "tiny-bert", tmp_path_factory.mktemp("models") / "tiny-bert", layers=1)


@pytest.fixture(scope="module")
def plain(tiny: Path) -> Encoder:
    return Encoder.load(f"{tiny}#static", device="cpu")


@pytest.fixture(scope="module")
def white(plain: Encoder) -> Encoder:
    return fitted(plain, Fit("whitening", sentences(300), 20, source="words"))


@pytest.fixture(scope="module")
def flowing(plain: Encoder) -> Encoder:
    return fitted(plain, Fit("flow", sentences(300), seed=1))


@pytest.fixture(scope="module")
def saved(white: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for Torch."""
    out = tmp_path_factory.mktemp("saved") / "out"
    export(white, out, to="torch")
    return out


@pytest.fixture(scope="module")
def graph(white: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ONNX Runtime; beside it `traced.onnx`, what torch traced."""
    out = tmp_path_factory.mktemp("graph") / "out"
    with tracing_once(out.with_name("traced.onnx")):
        export(white, out)
    return out


@pytest.fixture(scope="module")
def flow_graph(flowing: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of the flow."""
    out = tmp_path_factory.mktemp("flow") / "out"
    with tracing_once(out.with_name("traced.onnx")):
        export(flowing, out)
    return out


def raw(encoder: Encoder, texts: Any = TEXTS) -> Any:
    engine: Any = encoder.backend
    return engine.vectors(list(texts), engine.prompts["passage"])


def test_it_acts_on_the_methods_vector_before_length_1(plain: Encoder, white: Encoder) -> None:
    found = whitening.fit([raw(plain, sentences(300))], 20)
    wanted = found(raw(plain))
    assert np.abs(raw(white) - wanted).max() < 1e-3
    assert np.abs(white.encode(list(TEXTS)) - unit_rows(wanted)).max() < 1e-4
    assert white.dim == 20 and plain.dim == 32


def test_an_encoder_that_something_is_fitted_behind_stays_what_it_was(plain: Encoder) -> None:
    before, vectors = plain.fingerprint, plain.encode(list(TEXTS))
    fitted(plain, Fit("whitening", sentences(100)))
    assert plain.fingerprint == before and np.array_equal(plain.encode(list(TEXTS)), vectors)


def test_the_step_says_on_what_it_was_fitted(white: Encoder, flowing: Encoder) -> None:
    (step,), (other,) = white.backend.bundle.post, flowing.backend.bundle.post  # type: ignore[attr-defined]
    assert step.fitted["texts"] == 300 and step.fitted["source"] == "words" and step.fitted["varying"] == 32
    assert other.fitted["bits_after"] < other.fitted["bits_before"] and other.fitted["seed"] == 1
    assert step.fitted["sha256"] == other.fitted["sha256"]  # of the same texts
    assert white.info["post"] == ["whitening 20"] and "post" not in Encoder.load("minilm").info


def test_fingerprints_of_what_carries_nothing_stay(plain: Encoder, white: Encoder, flowing: Encoder) -> None:
    assert bundles.read(model_folders.find("minilm")).with_fingerprint().fingerprint == DEFAULT
    assert len({plain.fingerprint, white.fingerprint, flowing.fingerprint}) == 3


@pytest.mark.parametrize(
    "change",
    [{"kind": "flow"}, {"dim": 21}, {"sha256": "0" * 64}, {"fitted": {"texts": 5}}],
    ids=lambda each: next(iter(each)),
)
def test_all_of_a_step_but_its_story_is_in_the_fingerprint(white: Encoder, change: dict[str, Any]) -> None:
    bundle: Any = white.backend.bundle  # type: ignore[attr-defined]
    other = replace(bundle, post=(replace(bundle.post[0], **change),)).with_fingerprint()
    assert (other.fingerprint == bundle.fingerprint) == ("fitted" in change)


def test_a_torch_folder_gives_the_same_encoder_again(white: Encoder, saved: Path) -> None:
    again = Encoder.load(saved, device="cpu")
    assert (again.fingerprint, again.dim) == (white.fingerprint, 20)
    assert np.array_equal(again.encode(list(TEXTS)), white.encode(list(TEXTS)))
    assert {saved / "post" / "0" / "model.safetensors"} < set(bundles.read(saved).files())


def test_a_folder_with_its_own_modules_and_a_tokenizer_from_elsewhere_is_copied_whole(
    golden: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(golden / "models" / "tiny-bert", tmp_path / "pipeline"))
    models.make_pipeline(folder)
    for name in ("pytorch_model.bin", "notes.bin", "model.onnx"):
        (folder / name).write_bytes(b"something")
    encoder = fitted(Encoder.load(folder, device="cpu"), Fit("flow", sentences(80)))
    export(encoder, tmp_path / "out", to="torch")
    again = Encoder.load(tmp_path / "out", device="cpu")
    assert again.fingerprint == encoder.fingerprint
    assert np.array_equal(again.encode(list(TEXTS)), encoder.encode(list(TEXTS)))
    assert not [*(tmp_path / "out").glob("*.bin"), *(tmp_path / "out").glob("*.onnx")]


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_step_that_is_not_what_was_written_is_noticed(saved: Path, tmp_path: Path, file: str) -> None:
    out = Path(shutil.copytree(saved, tmp_path / "out"))
    path = out / "post" / "0" / file
    content = bytearray(path.read_bytes())
    content[-3 if file == "config.json" else -1] ^= 1
    path.write_bytes(content)
    with pytest.raises(Corrupt, match="whitening"):
        Encoder.load(out, device="cpu")
    path.unlink()
    with pytest.raises(NotFound, match="lacks its whitening"):
        Encoder.load(out, device="cpu")


def test_an_fp32_graph_holds_it_and_opens_the_same_indexes(white: Encoder, graph: Path) -> None:
    exported = Encoder.load(graph)
    assert (exported.fingerprint, exported.dim) == (white.fingerprint, 20)
    assert np.abs(exported.encode(list(TEXTS)) - white.encode(list(TEXTS))).max() < 1e-3
    assert sorted(file.name for file in graph.iterdir()) == ["encoder.json", "model.onnx", "tokenizer.json"]
    assert bundles.read(graph).parity["least_cosine"] >= 0.9999
    assert bundles.read(graph).post == white.backend.bundle.post  # type: ignore[attr-defined]


def test_a_flow_in_a_graph_gives_what_it_gives_in_torch(flowing: Encoder, flow_graph: Path) -> None:
    exported = Encoder.load(flow_graph)
    assert exported.fingerprint == flowing.fingerprint
    assert np.abs(exported.encode(list(TEXTS)) - flowing.encode(list(TEXTS))).max() < 1e-4


@pytest.fixture(scope="module")
def traces(white: Encoder, graph: Path, flowing: Encoder, flow_graph: Path) -> list[tuple[Any, Any, Path]]:
    """Of whitening and of a flow: what was traced, texts to run it with, the graph."""
    from semsearch.export import onnx_folder

    made = ((white, graph), (flowing, flow_graph))
    return [
        (*onnx_folder.trace_inputs(encoder.backend), folder.with_name("traced.onnx"))  # type: ignore[attr-defined]
        for encoder, folder in made
    ]


def run(path: Path, example: Any) -> Any:
    import onnxruntime

    onnx.checker.check_model(path, full_check=True)
    ids, mask = (each.numpy() for each in example)
    return onnxruntime.InferenceSession(path).run(None, {"input_ids": ids, "attention_mask": mask})[0]


def test_a_graph_gives_what_torch_gives(traces: list[tuple[Any, Any, Path]], tmp_path: Path) -> None:
    for at, (module, example, path) in enumerate(traces):
        assert np.abs(run(path, example) - module(*example).detach().numpy()).max() < 1e-4
        assert np.abs(run(precision.optimise(path, tmp_path / f"{at}.onnx"), example) - run(path, example)).max() < 1e-4


def test_other_precisions_leave_it_in_float32(traces: list[tuple[Any, Any, Path]], tmp_path: Path) -> None:
    """Its numbers are large where the vectors vary little; what is before it is measured by the usual gates."""
    for at, (module, example, full) in enumerate(traces):
        for change in (precision.to_half, precision.quantise):
            path = change(full, tmp_path / f"{change.__name__}-{at}.onnx")
            assert (run(path, example) * module(*example).detach().numpy()).sum(axis=1).min() > 0.99
            held = onnx.load(path).graph
            own = {tensor.name: tensor for tensor in held.initializer if tensor.name.startswith("post.")}
            assert len(own) > 1 and {tensor.data_type for tensor in own.values()} == {onnx.TensorProto.FLOAT}
            assert {tensor.name for tensor in held.initializer} <= {name for node in held.node for name in node.input}
            casts = [node for node in held.node if node.op_type == "Cast" and len(held.node) > 40]
            assert len(casts) < 6  # and nothing between its steps is rounded


@pytest.mark.slow
def test_an_export_with_it_passes_or_fails_the_usual_gates(
    white: Encoder, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from semsearch.errors import GateFailed
    from semsearch.export import parity

    measured = parity.compare
    monkeypatch.setattr(parity, "compare", lambda *of: measured(*of) | {"mean_cosine": 0.96})
    with pytest.raises(GateFailed), tracing_once(graph.with_name("traced.onnx")):
        export(white, tmp_path / "out", "int8")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["model", "torch folder", "graph"])
def test_the_first_numbers_alone_wherever_they_come_from(
    where: str, tiny: Path, saved: Path, graph: Path, white: Encoder, plain: Encoder
) -> None:
    name, whole = {
        "model": (f"{tiny}#dim=8,template=static", plain),
        "torch folder": (f"{saved}#dim=8", white),
        "graph": (f"{graph}#dim=8", white),
    }[where]
    short = Encoder.load(name, device="cpu")
    assert (short.dim, short.info["dim"], short.info["post"][-1]) == (8, 8, "truncate 8")
    assert short.fingerprint != whole.fingerprint
    assert np.abs(short.encode(list(TEXTS)) - unit_rows(whole.encode(list(TEXTS))[:, :8])).max() < 1e-3
    assert Encoder.load(short.reference, device="cpu").fingerprint == short.fingerprint
    model = Reference.parse(name)
    told = Encoder.load(str(replace(model, dim=None)), device="cpu", truncate_dim=8)
    assert told.fingerprint == short.fingerprint


def test_torch_and_graph_agree_on_what_a_shortened_encoder_is(saved: Path, graph: Path, tmp_path: Path) -> None:
    first, second = (Encoder.load(f"{folder}#dim=8", device="cpu") for folder in (saved, graph))
    assert first.fingerprint == second.fingerprint
    export(f"{saved}#dim=8", tmp_path / "short")
    third, shorter = Encoder.load(tmp_path / "short"), Encoder.load(tmp_path / "short", truncate_dim=4)
    assert (third.fingerprint, third.dim) == (first.fingerprint, 8)
    assert shorter.fingerprint == Encoder.load(f"{graph}#dim=4").fingerprint
    assert np.abs(shorter.encode(list(TEXTS)) - Encoder.load(f"{graph}#dim=4").encode(list(TEXTS))).max() < 1e-3


def test_an_encoder_that_ships_can_be_shortened_and_measures_its_own_background(minilm_encoder: Encoder) -> None:
    short = Encoder.load("minilm#dim=64")
    assert short.encode(["a", "b"]).shape == (2, 64)
    assert np.allclose(np.linalg.norm(short.encode(["a", "b"]), axis=1), 1, atol=UNIT)
    assert short.fingerprint != minilm_encoder.fingerprint and short.name == "all-MiniLM-L6-v2#dim=64"
    assert len(short.background) == 1001 and short.background != minilm_encoder.background


def test_all_of_the_numbers_is_no_step(plain: Encoder, tiny: Path, graph: Path) -> None:
    assert Encoder.load(f"{tiny}#dim=32,template=static", device="cpu").fingerprint == plain.fingerprint
    assert Encoder.load(f"{graph}#dim=20").fingerprint == Encoder.load(graph).fingerprint


def test_more_numbers_than_there_are_is_refused(tiny: Path, saved: Path, graph: Path) -> None:
    for name in (f"{tiny}#dim=33,template=mean", f"{saved}#dim=21", f"{graph}#dim=21", "default#dim=385"):
        with pytest.raises(UsageError, match=r"vectors of width \d+ cannot be truncated"):
            Encoder.load(name, device="cpu")
    for name in ("default#dim=0", "default#dim=many"):
        with pytest.raises(UsageError, match="dim cannot be"):
            Encoder.load(name)
    with pytest.raises(UsageError, match="so dim cannot be chosen"):
        Encoder.load("hashing", truncate_dim=8)


def test_an_index_of_one_length_is_refused_by_another(graph: Path, tmp_path: Path) -> None:
    from semsearch import Document, Index

    with Index.create("short", encoder=f"{graph}#dim=8", home=tmp_path) as index:
        index.add([Document(id="a", text="A cat sat."), Document(id="b", text="The bridge is old.")])
    with Index.open("short", home=tmp_path) as index:  # by what it remembers
        assert index.search("A cat sat.", k=1, mode="semantic")[0].document == "a"
    for other in (str(graph), f"{graph}#dim=4"):
        with Index.open("short", encoder=other, home=tmp_path) as index, pytest.raises(EncoderMismatch):
            index.search("a cat", k=1)


def test_a_manifest_cannot_shorten_a_graph_unnoticed(graph: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(graph, tmp_path / "out"))
    told = json.loads((out / "encoder.json").read_text())["post"]
    rewrite(out / "encoder.json", post=[*told, {"kind": "truncate", "dim": 8, "sha256": "", "fitted": {}}])
    with pytest.raises(Corrupt, match="was changed"):
        bundles.read(out)
    rewrite(out / "encoder.json", post=[{"kind": "whitening", "colour": 8}])
    with pytest.raises(Corrupt, match="cannot be read"):
        bundles.read(out)


def test_steps_follow_each_other(white: Encoder) -> None:
    both = fitted(white, Fit("flow", sentences(200), 12))
    assert both.info["post"] == ["whitening 20", "flow 20", "truncate 12"]
    flow: Any = both.backend.post[1]  # type: ignore[attr-defined]
    wanted = flow(torch.from_numpy(raw(white)))[:, :12].numpy()
    assert error(raw(both), wanted) < ROUNDING


def test_it_is_computed_in_float32_whatever_the_encoder_runs_in(tiny: Path) -> None:
    half = Encoder.load(f"{tiny}#dtype=bf16,template=static", device="cpu")
    white = fitted(half, Fit("whitening", sentences(100)))
    assert raw(white).dtype == np.float32
    lengths = np.linalg.norm(raw(white, sentences(100)), axis=0)
    assert np.allclose(lengths, np.sqrt(99), rtol=0.02)


def test_steps_that_take_nothing_away_are_dropped_and_others_stay() -> None:
    steps = (Step("truncate", 32), Step("whitening", 16, "a"), Step("truncate", 16), Step("truncate", 4))
    assert postprocessing.settled(steps, 32) == (steps[1], steps[3])
    assert postprocessing.settled(steps, 40) == (steps[0], steps[1], steps[3])
    assert postprocessing.truncate((Step("flow", 16, "a"), Step("truncate", 8)), 4, 8) == (
        Step("flow", 16, "a"),
        Step("truncate", 4),
    )


def test_what_cannot_be_fitted_says_why(plain: Encoder, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"'whitning'.*flow, whitening"):
        Fit("whitning", [])
    with pytest.raises(UsageError, match="cannot be truncated to 33"):
        fitted(plain, Fit("whitening", sentences(100), 33))
    with pytest.raises(UsageError, match="more than 32 texts, not 32"):
        fitted(plain, Fit("whitening", [*sentences(32), "", "  "]))
    with pytest.raises(UsageError, match="no text"):
        fitted(plain, Fit("flow", []))
    with pytest.raises(UsageError, match="post-processing needs a model that runs in PyTorch"):
        fitted(Encoder.load("minilm"), Fit("whitening", sentences(100)))
    with pytest.raises(UsageError, match="copied as they are"):
        export(plain, tmp_path / "out", "int8", to="torch")
    with pytest.raises(UnknownName, match=r"'tensorflow'.*onnx, torch"):
        export(plain, tmp_path / "out", to="tensorflow")


def test_training_goes_on_without_what_was_fitted_to_the_old_weights(
    saved: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from semsearch.training import Dataset, TrainingConfig, train

    examples = Dataset({"anchor": sentences(8), "positive": sentences(8)})
    train(TrainingConfig("supervised", str(saved), steps=1, batch_size=4, device="cpu"), examples, tmp_path / "out")
    trained = bundles.read(tmp_path / "out")
    assert (trained.post, trained.dim) == ((), 32) and not (tmp_path / "out" / "post").exists()
    assert "without its whitening 20" in caplog.text


def test_the_command_fits_writes_and_tells(cli: CommandLine, tiny: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(sentences(120)) + "\n")
    model, out = f"{tiny}#static", tmp_path / "out"
    ran = cli.ok("export", model, "-o", out, "--post", "whitening", "--fit", texts, "--dim", 16, "--json")
    told = json.loads(ran.out)["export"]
    assert told["dim"] == 16 and told["post"][0]["kind"] == "whitening" and told["post"][0]["texts"] > 100
    assert "fitted whitening on" in ran.err
    cli.ok(
        "export", model, "-o", tmp_path / "t", "--post", "flow", "--fit", texts, "--max-samples", 70, "--to", "torch"
    )
    assert bundles.read(tmp_path / "t").post[0].fitted["texts"] == 70
    cli.ok("export", model, "-o", tmp_path / "s", "--dim", 8, "--to", "torch")
    assert bundles.read(tmp_path / "s").post == (Step("truncate", 8),)
    for wrong in (["--post", "flow"], ["--fit", texts], ["--post", "flow", "--fit", texts, "--fit-index", "notes"]):
        assert cli("export", model, "-o", tmp_path / "no", *wrong).code == 2
    assert not (tmp_path / "no").exists()


def test_the_command_fits_on_the_passages_of_an_index(cli: CommandLine, tiny: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for at, text in enumerate(sentences(80)):
        (notes / f"{at}.txt").write_text(f"{text} And {at} more of it.\n")
    cli.ok("index", notes, "-n", "notes")
    cli.ok("export", f"{tiny}#static", "-o", tmp_path / "out", "--post", "whitening", "--fit-index", "notes",
           "--to", "torch")  # fmt: skip
    (step,) = bundles.read(tmp_path / "out").post
    assert step.fitted["texts"] == 80 and step.fitted["source"] == "index notes"


DOCS = (Path(__file__).parents[2] / "docs" / "postprocessing.md").read_text(encoding="utf-8")


def test_the_options_in_the_docs_are_those_of_the_command(cli: CommandLine) -> None:
    (usage,) = re.findall(r"^semsearch export MODEL -o DIR (.*--post.*)$", DOCS, flags=re.MULTILINE)
    told = cli.ok("export", "--help").out
    assert {"--post", "--fit", "--fit-index", "--max-samples", "--dim", "--to"} <= set(re.findall(r"--[a-z-]+", usage))
    for option in re.findall(r"--[a-z-]+", usage):
        assert option in told


@pytest.mark.slow
def test_the_lines_of_python_in_the_docs_run(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", DOCS, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {"texts": sentences(100)}
    exec(code.replace("bert#", f"{tiny}#").replace("dim=256", "dim=16"), known)  # noqa: S102
    assert Encoder.load("./bert-whitened").dim == 16
