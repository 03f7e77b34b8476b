"""What was trained is saved so that it is read as it was trained: by us, and where that can be by others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.arithmetic import ROUNDING, error
from helpers.checkpoints import copied
from helpers.decoders import decoder
from helpers.training import LABELS, TEXTS, examples, learner

from semsearch.encoders.encoder import Encoder
from semsearch.errors import Corrupt, UsageError
from semsearch.models import bundle as bundles

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from semsearch.training import TrainingConfig, TrainingOptions, trainer  # noqa: E402
from semsearch.training.optimisation.gradients import add_gradients  # noqa: E402

PAIRS = ("anchor", "positive")
KINDS: Mapping[str, tuple[str, str, str]] = {  # how it is read: base, method of training, template of the base
    "mean": ("tiny-bert", "cosent", "#mean"),
    "cls": ("tiny-bert", "sg", ""),
    "promptbert": ("tiny-bert", "promptbert", ""),
    "cot-bert": ("tiny-bert", "cotbert", ""),
    "cot-roberta": ("tiny-roberta", "cotbert", ""),
    "promptbert-sup": ("tiny-bert", "supervised", "#promptbert-sup"),
    "promptroberta-sup": ("tiny-roberta", "supervised", "#promptroberta-sup"),
    "sup-simcse": ("tiny-bert", "supervised", "#sup-simcse"),
    "optiprompt": ("tiny-bert", "optiprompt", ""),
    "pipeline": ("pipeline", "cosent", ""),
    "old pipeline": ("old pipeline", "cosent", ""),
    "llama": ("llama", "supervised", ""),
    "opt": ("opt-350m", "supervised", "#pretended-cot"),
    "gpt2": ("gpt2", "supervised", "#prompteol"),
    "adapters": ("llama", "qlora", ""),
}


def based(golden: Path, name: str, folder: Path) -> Path:
    """A folder with the model `name`: a golden one, a sentence-transformers pipeline, or a decoder."""
    if name.startswith("tiny"):
        return copied(golden, name, folder)
    if not name.endswith("pipeline"):
        return decoder(folder, name)
    copied(golden, "tiny-bert", folder)
    models.make_pipeline(folder)
    if name.startswith("old"):
        (folder / "0_Transformer").mkdir()
        for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            (folder / file).rename(folder / "0_Transformer" / file)
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["path"] = "0_Transformer"
        (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def stepped(golden: Path, kind: str, tmp_path: Path) -> tuple[Any, Path, Any]:
    """A learner after one step, the folder that it was saved into, and its vectors."""
    name, method, template = KINDS[kind]
    if kind == "adapters":
        pytest.importorskip("peft")
    base = based(golden, name, tmp_path / "base")
    options = {"hidden": 8} if method == "sg" else {"rank": 4} if method == "qlora" else {}
    columns = PAIRS if method in ("cosent", "supervised", "qlora") else ("anchor",)
    made, objective = learner(f"{base}{template}", method, columns=columns, options=options)
    before = made.encode(TEXTS[:6])
    for _ in range(2):  # an adapter's second matrix begins as 0, and its first one learns nothing before
        rows = [made.rows(view, TEXTS[at : at + 6]) for at, view in enumerate(objective.views)]
        add_gradients(made, objective, rows, torch.tensor(LABELS[:6]) if objective.labels == "score" else None)
        with torch.no_grad():
            for each in made.parameters.values():
                if each.grad is not None:
                    each.sub_(0.05 * each.grad / each.grad.norm().clamp(min=1e-12))
    vectors = made.encode(TEXTS[:6])
    assert np.abs(vectors - before).max() > 1e-4
    out = tmp_path / "out"
    out.mkdir()
    made.save(out, {"trained": {"step": 2}})
    return made, out, vectors


@pytest.fixture(scope="module", params=KINDS)
def saved(request: pytest.FixtureRequest, golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A kind of network after one step, as `stepped` gives it, and what it is called."""
    return *stepped(golden, request.param, tmp_path_factory.mktemp("saved")), str(request.param)


