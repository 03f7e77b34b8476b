"""An export is what Torch computes, whole or not there, and readable without Torch."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models

from semsearch.encoders.encoder import Encoder
from semsearch.encoders.onnx import OnnxBackend
from semsearch.errors import Corrupt, GateFailed, NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import methods
from semsearch.models.bundle import Bundle
from semsearch.prompts import Prompt, parse
from semsearch.utils import plugins

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

from helpers.checkpoints import shallow  # noqa: E402
from helpers.commandline import CommandLine  # noqa: E402
from helpers.tracing import tracing_once  # noqa: E402

from semsearch.export import (  # noqa: E402
    export,
    export_backend,
    graph,
    onnx_folder,
    parity,
    precision,
    versions,
)

DOCS = Path(__file__).parents[2] / "docs" / "export.md"
SAMPLES = {  # method -> models and templates under which it is exported; as released, only a table differs
    "cls": ("tiny-bert#cls", "tiny-bert#cls-pooler", "tiny-roberta#cls"),
    "cot_bert": ("tiny-bert#cot-bert-denoised", "tiny-bert#cot-bert", "tiny-roberta#cot-roberta-denoised"),
    "first_last": ("tiny-bert#first-last", "tiny-bert#first-last-embeddings"),
    "mean": ("tiny-bert#mean", "tiny-bert#layer=1,template=mean", "tiny-roberta#mean"),
    "n_mask": ("tiny-bert#combine=cat,template=masks-3", "tiny-bert#masks-2-sep"),
    "optiprompt": ("optiprompt#optiprompt",),
    "pretended_cot": ("tiny-opt#pretended-cot", "tiny-llama#knowledge-enhancement"),
    "promptbert": ("tiny-bert#promptbert-denoised", "tiny-bert#promptbert", "tiny-bert#promptbert-sup",
                   "tiny-bert#top_k=20,template=promptbert-top-k", "tiny-bert#head=pooler,template=promptbert-denoised",
                   "tiny-roberta#promptroberta-denoised"),
    "prompteol": ("tiny-llama#prompteol", "tiny-opt#prompteol", "tiny-mistral#promptsth"),
    "sentence_transformer": ("pipeline",),
    "token_prepending": ("tiny-llama#start=0,end=1,template=prompteol-prepended",),
    "static": ("tiny-bert#static", "tiny-bert#static-debiased"),
}  # fmt: skip
QUICK = ("static", "promptbert", "prompteol")
OFTEN = ("tiny-roberta#promptroberta-denoised", "tiny-bert#cot-bert-denoised", "pipeline")  # the rest is long
TEXTS = (
    "A man is playing a guitar.",
    "a",
    "",
    "这是一个关于猫的句子。",
    'He said "no", <mask> and [MASK] and </s>!',
    "  odd\tspaces ",
    "one text that goes on and on about nothing in particular, " * 40,
    "Is it so?",
)


def _samples() -> Iterator[Any]:
    for method, names in SAMPLES.items():
        for name in names:
            quick = method in QUICK and name == names[0]
            yield pytest.param(name, marks=() if quick else pytest.mark.slow if name in OFTEN else pytest.mark.long)


@pytest.fixture(scope="module")
def load(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What runs a reference to a tiny model in Torch."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("tiny-bert", "tiny-roberta", "tiny-llama", "tiny-opt", "tiny-mistral"):
        shallow(golden, name, folder / name, layers=2)
    models.learn_prompt(Path(shutil.copytree(folder / "tiny-bert", folder / "optiprompt")), 7)
    models.make_pipeline(Path(shutil.copytree(folder / "tiny-bert", folder / "pipeline")))
    return lambda name, **how: Encoder.load(f"{folder}/{name}", device="cpu", backend="torch", **how)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of the graph that was traced of a model."""
    folder = tmp_path_factory.mktemp("graphs")
    return lambda name: folder / f"{name.replace('/', ' ')}.onnx"


@pytest.fixture(scope="module")
def exported(
    load: Callable[..., Any], graphs: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Any, Bundle]]:
    """What exports a model, once in each precision and traced once for all: the encoder in Torch, and the export."""

    @cache
    def once(name: str, dtype: str = "fp32") -> tuple[Any, Bundle]:
        encoder = load(name)
        with tracing_once(graphs(name)):
            return encoder, export(encoder, tmp_path_factory.mktemp("exported") / "out", dtype)

    return once


