"""A training step on the authors' token ids has the authors' vectors, biases, logits, loss and gradients, in float64.

Arrays of several numbers are kept as float32. CoT-RoBERTa has but its loss, so its ids are put together as the released
code does it: template and sentence apart, the sentence's first word without a blank, and one behind the template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from semsearch.models.batching import pad
from semsearch.models.tokenization import PromptTokens

torch = pytest.importorskip("torch")
from semsearch.models import methods  # noqa: E402  (needs torch)
from semsearch.models.methods import Batch  # noqa: E402
from semsearch.models.networks import loading  # noqa: E402
from semsearch.training.hyperparameters import Shape  # noqa: E402
from semsearch.training.objectives import make  # noqa: E402
from semsearch.training.objectives._contrastive import logits  # noqa: E402

EQUAL, NEAR = {"rtol": 1e-6}, {"rtol": 1e-4, "atol": 1e-5}  # of what is kept as float64, and as float32
SPECIAL = {
    "bert": {"lead": 2, "trail": 3, "mask": 4, "pad": 0},
    "roberta": {"lead": 0, "trail": 2, "mask": 600, "pad": 1},
}


@dataclass(frozen=True)
class Case:
    objective: str
    method: str
    options: Mapping[str, Any]
    views: int = 2
    head: bool = True  # of the objective; a head of the method stands before the vectors


POSITION, RELEASED = {"denoise": "position"}, {"denoise": "position-released"}
CASES = {
    "promptbert.bert.unsup": Case("promptbert", "promptbert", POSITION),
    "promptbert.roberta.unsup": Case("promptbert", "promptbert", RELEASED),
    "promptbert.bert.unsup_nodenoise": Case("promptbert", "promptbert", {}),
    "promptbert.bert.sup": Case("supervised", "promptbert", {**POSITION, "head": "transform"}, 3, False),
    "promptbert.roberta.sup": Case("supervised", "promptbert", {**RELEASED, "head": "pooler"}, 3, False),
    "cotbert.bert.unsup": Case("cotbert", "cot_bert", {"denoise": "pad"}, 3),
    "cotbert.bert.unsup_nodenoise": Case("cotbert", "cot_bert", {}, 3),
    "cotbert.roberta.unsup": Case("cotbert", "cot_bert", {"denoise": "pad-released"}, 3),
}
DEV = {
    "promptbert.bert.dev": ("promptbert", POSITION),
    "cotbert.bert.dev": ("cot_bert", {}),
    "cotbert.roberta.dev": ("cot_bert", {}),
}


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Mapping[str, Any]:
    return dict(np.load(golden / "train_forward.npz"))


@pytest.fixture(scope="module")
def told(golden: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads((golden / "train_forward_meta.json").read_text(encoding="utf-8"))
    return found


class Step:
    """One forward and backward pass of a case."""

    def __init__(self, name: str, golden: Path, arrays: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        self.case, self.kind = CASES[name], name.split(".")[1]
        self.tokenizer = Tokenizer.from_file(str(golden / "models" / f"tiny-{self.kind}" / "tokenizer.json"))
        self.method = methods.make(self.case.method, self.case.options)
        self.network = network(golden, self.kind, self.method, arrays)
        self.frames = [self._frame(told[name], at) for at in range(self.case.views)]
        ids, mask = arrays.get(f"{name}.input_ids"), arrays.get(f"{name}.attention_mask")
        if ids is None:
            ids, mask = self._ids(golden)
        self.batches = [
            Batch(torch.tensor(ids[:, at]).long(), torch.tensor(mask[:, at]).long(), frame)
            for at, frame in enumerate(self.frames)
        ]
        self.vectors = [self.method.embed(self.network, batch) for batch in self.batches]
        shape = Shape(kind=self.kind, width=32, depth=3, dim=32, columns=("anchor", "positive", "negative"))
        self.objective = make(self.case.objective, shape).double()
        if self.case.head:
            fill(self.objective.head[0], arrays)
        self.loss = self.objective.loss(self.vectors)
        self.loss.backward()

    def _frame(self, said: Mapping[str, Any], at: int) -> PromptTokens:
        """The template's tokens as the released code has them: before and behind the sentence, apart."""
        special = SPECIAL[self.kind]
        before, after = (said[side][at] if said[side][at] is not None else said[side][0] for side in ("bs", "es"))
        return PromptTokens(
            (special["lead"], *self._encoded(before)),
            (*self._encoded(after), special["trail"]),
            mask=special["mask"],
            pad=special["pad"],
            lead=1,
            trail=1,
        )

    def _ids(self, golden: Path) -> tuple[Any, Any]:
        """What its prepare_features makes of the sentences that are not empty: (n, views, t)."""
        sentences = json.loads((golden / "sentences.json").read_text(encoding="utf-8"))
        rows = [
            [*frame.before, *self._encoded(text)[:32], *frame.after]
            for text in sentences
            if text.strip()
            for frame in self.frames
        ]
        return tuple(each.reshape(-1, len(self.frames), each.shape[1]) for each in pad(rows))

    def _encoded(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)


def network(golden: Path, kind: str, method: Any, arrays: Mapping[str, Any]) -> Any:
    """The golden model in float64 with the heads that `method` reads; a pooler is the MLP of the golden arrays."""
    made = loading.masked(golden / "models" / f"tiny-{kind}", needs=method.needs - {"pooler"})
    if "pooler" in method.needs:
        made.pooler = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh())
        fill(made.pooler[0], arrays)
    return made.double()


def fill(linear: Any, arrays: Mapping[str, Any]) -> None:
    linear.double().load_state_dict({part: torch.tensor(arrays[f"mlp.dense.{part}"]) for part in ("weight", "bias")})


