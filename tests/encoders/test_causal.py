"""Decoders: the same vectors as plain transformers, with less work."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.arithmetic import ROUNDING, error
from helpers.decoders import CONFIGS, COT, EOL, TEXTS, made_once, plain

from semsearch.errors import SemsearchError, UsageError
from semsearch.models.batching import pad
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.prompts import Prompt
from semsearch.types import TruncationStats

torch: Any = pytest.importorskip("torch")
causal: Any = pytest.importorskip("semsearch.models.networks.causal")
causal_encoder: Any = pytest.importorskip("semsearch.encoders.torch_backend")
loading: Any = pytest.importorskip("semsearch.models.networks.loading")
torch_encoder: Any = pytest.importorskip("semsearch.encoders.torch_backend")

CausalBackend, BEGINNINGS = causal_encoder.CausalBackend, causal_encoder.BEGINNINGS
LAYERS = {"prompteol": (EOL, -1), "pretended_cot": (COT, -2)}
Made = Callable[[str], Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The folder of a decoder of CONFIGS, made once."""
    return made_once(tmp_path_factory)


def bundle(folder: Path, method: str = "prompteol", prompt: Prompt = EOL, **options: Any) -> Bundle:
    return models.described(folder, method, prompt, **options)


def rows_of(encoder: Any, texts: Any, prompt: Prompt) -> list[list[int]]:
    rows: list[list[int]] = encoder._tokenizer.ids(texts, prompt)
    return rows


@pytest.mark.parametrize("method", LAYERS)
@pytest.mark.parametrize("name", CONFIGS)
def test_vectors_are_those_of_transformers_one_text_at_a_time(made: Made, name: str, method: str) -> None:
    prompt, layer = LAYERS[method]
    told = bundle(made(name), method, prompt)
    encoders = [CausalBackend(told, device="cpu", prefix_cache=on) for on in (True, False)]
    wanted = plain(made(name), rows_of(encoders[0], TEXTS, prompt), layer)
    assert np.ptp(wanted, axis=0).max() > 0.1, "the texts tell nothing apart"
    for encoder in encoders:
        assert np.abs(encoder.vectors(TEXTS, prompt) - wanted).max() <= 1e-4


def test_every_model_type_that_is_taken_apart_is_held_to_transformers() -> None:
    assert set(causal.PARTS) <= {kind for kind, _ in CONFIGS.values()}


def test_windows_end_inside_the_prefix_and_inside_the_texts(made: Made) -> None:
    encoder = CausalBackend(bundle(made("mistral"), "pretended_cot", COT), device="cpu")
    shortest = min(len(row) for row in rows_of(encoder, TEXTS, COT))
    assert encoder.network.model.config.sliding_window < len(encoder._prefix(COT)) < shortest


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "bloom"])
def test_the_prefix_is_run_once_for_all_texts_and_batches(made: Made, name: str) -> None:
    encoder = CausalBackend(bundle(made(name)), device="cpu")
    seen: list[int] = []
    block = getattr(encoder.network.model, encoder.network.parts[0])[0]
    block.register_forward_hook(lambda module, given, result: seen.append(given[0].shape[0] * given[0].shape[1]))
    texts = ["one text", "two texts", "and some more", "the fourth"]
    rows, size = rows_of(encoder, texts, EOL), encoder.info["prefix_tokens"]["query"]
    assert size > 1
    for _ in range(2):
        encoder.vectors(texts, EOL, batch_size=1)
    assert seen == 2 * [len(row) - size for row in sorted(rows, key=len, reverse=True)]


def test_a_model_that_is_not_taken_apart_runs_whole(made: Made) -> None:
    encoder = CausalBackend(bundle(made("bloom")), device="cpu")
    assert encoder.info["prefix_tokens"] == {"query": 0, "passage": 0}
    with pytest.raises(UsageError, match="final norm"):
        CausalBackend(bundle(made("bloom"), norm="no"), device="cpu")