@pytest.fixture(scope="module")
def static(exported: Callable[..., tuple[Any, Bundle]]) -> tuple[Any, Path]:
    """The export that takes least time, and what it was made from."""
    encoder, made = exported("tiny-bert#static")
    return encoder, made.folder


@pytest.fixture
def traced(graphs: Callable[[str], Path]) -> Iterator[None]:
    """The graph of `static` is not traced again."""
    with tracing_once(graphs("tiny-bert#static")):
        yield


def test_every_method_is_exported_here() -> None:
    refused = {"contrastive_prompting", "metaeol"}  # of several prompts: tests/models/test_training_free_methods.py
    assert set(SAMPLES) == set(plugins.names(methods)) - refused


@pytest.mark.parametrize("name", _samples())
def test_an_export_gives_the_vectors_of_torch(name: str, exported: Callable[..., tuple[Any, Bundle]]) -> None:
    encoder, written = exported(name)
    again = OnnxBackend(bundles.read(written.folder), device="cpu")
    assert again.fingerprint == encoder.fingerprint == written.fingerprint
    wanted = encoder.encode(list(TEXTS))
    assert np.abs(again.encode(TEXTS) - wanted).max() < 1e-4
    assert np.abs(np.concatenate([again.encode([text]) for text in TEXTS]) - wanted).max() < 1e-4
    assert np.abs(again.embed(TEXTS, again.prompts["query"], batch_size=3) - wanted).max() < 1e-4
    assert (written.origin["bias_rows"] > 0) == encoder.backend.method.denoises


@pytest.mark.parametrize(
    "name", ["tiny-bert#promptbert-denoised", pytest.param("tiny-bert#cls", marks=pytest.mark.slow)]
)
def test_the_last_layer_runs_for_the_read_token_alone(
    name: str, exported: Callable[..., tuple[Any, Bundle]], graphs: Callable[[str], Path]
) -> None:
    import onnxruntime

    encoder, _ = exported(name)
    _, example = onnx_folder.trace_inputs(encoder.backend)
    model = onnx.load(graphs(name))
    inner = [node.output[0] for node in model.graph.node if node.op_type == "Gelu"]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in inner)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ids, mask = (each.numpy() for each in example)
    shapes = [each.shape for each in session.run(inner, {"input_ids": ids, "attention_mask": mask})]
    assert shapes == [(*ids.shape, 64), (len(ids), 1, 64)]


def test_an_index_opens_with_the_model_and_with_its_export(static: tuple[Any, Path], tmp_path: Path) -> None:
    from semsearch import Document, Index

    encoder, out = static
    pair = encoder, Encoder.load(out)
    for at, (first, second) in enumerate((pair, pair[::-1])):
        with Index.create(f"made{at}", encoder=first, home=tmp_path) as index:
            index.add([Document(id="a", text="A cat sat."), Document(id="b", text="The bridge is old.")])
        with Index.open(f"made{at}", encoder=second, home=tmp_path) as index:
            assert index.search("a cat", k=1, mode="semantic")[0].document == "a"


def test_a_bundle_says_what_it_is_made_of(static: tuple[Any, Path]) -> None:
    encoder, out = static
    assert sorted(file.name for file in out.iterdir()) == ["encoder.json", "model.onnx", "tokenizer.json"]
    bundle = bundles.read(out)
    source = encoder.backend.bundle
    assert bundle.origin["weights_sha256"] == source.weights_sha256 != bundle.weights_sha256
    assert bundle.origin["opset"] == graph.OPSET and "Gather" in bundle.origin["operators"]
    assert bundle.parity["least_cosine"] >= 0.9999 and "torch" in bundle.parity["made_with"]
    assert "0.9999" in bundle.parity["gate"]
    assert len(bundle.background) == 1001
    told = json.loads((out / "tokenizer.json").read_text())
    assert told["truncation"] is None and told["padding"] is None


def test_what_it_was_made_with_is_known_for_gpu_wheels_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)  # onnxruntime, where the wheel is onnxruntime-gpu

    monkeypatch.setattr(metadata.Distribution, "from_name", missing)
    assert versions().keys() >= {"torch", "onnx", "onnxruntime"}


