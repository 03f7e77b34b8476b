"""Networks of every kind: heads that a checkpoint has or lacks, and nothing of a text's neighbours in its vector."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING, error

from semsearch.encoders.encoder import Encoder
from semsearch.errors import SemsearchError, UsageError
from semsearch.models import methods
from semsearch.models.networks import pooling
from semsearch.models.tokenization import PromptTokens

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from semsearch.models.networks.masked import Inputs, MaskedNetwork  # noqa: E402

TEXTS = ["A cat.", "", "a much longer sentence about the cost of repairing an old bridge before winter", "Is it?"]
SIZES = {
    "vocab_size": 239,
    "hidden_size": 32,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}


def saved(golden: Path, to: Path, name: str, head: str = "Model", **more: Any) -> Path:
    """A folder with a tiny model of the class `name` + `head`, random, and the tokenizer of a BERT."""
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **more})
    torch.manual_seed(3)
    model = getattr(transformers, f"{name}{head}")(config)
    with torch.no_grad():
        for each in model.parameters():
            each.add_(torch.randn(each.shape) / 10)  # the row of the padding too, which is zero at first
    model.save_pretrained(to)
    return with_tokenizer(golden, to)


def with_tokenizer(golden: Path, folder: Path) -> Path:
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((golden / "models" / "tiny-bert" / file).read_bytes())
    return folder


@pytest.mark.parametrize("name", ["Bert", "Albert", "Longformer", "Ernie", "MegatronBert"])
def test_a_pooler_is_wanted_only_where_it_is_read(golden: Path, tmp_path: Path, name: str) -> None:
    """Checkpoints of masked language models have none."""
    head = {"Albert": "Model", "Ernie": "ForMaskedLM"}.get(name, "ForMaskedLM")
    folder = saved(golden, tmp_path / "model", name, head)
    if name == "Albert":
        drop(folder, "pooler")
    assert Encoder.load(folder, template="mean", device="cpu").encode(TEXTS).shape == (4, 32)
    with pytest.raises(SemsearchError, match=r"lacks 2 parts of the model, pooler"):
        Encoder.load(folder, template="cls-pooler", device="cpu")


def drop(folder: Path, part: str) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    left = {name: tensor for name, tensor in tensors.items() if part not in name}
    save_file(left, folder / "model.safetensors", {"format": "pt"})


def test_alberts_pooler_is_its_own(golden: Path, tmp_path: Path) -> None:
    folder = saved(golden, tmp_path / "model", "Albert")
    encoder = Encoder.load(folder, template="cls-pooler", device="cpu")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for text, vector in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        (row,) = encoder.backend._tokenizer.ids([text], encoder.backend.prompts["passage"])  # type: ignore[attr-defined]
        with torch.no_grad():
            want = model(torch.tensor([row])).pooler_output[0].numpy()
        assert error(vector, want / np.linalg.norm(want)) < ROUNDING


@pytest.mark.parametrize("name", ["DistilBert", "Electra", "ModernBert"])
def test_a_head_that_is_built_otherwise_is_refused(golden: Path, tmp_path: Path, name: str) -> None:
    folder = saved(golden, tmp_path / "model", name, "ForMaskedLM")
    for template in ("promptbert-top-k", "cls-pooler"):
        with pytest.raises(UsageError, match="has no"):
            Encoder.load(folder, template=template, device="cpu")


KINDS = ["Albert", "ConvBert", "Deberta", "DebertaV2", "DistilBert", "Electra", "Ernie", "Longformer",
         "MegatronBert", "MobileBert", "ModernBert", "Nystromformer", "RemBert", "RoFormer", "SqueezeBert"]  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_no_vector_depends_on_the_texts_beside_it(golden: Path, tmp_path: Path, name: str) -> None:
    encoder = Encoder.load(saved(golden, tmp_path / "model", name), template="mean", device="cpu")
    alone = np.stack([encoder.encode(text) for text in TEXTS])
    assert error(encoder.encode(TEXTS), alone) < ROUNDING


def test_a_network_whose_layers_cannot_be_told_apart_is_refused(golden: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    config = transformers.FunnelConfig(vocab_size=239, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=64)
    transformers.FunnelModel(config).save_pretrained(folder)
    with_tokenizer(golden, folder)
    with pytest.raises(UsageError, match="shortens its sequence"):
        Encoder.load(folder, template="mean", device="cpu")
    ids = torch.ones((1, 8), dtype=torch.int64)
    with pytest.raises(UsageError, match="returns 6 hidden states for 2 layers"):
        MaskedNetwork(transformers.FunnelModel(config)).states(Inputs(ids, ids), (-1,))


def test_a_prompt_with_nothing_behind_it_is_pooled_itself() -> None:
    """As an empty query is to a decoder, whose tokenizer puts nothing behind a text."""
    ids = torch.arange(1, 11).reshape(2, 5)
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    network = mock.Mock(states=lambda inputs, layers: [inputs.ids.float().unsqueeze(-1)])
    method = methods.make("sentence_transformer", {"include_prompt": False})
    pooled = method.embed(network, methods.Batch(ids, mask, PromptTokens((7, 7, 7), ())))
    assert pooled.flatten().tolist() == [2.0, 9.0]


def test_half_precision_does_not_run_out_of_numbers() -> None:
    hidden, mask = torch.full((1, 1000, 4), 200.0), torch.ones(1, 1000, dtype=torch.int64)
    for pool in (pooling.mean_pool, pooling.weighted_mean_pool, pooling.mean_sqrt_pool):
        whole = pool(hidden, mask)
        assert torch.allclose(pool(hidden.half(), mask).float(), whole, rtol=2e-3), pool.__name__
        assert pool(hidden.half(), mask).dtype == torch.float16