@pytest.fixture(scope="module", params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def step(name: str, golden: Path, arrays: Mapping[str, Any], told: Mapping[str, Any]) -> Step:
    return Step(name, golden, arrays, told)


def test_the_loss_is_the_authors(step: Step, name: str, told: Mapping[str, Any]) -> None:
    np.testing.assert_allclose(step.loss.detach(), told[name]["loss"], **EQUAL)


def test_gradients_are_the_authors(step: Step, name: str, arrays: Mapping[str, Any]) -> None:
    """Those of the first layer, which is as far down as they go but one, and how long those of the words are."""
    if f"{name}.grad_layer0_query" not in arrays:
        pytest.skip("the golden arrays have the loss alone")
    query = step.network.model.encoder.layer[0].attention.self.query.weight.grad
    np.testing.assert_allclose(query, arrays[f"{name}.grad_layer0_query"], **NEAR)
    words = step.network.model.get_input_embeddings().weight.grad
    np.testing.assert_allclose(words.norm(), arrays[f"{name}.grad_word_emb_norm"], **EQUAL)


def test_vectors_and_logits_are_the_authors(step: Step, name: str, arrays: Mapping[str, Any]) -> None:
    if f"{name}.logits" not in arrays:
        pytest.skip("the golden arrays have the loss alone")
    heads = [step.objective.head(each) if step.case.head else each for each in step.vectors]
    if step.case.options.get("head") == "transform":  # kept there on either side of the head, before the difference
        near(stacked(step, "promptbert", {}), arrays[f"{name}.pre_mlp"])
        near(stacked(step, "promptbert", {"head": "transform"}), arrays[f"{name}.post_mlp"])
    else:
        near(torch.stack(heads, dim=1), arrays[f"{name}.post_mlp"])
        near(stacked(step, step.case.method, without_head(step)), arrays[f"{name}.pre_mlp"])
    first, second, *third = heads
    blocks = [(first, second), *((side, each) for each in third for side in sides(step, first, second))]
    np.testing.assert_allclose(logits(blocks, 0.05).detach(), arrays[f"{name}.logits"], **NEAR)


def near(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.detach().reshape(-1, 32), wanted.reshape(-1, 32), **NEAR)


def stacked(step: Step, method: str, options: Mapping[str, Any]) -> Any:
    """All views' vectors under another method or other options."""
    return torch.stack([methods.make(method, options).embed(step.network, batch) for batch in step.batches], dim=1)


def without_head(step: Step) -> Mapping[str, Any]:
    return {key: value for key, value in step.case.options.items() if key != "head"}


def sides(step: Step, first: Any, second: Any) -> Sequence[Any]:
    """What is contrasted with the third view."""
    return (first, second) if step.case.objective == "cotbert" else (first,)


def test_every_row_of_the_biases_is_the_authors(step: Step, name: str, arrays: Mapping[str, Any]) -> None:
    tables = {at: table for at in range(1, 4) if (table := arrays.get(f"{name}.template_bias{at}")) is not None}
    assert bool(tables) == (step.method.denoises and name != "cotbert.roberta.unsup")
    plain = methods.make(step.case.method, without_head(step))
    for at, table in tables.items():  # before a head
        frame = step.frames[at - 1]
        found = plain.bias(step.network, frame, torch.arange(len(table)))
        np.testing.assert_allclose(found.detach(), table, **NEAR)
        row = arrays[f"{name}.template_ids{at}_row5"]
        gap = [frame.pad] * (5 if step.case.objective == "cotbert" else 0)
        whole = [*frame.before, *gap, *frame.after]
        assert row[: len(whole)].tolist() == whole
        if (mask := arrays.get(f"{name}.template_mask{at}_row5")) is not None:
            assert mask.sum() == len(whole)
        if (places := arrays.get(f"{name}.template_pos{at}_row5")) is not None:
            assert places.tolist() == [each + 5 * (each >= len(frame.before)) for each in range(len(whole))]


@pytest.mark.parametrize("name", DEV)
def test_what_a_checkpoint_is_chosen_by_is_the_authors(
    name: str, golden: Path, arrays: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    """Without the head; its ids are those of the sentences alone, which the released code puts the template around."""
    method, kind = methods.make(*DEV[name]), name.split(".")[1]
    frame = Step(f"{name.removesuffix('.dev')}.unsup", golden, arrays, told).frames[0]
    alone = [[each for each in row[1:] if each != frame.pad][:-1] for row in arrays[f"{name}.raw_input_ids"].tolist()]
    ids, mask = (torch.tensor(each) for each in pad([[*frame.before, *row, *frame.after] for row in alone]))
    vectors = method.embed(network(golden, kind, method, arrays), Batch(ids, mask, frame))
    np.testing.assert_allclose(vectors.detach(), arrays[f"{name}.emb"], **NEAR)


def test_no_golden_array_is_left_out(arrays: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    assert set(told) == {*CASES, *DEV}
    compared = {"loss", "logits", "pre_mlp", "post_mlp", "grad_layer0_query", "grad_word_emb_norm", "emb"}
    given = {"input_ids", "attention_mask", "raw_input_ids"}
    kinds = [("bias", ""), ("ids", "_row5"), ("pos", "_row5"), ("mask", "_row5")]
    tables = {f"template_{kind}{at}{row}" for at in (1, 2, 3) for kind, row in kinds}
    left = {name for name in arrays if name.rpartition(".")[2] not in {*compared, *given, *tables}}
    assert left == {"mlp.dense.weight", "mlp.dense.bias"}