def test_a_text_whose_tokens_merge_with_the_prompt_runs_whole(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama")), device="cpu")
    split, texts = Prompt("A man is playing a gui", " ."), ["tar", "de", "tars and drums"]
    readings = [torch_encoder.Reading(rows_of(encoder, texts, split), split)]
    (begins, (shared,)), (others, (whole,)) = encoder._split_by_prefix(readings)
    assert (begins.tolist(), others.tolist(), whole.past) == ([1], [0, 2], None)
    assert shared.past.length == len(encoder._prefix(split)) > 3
    wanted = plain(made("llama"), rows_of(encoder, texts, split), -1)
    assert np.abs(encoder.vectors(texts, split) - wanted).max() <= 1e-4


def test_no_usual_beginning_of_a_text_costs_it_the_prefix(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama")), device="cpu")
    size = len(encoder._prefix(EOL))
    assert {tuple(row[:size]) for row in rows_of(encoder, BEGINNINGS, EOL)} == {encoder._prefix(EOL)}


def test_a_prompt_that_leaves_nothing_to_read_runs_whole(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama")), device="cpu")
    bare = Prompt()
    wanted = plain(made("llama"), rows_of(encoder, ["", "x"], bare), -1)
    assert np.abs(encoder.vectors(["", "x"], bare) - wanted).max() <= 1e-4


def test_blocks_above_the_one_that_is_read_are_not_run(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama"), "pretended_cot", COT), device="cpu")
    ran: set[int] = set()
    for at, block in enumerate(encoder.network.model.layers):
        block.register_forward_hook(lambda *_, at=at: ran.add(at))
    encoder.vectors(TEXTS, COT)
    encoder.vectors(TEXTS, Prompt("another ", " prompt"))
    assert ran == {0, 1}
    assert len(encoder.network.model.layers) == 3
    assert not any("lm_head" in name for name, _ in encoder.network.named_parameters())


@pytest.mark.parametrize("name", ["llama", "opt", "gpt2", "opt-350m"])
def test_the_final_norm_is_a_choice(made: Made, name: str) -> None:
    raw, normed = (CausalBackend(bundle(made(name), norm=norm), device="cpu") for norm in ("no", "yes"))
    model, states = raw.network.model, []
    getattr(model, raw.network.parts[0])[-1].register_forward_hook(lambda module, given, out: states.append(out))
    rows = rows_of(raw, TEXTS[:1], EOL)
    plain_model = CausalBackend(bundle(made(name)), device="cpu", prefix_cache=False).network.model
    last = getattr(plain_model, raw.network.parts[0])[-1]
    last.register_forward_hook(lambda module, given, out: states.append(out[0] if isinstance(out, tuple) else out))
    states.clear()
    with torch.inference_mode():
        plain_model(torch.tensor(rows))
    assert np.abs(raw.vectors(TEXTS[:1], EOL) - states[0][0, -1:].numpy()).max() <= 1e-4
    assert np.abs(normed.vectors(TEXTS[:1], EOL) - plain(made(name), rows, -1)).max() <= 1e-4


def test_the_final_norm_below_the_last_layer_is_the_models_own(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama"), layer=-2, norm="yes"), device="cpu")
    below = torch.from_numpy(plain(made("llama"), rows_of(encoder, TEXTS, EOL), -2))
    wanted = encoder.network.model.norm(below).detach().numpy()
    assert np.abs(encoder.vectors(TEXTS, EOL) - wanted).max() <= 1e-4


@pytest.mark.parametrize("layer", [4, -5])
def test_a_layer_that_is_not_there_is_refused(made: Made, layer: int) -> None:
    with pytest.raises(UsageError, match=r"has 3 layers"):
        CausalBackend(bundle(made("llama"), layer=layer), device="cpu")


def test_mean_pooling_leaves_padding_out(made: Made) -> None:
    import transformers

    encoder = CausalBackend(bundle(made("llama"), "mean"), device="cpu")
    model = transformers.AutoModelForCausalLM.from_pretrained(made("llama"), dtype=torch.float32)
    with torch.inference_mode():
        wanted = [
            model(torch.tensor([row]), output_hidden_states=True).hidden_states[-1].mean(1)[0].numpy()
            for row in rows_of(encoder, TEXTS, EOL)
        ]
    assert np.abs(encoder.vectors(TEXTS, EOL) - np.stack(wanted)).max() <= 1e-4


def test_a_text_of_no_token_at_all_has_a_vector(made: Made, tmp_path: Path) -> None:
    """Tokenizers of GPT-2 and Qwen put nothing before a text."""
    folder = Path(shutil.copytree(made("llama"), tmp_path / "llama"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    encoder = CausalBackend(bundle(folder, "mean", Prompt()), device="cpu")
    together = encoder.vectors(["", "a cat"], Prompt())
    assert np.isfinite(together).all()
    assert error(together[0], encoder.vectors([""], Prompt())[0]) < ROUNDING


def test_every_prompt_has_its_own_prefix(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama")), device="cpu")
    for prompt in (COT, EOL, Prompt("tell me: ", " !"), COT):
        wanted = plain(made("llama"), rows_of(encoder, TEXTS, prompt), -1)
        assert np.abs(encoder.vectors(TEXTS, prompt) - wanted).max() <= 1e-4


def test_the_sentence_is_cut_and_never_the_prompt(made: Made) -> None:
    encoder = CausalBackend(replace(bundle(made("llama")), max_tokens=32), device="cpu")
    assert encoder.truncation == TruncationStats(0, 0), "finding the prefix truncates no text of the user"
    encoder.vectors(TEXTS[-1:], EOL)
    assert encoder.truncation.passages == 1
    long, short = rows_of(encoder, [TEXTS[-1], "one"], EOL)
    assert len(long) == 32
    assert long[-6:] == short[-6:]


def test_a_batch_that_memory_does_not_hold_is_halved(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = CausalBackend(bundle(made("llama")), device="cpu")
    wanted = encoder.vectors(TEXTS, EOL)
    read = causal.CausalNetwork.read

    def scarce(network: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if len(inputs.ids) > 2:
            raise torch.OutOfMemoryError("no more")
        return read(network, inputs, *arguments, **options)

    monkeypatch.setattr(causal.CausalNetwork, "read", scarce)
    assert error(encoder.vectors(TEXTS, EOL), wanted) < ROUNDING


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_the_precision_is_the_one_asked_for_not_the_checkpoints(made: Made, tmp_path: Path, precision: str) -> None:
    import transformers

    half = transformers.AutoModelForCausalLM.from_pretrained(made("llama"), dtype=torch.bfloat16)
    half.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((made("llama") / "tokenizer.json").read_bytes())
    encoder = CausalBackend(replace(bundle(tmp_path), precision=precision), device="cpu")
    assert {each.dtype for each in encoder.network.parameters()} == {loading.DTYPES[precision]}
    vectors, exact = encoder.vectors(TEXTS, EOL), plain(tmp_path, rows_of(encoder, TEXTS, EOL), -1)
    assert vectors.dtype == np.float32
    cosines = (vectors * exact).sum(1) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(exact, axis=1)
    assert cosines.min() > (0.9999 if precision == "fp32" else 0.98)


def test_four_bits_need_a_package_that_is_named(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else find(name))
    with pytest.raises(SemsearchError, match="bitsandbytes"):
        CausalBackend(replace(bundle(made("llama")), precision="nf4"), device="cpu")


@pytest.mark.parametrize("precision", ["int8", "fp8"])
def test_a_precision_that_torch_does_not_run_here_is_refused(made: Made, precision: str) -> None:
    with pytest.raises(UsageError, match=f"cannot run as {precision}"):
        CausalBackend(replace(bundle(made("llama")), precision=precision), device="cpu")


def test_method_and_kind_of_model_must_go_together(made: Made, golden: Path) -> None:
    masked = models.described(made("llama"), "promptbert", Prompt('This sentence of "', '" means[MASK].'))
    last = bundle(golden / "models" / "tiny-bert")
    for told, why in ((masked, "is a decoder"), (last, "is an encoder")):
        for kind in (CausalBackend, torch_encoder.MaskedBackend):
            with pytest.raises(UsageError, match=why) as caught:
                kind(told, device="cpu")
            assert caught.value.exit_code == 2 and "template" in caught.value.fix


def test_training_reaches_the_blocks_that_are_read_and_no_other(made: Made) -> None:
    encoder = CausalBackend(bundle(made("llama"), "pretended_cot", COT), device="cpu")
    ids, mask = (torch.from_numpy(each) for each in pad(rows_of(encoder, TEXTS, COT)))
    encoder.network.train()
    encoder.method.embed(encoder.network, Batch(ids, mask, encoder._tokenizer.frame(COT))).sum().backward()
    blocks = encoder.network.model.layers
    assert [block.mlp.up_proj.weight.grad is not None for block in blocks] == [True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "opt", "gemma3"])
def test_what_is_traced_holds_for_other_batches_and_lengths(made: Made, name: str) -> None:
    encoder = CausalBackend(bundle(made(name)), device="cpu")

    class Traced(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = encoder.network

        def forward(self, ids: Any, mask: Any) -> Any:
            return encoder.method.embed(self.network, Batch(ids, mask, encoder._tokenizer.frame(EOL)))

    few, all_, one = (
        tuple(torch.from_numpy(each) for each in pad(rows_of(encoder, texts, EOL)))
        for texts in (TEXTS[:3], TEXTS, TEXTS[-1:])
    )
    free = {0: torch.export.Dim("n", min=1, max=512), 1: torch.export.Dim("t", min=2, max=256)}
    graph = torch.export.export(Traced(), few, dynamic_shapes=(free, free)).module()
    with torch.inference_mode():
        for ids, mask in (all_, one):
            assert error(graph(ids, mask), Traced()(ids, mask)) < ROUNDING