def test_what_is_saved_is_what_was_trained(saved: Any) -> None:
    made, out, vectors, _ = saved
    encoder = Encoder.load(out, device="cpu")
    assert error(encoder.encode(TEXTS[:6]), vectors) < ROUNDING
    bundle = bundles.read(out)
    assert (bundle.method, bundle.options) == (made.base.inference.method, _listed(made.base.inference.options))
    assert bundle.origin == {"trained": {"step": 2}} and bundle.dim == vectors.shape[1]
    assert bundle.path("weights").is_relative_to(out) and bundle.path("tokenizer") == out / "tokenizer.json"
    assert encoder.fingerprint != made.base.inference.fingerprint
    loaded = transformers.AutoModel.from_pretrained(out)  # an ordinary model, without adapters
    assert not any("lora" in name for name, _ in loaded.named_parameters())


def _listed(options: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(dict(options))))


PIPED = ("mean", "cls", "pipeline", "old pipeline")


def test_sentence_transformers_reads_what_it_can_read_in_the_same_way(saved: Any) -> None:
    _, out, vectors, kind = saved
    assert (out / "modules.json").is_file() == (kind in PIPED)
    if kind not in PIPED:
        return
    theirs = pytest.importorskip("sentence_transformers").SentenceTransformer(str(out), device="cpu")
    assert error(theirs.encode(TEXTS[:6]), vectors) < ROUNDING
    assert theirs.max_seq_length == Encoder.load(out, device="cpu").max_tokens


def test_a_text_around_the_sentence_is_more_than_sentence_transformers_can_be_told(
    golden: Path, tmp_path: Path
) -> None:
    base = copied(golden, "tiny-bert", tmp_path / "base")
    (tmp_path / "out").mkdir()
    made, _ = learner(f"{base}#layer=1,template=mean", "cosent", columns=PAIRS)
    made.save(tmp_path / "out", {})
    assert not (tmp_path / "out" / "modules.json").exists()


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("pipeline", "2_Dense/model.safetensors"),
        ("pipeline", "2_Dense/config.json"),
        ("pipeline", "model.safetensors"),
        ("optiprompt", "prompt.safetensors"),
        ("mean", "tokenizer.json"),
    ],
)
def test_damage_anywhere_in_what_decides_a_vector_is_noticed(
    golden: Path, tmp_path: Path, kind: str, file: str
) -> None:
    _, out, _ = stepped(golden, kind, tmp_path)
    content = (out / file).read_bytes()
    (out / file).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    with pytest.raises(Corrupt, match="not what was written"):
        Encoder.load(out, device="cpu")


def test_another_learned_prompt_is_another_encoder(golden: Path, tmp_path: Path) -> None:
    """The network is the same; the vectors are not."""
    base = copied(golden, "tiny-bert", tmp_path / "base")
    found = []
    for name, seed in (("one", 1), ("other", 2)):
        made, _ = learner(base, "optiprompt")
        torch.manual_seed(seed)
        with torch.no_grad():
            made.network.prompt.add_(torch.randn_like(made.network.prompt))
        (tmp_path / name).mkdir()
        found.append(made.save(tmp_path / name, {}))
    one, other = (Encoder.load(tmp_path / name, device="cpu") for name in ("one", "other"))
    assert (tmp_path / "one" / "model.safetensors").read_bytes() == (tmp_path / "other/model.safetensors").read_bytes()
    assert np.abs(one.encode(TEXTS[:3]) - other.encode(TEXTS[:3])).max() > 1e-3
    assert one.fingerprint != other.fingerprint


