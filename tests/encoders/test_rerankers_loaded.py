"""Loading rerankers: equal to transformers, and one clear error for every folder that is none or is hostile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import rerankers
from helpers.checkpoints import pickled

from semsearch.encoders.encoder import Encoder
from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.errors import Corrupt, NotFound, SemsearchError, UnknownName, UsageError
from semsearch.models.rerankers import manifest
from semsearch.models.rerankers.manifest import Calibration
from semsearch.models.rerankers.pair_tokens import PairTokenizer

PAIRS = ["A diesel engine ignites fuel by compression.", "Tea needs water.", "salt " * 80]
QUERY = "how is the fuel ignited?"


def test_words_that_decide_are_found() -> None:
    scores = Reranker.load(rerankers.SAMPLES["onnx"](), device="cpu").score(QUERY, PAIRS)
    assert scores.argmax() == 0
    assert scores[0] == pytest.approx(1 / (1 + np.exp(-4.0)))  # 6 for the word, less 2 for every pair
    assert scores[1] == pytest.approx(1 / (1 + np.exp(2.0)))


@pytest.mark.parametrize(("kind", "labels"), [("bert", 1), ("bert", 2), ("roberta", 1), ("distilbert", 1)])
def test_logits_are_those_of_transformers(kind: str, labels: int, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import transformers

    folder = rerankers.checkpoint(tmp_path / kind, kind, labels=[f"LABEL_{at}" for at in range(labels)])
    ours = Reranker.load(folder, device="cpu")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    network.train(False)
    rows = ours.runtime._tokenizer.rows(QUERY, PAIRS)
    wanted = []
    for ids, segments in zip(rows.ids, rows.segments, strict=True):
        types = {"token_type_ids": torch.tensor([segments])} if kind == "bert" else {}
        with torch.no_grad():
            logits = network(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), **types).logits[0]
        wanted.append(float(logits[0] if labels == 1 else logits[1] - logits[0]))
    assert np.abs(ours.logits(QUERY, PAIRS).values - wanted).max() < 1e-5


def test_tokens_are_those_of_the_tokenizer_itself(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    file = rerankers.tokenizer(tmp_path)
    whole, ours = Tokenizer.from_file(str(file)), PairTokenizer(file, 40)
    whole.enable_truncation(40, strategy="only_second")
    rows = ours.rows(QUERY, PAIRS)
    pairs = [whole.encode(QUERY, passage) for passage in PAIRS]
    assert rows.ids == [pair.ids for pair in pairs]
    assert rows.segments == [pair.type_ids for pair in pairs]
    assert rows.truncated == 1


@pytest.mark.parametrize(
    ("labels", "positive"), [(("irrelevant", "relevant"), 1), (("entailment", "other"), 0), (("LABEL_0", "LABEL_1"), 1)]
)
def test_of_two_labels_the_one_that_says_yes_counts(labels: tuple[str, str], positive: int, tmp_path: Path) -> None:
    found = Reranker.load(rerankers.checkpoint(tmp_path / "two", labels=labels, layers=1), device="cpu")
    assert found.runtime.bundle.positive == positive


def remove(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names] and None


def overwrite(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(content) and None


def config(**values: Any) -> Callable[[Path], None]:
    return lambda folder: rerankers.rewritten(folder, **values) and None


HOSTILE = {  # what is done to a checkpoint -> a part of the error
    "pickle": (pickled, "pickled weights only"),
    "code": (config(auto_map={"AutoModelForSequenceClassification": "evil.Model"}), "code of its own"),
    "no head": (config(architectures=["BertModel"]), "is no reranker: its config.json names no model"),
    "three labels": (config(id2label={"0": "a", "1": "b", "2": "c"}), "its labels are a, b, c"),
    "two unclear labels": (config(id2label={"0": "a", "1": "b"}), "its labels are a, b"),
    "endless labels": (config(id2label=None, num_labels=10**12), "is no reranker"),
    "odd labels": (config(id2label=[1, 2]), "cannot be loaded as a model"),
    "no weights": (remove("model.safetensors"), "no weights"),
    "cut weights": (lambda folder: (folder / "model.safetensors").write_bytes(b"1234567890"), "not a safetensors file"),
    "no tokenizer": (remove("tokenizer.json"), "no tokenizer"),
    "broken tokenizer": (overwrite("tokenizer.json", "{}"), "not a tokenizer"),
    "no configuration": (remove("config.json"), "is no model"),
    "broken configuration": (overwrite("config.json", "{"), "config.json"),
    "other size": (config(num_hidden_layers=3), "would be random"),
    "one token long": (config(max_position_embeddings=3), "leave no room|has shape"),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rerankers.checkpoint(tmp_path_factory.mktemp("models") / "tiny", layers=1)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_bad_checkpoint_is_one_clear_error(what: str, checkpoint: Path, tmp_path: Path) -> None:
    spoil, message = HOSTILE[what]
    folder = Path(shutil.copytree(checkpoint, tmp_path / "model"))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    spoil(folder)
    with pytest.raises(SemsearchError, match=message) as caught:
        Reranker.load(folder, device="cpu")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def changed(**values: Any) -> Callable[[Path], None]:
    """Rewrite the manifest with a right checksum, as somebody who wants to harm can."""

    def spoil(folder: Path) -> None:
        path = folder / manifest.MANIFEST
        content = json.loads(path.read_text(encoding="utf-8")) | values
        content.pop("sha256")
        path.write_text(json.dumps(content | {"sha256": manifest.checksum(content)}))

    return spoil


TAMPERED = {
    "weights": (lambda folder: (folder / "model.onnx").write_bytes(b"other"), "are not what was written"),
    "tokenizer": (overwrite("tokenizer.json", "{}"), "are not what was written"),
    "no weights": (remove("model.onnx"), "lacks its weights"),
    "cut manifest": (overwrite("reranker.json", '{"format": 1'), "cannot be read"),
    "nested manifest": (overwrite("reranker.json", "[" * 100_000), "cannot be read"),
    "a path outside": (changed(weights="../model.onnx"), "cannot be read: it names a file outside"),
    "an absolute path": (changed(tokenizer="/etc/passwd"), "cannot be read: it names a file outside"),
    "another length": (changed(max_tokens=7), "was changed"),
    "no length": (changed(max_tokens=0), "max_tokens is no number"),
    "no calibration": (changed(calibration={"temperature": 0.0}), "no temperature above 0"),
    "endless calibration": (changed(calibration={"temperature": 1.0, "offset": 1e999}), "no temperature above 0"),
    "an unknown key": (changed(code="evil.py"), "unknown keys"),
    "another format": (changed(format=2), "format 2"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_export_is_one_clear_error(what: str, tmp_path: Path) -> None:
    spoil, message = TAMPERED[what]
    folder = rerankers.saved(tmp_path / "model")
    spoil(folder)
    with pytest.raises((Corrupt, NotFound), match=message) as caught:
        Reranker.load(folder, device="cpu")
    assert "\n" not in str(caught.value)


def test_a_graph_with_other_inputs_than_the_manifest_says_is_refused(tmp_path: Path) -> None:
    folder = rerankers.saved(tmp_path / "model", segments=True)
    with pytest.raises(Corrupt, match="other inputs"):
        Reranker.load(folder, device="cpu")


def test_without_a_packaged_one_the_error_says_how_to_get_one() -> None:
    with pytest.raises(NotFound, match="no reranker is part of semsearch") as caught:
        Reranker.load()
    assert "models pull" in caught.value.command
    assert caught.value.exit_code == 3


def test_a_misspelt_name_offers_the_known_ones() -> None:
    with pytest.raises(NotFound, match=r"no reranker is called 'ms-marko-MiniLM-L6-v2'. Did you mean 'ms-marco"):
        Reranker.load("ms-marko-MiniLM-L6-v2")
    with pytest.raises(UnknownName, match="'onx'"):
        Reranker.load(backend="onx")


def test_an_encoder_is_no_reranker_and_the_other_way_round(tmp_path: Path) -> None:
    from semsearch.models.model_folders import find

    with pytest.raises(UsageError, match="is an encoder, not a reranker"):
        Reranker.load(find("default"))
    with pytest.raises(UsageError, match="is a reranker, not an encoder"):
        Encoder.load(rerankers.saved(tmp_path / "model"))
    with pytest.raises(UsageError, match="has no template"):
        Reranker.load(f"{tmp_path / 'model'}#mean")


def test_the_calibration_moves_scores_and_the_fingerprint_but_no_order(tmp_path: Path) -> None:
    folder = rerankers.saved(tmp_path / "model")
    plain = Reranker.load(folder, device="cpu")
    fitted = replace(manifest.read(folder), calibration=Calibration(2.0, 1.0, {"on": ["a test"]}))
    manifest.write(fitted, folder)
    ours = Reranker.load(folder, device="cpu")
    logits = plain.logits(QUERY, PAIRS).values
    assert ours.score(QUERY, PAIRS) == pytest.approx(1 / (1 + np.exp(-(logits - 1) / 2)))
    assert ours.fingerprint != plain.fingerprint
    assert (ours.score(QUERY, PAIRS).argsort() == plain.score(QUERY, PAIRS).argsort()).all()


def test_scores_of_huge_logits_are_chances() -> None:
    scores = Calibration().scores(np.array([-1e6, 0.0, 1e6]))
    assert scores.tolist() == [0.0, 0.5, 1.0]