def test_no_file_says_where_it_was_made(static: tuple[Any, Path], tmp_path: Path) -> None:
    encoder, out = static
    content = b"".join(file.read_bytes() for file in out.iterdir())
    for place in (Path.cwd(), Path.home(), Path(sys.prefix), encoder.backend.bundle.folder, out, tmp_path.parent):
        assert len(str(place)) < 4 or str(place).encode() not in content
    assert b"semsearch/methods" not in content


def test_the_lines_in_the_docs_need_nothing_but_onnxruntime_and_tokenizers(
    exported: Callable[..., tuple[Any, Bundle]], tmp_path: Path
) -> None:
    encoder, made = exported("tiny-bert#promptbert-denoised")
    (code,) = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), flags=re.DOTALL | re.MULTILINE)
    forbidden = "import sys\nfor name in ('semsearch', 'torch', 'transformers', 'onnx'): sys.modules[name] = None\n"
    texts = ["A man is playing a guitar.", "A cat sleeps."]
    command = [sys.executable, "-c", forbidden + code, str(made.folder), *texts]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert np.abs(np.array(json.loads(ran.stdout)) - encoder.encode(texts)).max() < 1e-4


@pytest.mark.parametrize("dtype", ["fp16", "int8"])
def test_other_precisions_are_near_smaller_and_other_spaces(
    dtype: str, exported: Callable[..., tuple[Any, Bundle]]
) -> None:
    encoder, small = exported("tiny-bert#static", dtype)
    again = Encoder.load(small.folder)
    assert small.precision == dtype and again.fingerprint == small.fingerprint != encoder.fingerprint
    near = (again.encode(list(TEXTS)) * encoder.encode(list(TEXTS))).sum(axis=1)
    assert near.min() > 0.999
    assert np.allclose(np.linalg.norm(again.encode(list(TEXTS)), axis=1), 1, atol=1e-5)
    held = onnx.load(small.folder / "model.onnx").graph
    read = {name for node in held.node for name in node.input}
    assert {tensor.name for tensor in held.initializer} <= read  # else every session warns of those that are not
    weights = (small.folder / "model.onnx").stat().st_size
    assert weights < 0.7 * (encoder.backend.bundle.folder / "model.safetensors").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("tiny-bert#promptbert-denoised", "int8"),
        ("tiny-llama#prompteol", "fp16"),
        pytest.param("tiny-bert#promptbert-denoised", "fp16", marks=pytest.mark.long),
        pytest.param("tiny-llama#prompteol", "int8", marks=pytest.mark.long),
    ],
)
def test_a_bias_and_a_decoder_survive_other_precisions(
    name: str, dtype: str, exported: Callable[..., tuple[Any, Bundle]]
) -> None:
    encoder, made = exported(name, dtype)
    again = Encoder.load(made.folder)
    texts = [text for text in TEXTS if text]
    assert (again.encode(texts) * encoder.encode(texts)).sum(axis=1).min() > (
        0.999 if dtype == "fp16" else 0.9
    )  # int8 of random weights