def test_licence_and_source_are_carried_along(golden: Path, tmp_path: Path) -> None:
    base = copied(golden, "tiny-bert", tmp_path / "base")
    (base / "README.md").write_text("---\nlicense: mit\n---\nA model.")
    (base / "LICENSE").write_text("Permission is hereby granted")
    (base / "NOTICE").write_text("Made by somebody")
    told = TrainingConfig("cotbert", str(base), batch_size=4, steps=1, max_length=8, device="cpu")
    one = trainer.train(told, examples(), tmp_path / "one").folder
    assert bundles.read(one).licence == "mit"
    bundles.write(bundles.Bundle(**{**_parts(bundles.read(one)), "source": "https://example.org/a"}), one)
    again = TrainingConfig("distil", str(one), batch_size=4, steps=1, max_length=8, device="cpu")
    two = trainer.train(
        again, examples(), tmp_path / "two", TrainingOptions(teacher=Encoder.load(one, device="cpu").encode)
    ).folder
    saved = bundles.read(two)
    assert (saved.licence, saved.source) == ("mit", "https://example.org/a")
    assert (two / "LICENSE").read_text() == "Permission is hereby granted" and (two / "NOTICE").is_file()
    assert str(tmp_path) not in json.dumps(saved.origin)  # a path of this machine says nothing elsewhere


def _parts(bundle: Any) -> dict[str, Any]:
    from dataclasses import fields

    return {each.name: getattr(bundle, each.name) for each in fields(bundle)}


def test_one_training_follows_another(golden: Path, tmp_path: Path) -> None:
    """Distillation into the prompt, then contrast under the paper's templates; or in any reading that is named."""
    base = golden / "models" / "tiny-bert"
    usual: dict[str, Any] = {"batch_size": 4, "steps": 1, "max_length": 8, "learning_rate": 1e-3, "device": "cpu"}
    teacher = Encoder.load(base, template="mean", device="cpu").encode
    distil = TrainingConfig("distil", f"{base}#max_tokens=64,template=cot-bert", **usual)
    first = trainer.train(distil, examples(), tmp_path / "distil", TrainingOptions(teacher=teacher)).folder
    assert Encoder.load(first, device="cpu").max_tokens == 64
    second = trainer.train(TrainingConfig("cotbert", str(first), **usual), examples(), tmp_path / "cotbert").folder
    assert bundles.read(second).method == "cot_bert"
    pairs = examples(columns=PAIRS, labels=True)
    own = trainer.train(TrainingConfig("cosent", str(second), **usual), pairs, tmp_path / "own").folder
    assert (bundles.read(own).method, bundles.read(own).max_tokens) == ("cot_bert", bundles.read(second).max_tokens)
    other = trainer.train(TrainingConfig("cosent", f"{second}#mean", **usual), pairs, tmp_path / "other").folder
    assert bundles.read(other).method == "mean" and (other / "modules.json").is_file()
    with pytest.raises(UsageError, match="with a template of its own, so max_tokens cannot be"):
        trainer.train(TrainingConfig("cosent", f"{second}#max_tokens=32", **usual), pairs, tmp_path / "never")


def test_a_learned_part_is_gone_on_with(golden: Path, tmp_path: Path) -> None:
    """A pooler and a prompt that were trained do not begin anew in the next training."""
    for kind, part in (("sup-simcse", "pooler"), ("optiprompt", "prompt")):
        home = tmp_path / kind
        home.mkdir()
        made, out, _ = stepped(golden, kind, home)
        again, _ = learner(out, KINDS[kind][1], columns=made_columns(kind))
        old, new = (dict(each.network.named_parameters()) for each in (made, again))
        names = [name for name in old if name.startswith(part)]
        assert names and all(torch.equal(old[name], new[name]) for name in names)


def made_columns(kind: str) -> tuple[str, ...]:
    return PAIRS if KINDS[kind][1] == "supervised" else ("anchor",)


def test_a_model_that_has_no_place_for_a_pooler_is_told(golden: Path, tmp_path: Path) -> None:
    sizes = {"vocab_size": 239, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    config = transformers.DistilBertConfig(**sizes, max_position_embeddings=64)
    transformers.DistilBertModel(config).save_pretrained(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((golden / "models" / "tiny-bert" / file).read_bytes())
    with pytest.raises(UsageError, match="distilbert has no pooler"):
        learner(f"{tmp_path}#sup-simcse", "supervised", columns=PAIRS)