@pytest.mark.usefixtures("traced")
def test_nothing_is_left_of_an_export_that_is_off(
    load: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = parity.compare
    monkeypatch.setattr(parity, "compare", lambda *of: measured(*of) | {"least_cosine": 0.9998})
    with pytest.raises(GateFailed, match="Nothing was written") as caught:
        export(load("tiny-bert#static"), tmp_path / "a" / "out")
    assert caught.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("traced")
def test_an_earlier_bundle_stays_where_its_successor_is_off(
    static: tuple[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, made = static
    out = Path(shutil.copytree(made, tmp_path / "out"))
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    monkeypatch.setattr(parity, "check_gate", lambda *_: (_ for _ in ()).throw(GateFailed("off")))
    with pytest.raises(GateFailed):
        export(encoder, out, force=True)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("traced")
def test_only_a_bundle_is_replaced_and_only_by_force(static: tuple[Any, Path], tmp_path: Path) -> None:
    encoder, made = static
    out = Path(shutil.copytree(made, tmp_path / "out"))
    (out / "model.onnx").write_bytes(b"old")
    with pytest.raises(UsageError, match=r"not empty.*force=True"):
        export(encoder, out)
    export(encoder, out, force=True)
    assert Encoder.load(out).fingerprint == encoder.fingerprint
    (out / "encoder.json").unlink()
    with pytest.raises(UsageError, match="only bundles are replaced"):
        export(encoder, out, force=True)
    with pytest.raises(UsageError, match="is a file"):
        export(encoder, out / "model.onnx", force=True)


def test_a_model_is_not_replaced_by_its_own_export(load: Callable[..., Any], static: tuple[Any, Path]) -> None:
    backend, folder = load("tiny-bert#static").backend, static[1]
    backend.bundle = replace(backend.bundle, folder=folder)  # as a trained encoder, which has an encoder.json too
    with pytest.raises(UsageError, match="the model itself"):
        export_backend(backend, folder, force=True)


def test_what_cannot_be_exported_says_why(load: Callable[..., Any], static: tuple[Any, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for model, why in (("default", "exported already"), (static[1], "exported already"), ("hashing", "no model")):
        with pytest.raises(UsageError, match=why):
            export(model, out)
    with pytest.raises(UsageError, match="bf16: an export starts from full precision"):
        export(load("tiny-bert#mean", dtype="bf16"), out)
    with pytest.raises(UsageError, match=r"'int4'.*fp16, fp32, int8"):
        export(load("tiny-bert#static"), out, "int4")
    assert not out.exists()


def test_two_prompts_need_a_method_that_does_not_count_them(load: Callable[..., Any], tmp_path: Path) -> None:
    backend = load("tiny-bert#promptbert-denoised").backend
    other = parse('The sentence means "[X]" and also [MASK] .')
    backend.prompts = {**backend.prompts, "query": other}
    with pytest.raises(UsageError, match="one graph cannot serve both"):
        export_backend(backend, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["tiny-bert#static", pytest.param("tiny-bert#mean", marks=pytest.mark.long)])
def test_two_prompts_are_fine_where_nothing_counts_them(name: str, load: Callable[..., Any], tmp_path: Path) -> None:
    backend = load(name).backend
    backend.prompts = {"query": Prompt(before="query: "), "passage": Prompt(before="passage: ")}
    backend.bundle = replace(backend.bundle, prompts=backend.prompts)
    exported = OnnxBackend(export_backend(backend, tmp_path / "out"), device="cpu")
    for role in ("query", "passage"):
        assert np.abs(exported.encode(TEXTS, role=role) - backend.encode(TEXTS, role=role)).max() < 1e-4
    assert np.abs(exported.embed(TEXTS, Prompt()) - backend.embed(TEXTS, Prompt())).max() < 1e-4


def test_a_network_that_torch_cannot_follow_is_refused(load: Callable[..., Any], tmp_path: Path) -> None:
    backend = load("tiny-bert#static").backend

    class Branching(torch.nn.Module):
        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return backend.network.words(input_ids)[:, 0] if input_ids.sum() > 3 else attention_mask

    with pytest.raises(UsageError, match="cannot be written as an ONNX graph"):
        graph.trace(Branching(), onnx_folder.trace_inputs(backend)[1], tmp_path / "model.onnx", 256)


def test_a_bundle_refuses_a_prompt_that_its_graph_is_not_for(exported: Callable[..., tuple[Any, Bundle]]) -> None:
    again = Encoder.load(exported("tiny-bert#promptbert-denoised")[1].folder)
    for prompt in ("query: ", 'The sentence [MASK] "'):
        with pytest.raises(UsageError, match="exported for its own prompt"):
            again.encode(["a"], prompt=prompt)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_weights_too_large_for_one_file_lie_beside_it(dtype: str, load: Callable[..., Any], tmp_path: Path) -> None:
    encoder, out = load("tiny-bert#static"), tmp_path / "out"
    out.mkdir()
    bundle = bundles.write(onnx_folder.write(encoder.backend, out, dtype, None, lambda _: None, most_bytes=1000), out)
    assert list(bundle.origin["files"]) == ["model.onnx.data"]
    assert sorted(file.name for file in out.iterdir()) == [
        *("encoder.json", "model.onnx", "model.onnx.data", "tokenizer.json")
    ]
    assert bundle.origin["files"]["model.onnx.data"].encode() in (out / "model.onnx").read_bytes()
    assert {out / "encoder.json", *bundle.files()} == set(out.iterdir())
    exported = Encoder.load(out)
    assert (exported.encode(list(TEXTS)) * encoder.encode(list(TEXTS))).sum(axis=1).min() > 0.999
    data = out / "model.onnx.data"
    data.write_bytes(data.read_bytes()[:-1] + b"\xff")
    with pytest.raises(Corrupt, match="not what was written"):
        Encoder.load(out)
    data.unlink()
    with pytest.raises(NotFound, match="a part of its weights"):
        Encoder.load(out)


@pytest.mark.parametrize(
    ("dtype", "figures"),
    [
        ("fp32", {"least_cosine": 0.9998}),
        ("fp32", {"least_cosine": float("nan")}),
        ("fp32", {"batch_difference": 2e-4}),
        ("fp16", {"least_cosine": 0.998}),
        ("int8", {"spearman_of_pairs": 0.97}),
        ("int8", {"mean_cosine": 0.96}),
        ("int8", {"stsb_dev": 86.3, "stsb_dev_fp32": 86.7}),
    ],
)
def test_the_gate_holds_back_what_is_off(dtype: str, figures: dict[str, float]) -> None:
    good = {"least_cosine": 1.0, "mean_cosine": 1.0, "batch_difference": 0.0, "spearman_of_pairs": 1.0}
    assert parity.check_gate(good, dtype)
    with pytest.raises(GateFailed):
        parity.check_gate(good | figures, dtype)


def test_sts_alone_judges_int8_where_it_is_at_hand() -> None:
    coarse = {"mean_cosine": 0.5, "spearman_of_pairs": 0.5, "stsb_dev": 86.5, "stsb_dev_fp32": 86.7}
    assert "STS-B" in parity.check_gate(coarse, "int8")


def test_two_vectors_of_nothing_are_alike_and_one_is_not() -> None:
    rows = np.array([[0, 0], [0, 0], [1, 0]], dtype=np.float32)
    other = np.array([[0, 0], [1, 0], [1, 0]], dtype=np.float32)
    assert parity.cosine_of_each(rows, other).tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", ["tiny-bert#promptbert-denoised", "tiny-bert#cot-bert-denoised"])
def test_an_empty_text_under_a_denoised_prompt_is_nothing(name: str, load: Callable[..., Any]) -> None:
    """What is left of the difference is rounding, which would point anywhere."""
    vectors = load(name).encode(["", "a"])
    assert not vectors[0].any() and vectors[1].any()


def test_the_command_shows_what_was_measured(cli: CommandLine, golden: Path, tmp_path: Path) -> None:
    model, out = golden / "models" / "tiny-bert", tmp_path / "out"
    with tracing_once(tmp_path / "graph.onnx"):
        ran = cli.ok("export", model, "--template", "static", "-o", out, "--json")
        plain = cli.ok("export", model, "--template", "static", "-o", tmp_path / "plain")
    told = json.loads(ran.out)["export"]
    assert told["parity"]["least_cosine"] >= 0.9999 and told["opset"] == 20 and told["folder"] == str(out)
    assert told["name"] == "tiny-bert#static" and told["fingerprint"] == bundles.read(out).fingerprint
    assert "comparing" in ran.err
    assert "{" not in plain.err + plain.out
    assert "least cosine 1.0000\n" in plain.err and "passed: every cosine to torch" in plain.out
    again = cli("export", model, "--template", "static", "-o", out)
    assert again.code == 2 and "not empty" in again.err
    assert cli("export", tmp_path / "nowhere", "-o", tmp_path / "b").code == 3
    assert cli("export", "default", "-o", tmp_path / "b").code == 2


@pytest.mark.long
def test_minilm_in_8_bits_is_judged_by_sts(data: Path, tmp_path: Path) -> None:
    bundle = export(f"{models.minilm()}#mean", tmp_path / "out", "int8", data=data)
    assert bundle.parity["gate"].startswith("STS-B")
    assert bundle.parity["stsb_dev"] == pytest.approx(bundle.parity["stsb_dev_fp32"], abs=0.3)


@pytest.mark.long
def test_minilm_under_a_prompt_is_too_coarse_in_8_bits(tmp_path: Path) -> None:
    with pytest.raises(GateFailed, match="Spearman"):
        export(f"{models.minilm()}#promptbert", tmp_path / "out", "int8")
    assert issubclass(GateFailed, SemsearchError) and not list(tmp_path.iterdir())


def test_operators_of_other_domains_are_told_with_their_domain(static: tuple[Any, Path], tmp_path: Path) -> None:
    node = onnx.helper.make_node("BiasGelu", ["a", "b"], ["c"], domain="com.microsoft")
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [])), tmp_path / "m.onnx")
    assert precision.operators(tmp_path / "m.onnx") == ["com.microsoft.BiasGelu"]
