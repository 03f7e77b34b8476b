"""Methods that change what a decoder computes, or read it several times, against plain transformers with hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.decoders import CONFIGS, EOL, RULES, TEXTS, made_once, plain
from numpy.typing import NDArray
from tokenizers import Tokenizer

from semsearch.encoders.encoder import Encoder
from semsearch.errors import UsageError
from semsearch.export import export
from semsearch.prompts import Prompt, library, parse
from semsearch.types import TruncationStats

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")
causal: Any = pytest.importorskip("semsearch.models.networks.causal")
torch_backend: Any = pytest.importorskip("semsearch.encoders.torch_backend")

TAKEN_APART = [name for name in CONFIGS if name not in ("bloom", "opt-350m")]
# both prompts end alike, and two windows of six tokens see nothing else: the contrast is rounding, which has no length
SHORT_SIGHTED = ("mistral", "phi3")
PROJECTIONS = {"gpt2": "attn.c_proj", "gpt_neox": "attention.dense", "opt": "self_attn.out_proj"}
BLOCKS = {"gpt2": "h"}
IRRELEVANT = parse('The irrelevant information of this sentence : "[X]" means in one word:"', **RULES)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return made_once(tmp_path_factory)


def running(folder: Path, template: str, prefix_cache: bool = True, **options: Any) -> tuple[Any, Prompt]:
    """The library's template on the decoder in `folder`, and its prompt."""
    one = library.find(template)
    prompt = one.prompts["query"]
    bundle = replace(models.described(folder, one.method, prompt, **{**one.options, **options}), max_tokens=400)
    return torch_backend.CausalBackend(bundle, device="cpu", prefix_cache=prefix_cache), prompt


def whole(folder: Path) -> tuple[Any, Sequence[Any]]:
    """The model as transformers runs it, and its blocks."""
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    body = getattr(model, "decoder", model)
    return model, getattr(body, BLOCKS.get(body.config.model_type, "layers"))


def differences(engine: Any, prompt: Prompt, wanted: NDArray[np.float32]) -> float:
    assert np.ptp(wanted, axis=0).max() > 0.1, "the texts tell nothing apart"
    return float(np.abs(engine.vectors(TEXTS, prompt) - wanted).max())


def prepended(folder: Path, texts: Sequence[str], prompt: Prompt, layer: int) -> NDArray[np.float32]:
    """Token Prepending as its authors run it: a new token, overwritten by the last one before blocks 1 to 6."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["<PST>"])
    model, blocks = whole(folder)
    place = 0

    def overwrite(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden = inputs[0].clone()
        hidden[:, place] = hidden[:, -1]
        return hidden, *inputs[1:]

    for block in blocks[1:7]:
        block.register_forward_pre_hook(overwrite)
    vector, found = torch.randn(32, generator=torch.Generator().manual_seed(0)), []
    for text in texts:
        body, ending = prompt.sentence(text)
        encoding = tokenizer.encode(prompt.before.replace("[PST]", "<PST>") + body + ending + prompt.after)
        place = encoding.tokens.index("<PST>")
        with torch.inference_mode():
            words = model.get_input_embeddings()(torch.tensor([[*encoding.ids[:place], 0, *encoding.ids[place + 1 :]]]))
            words[:, place] = vector
            states = model(inputs_embeds=words, output_hidden_states=True, use_cache=False).hidden_states
        found.append(states[layer][0, -1].numpy())
    return np.stack(found)


@pytest.mark.parametrize("prefix_cache", [True, False], ids=["prefix once", "prefix every time"])
@pytest.mark.parametrize("layer", [-1, -2])
@pytest.mark.parametrize("name", TAKEN_APART)
def test_the_sentence_is_read_after_its_own_embedding(
    made: Callable[[str], Path], name: str, layer: int, prefix_cache: bool
) -> None:
    engine, prompt = running(made(name), "prompteol-prepended", prefix_cache, layer=layer)
    assert differences(engine, prompt, prepended(made(name), TEXTS, prompt, layer)) < 1e-4


def test_only_what_stands_before_the_placeholder_is_run_once(made: Callable[[str], Path]) -> None:
    engine, prompt = running(made("llama"), "knowledge-enhancement-prepended")
    place = engine._tokenizer.frame(prompt).place
    assert engine.info["prefix_tokens"]["query"] == place > 20


def test_the_placeholders_vector_is_the_same_in_every_process_and_follows_its_seed(
    made: Callable[[str], Path],
) -> None:
    references = [f"{made('llama')}#{more}template=prompteol-prepended" for more in ("", "", "seed=1,")]
    first, again, other = (Encoder.load(each, device="cpu", cache=None) for each in references)
    assert np.array_equal(first.encode(TEXTS[0]), again.encode(TEXTS[0]))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert np.abs(first.encode(TEXTS[0]) - other.encode(TEXTS[0])).max() > 1e-3


def test_a_placeholder_that_a_user_types_is_text(made: Callable[[str], Path]) -> None:
    engine, prompt = running(made("llama"), "prompteol-prepended")
    (typed,) = engine._tokenizer.ids(["[PST]"], prompt)
    assert typed.count(0) == 1


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("prompteol", 'This sentence : [PST] "[X]" means'),
        ("token_prepending", 'This sentence : "[X]" means'),
        ("token_prepending", 'This sentence : "[X]" [PST] means'),
    ],
)
def test_a_placeholder_stands_before_the_sentence_of_its_own_method_alone(
    made: Callable[[str], Path], method: str, text: str
) -> None:
    with pytest.raises(UsageError, match=r"\[PST\] stands before the sentence in templates of token_prepending"):
        torch_backend.CausalBackend(models.described(made("llama"), method, parse(text)), device="cpu")


def contrasted(
    folder: Path, rows: Sequence[Sequence[int]], irrelevant: Sequence[Sequence[int]], block: int, scale: float
) -> NDArray[np.float32]:
    """Contrastive Prompting as its authors run it: the input of one output projection is changed for the last token."""
    model, blocks = whole(folder)
    projection = blocks[block - 1].get_submodule(PROJECTIONS.get(model.config.model_type, "self_attn.o_proj"))
    auxiliary: list[Any] = []

    def record(module: Any, inputs: tuple[Any, ...]) -> None:
        auxiliary.append(inputs[0][:, -1].clone())

    def steer(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        values = inputs[0].clone()
        own, contrast = values[:, -1], values[:, -1] - auxiliary[-1]
        values[:, -1] = contrast * (scale or own.norm() / (contrast.norm() + 1e-7))
        return (values,)

    found = []
    for row, other in zip(rows, irrelevant, strict=True):
        with torch.inference_mode():
            hook = projection.register_forward_pre_hook(record)
            model(torch.tensor([other]), use_cache=False)
            hook.remove()
            hook = projection.register_forward_pre_hook(steer)
            states = model(torch.tensor([row]), output_hidden_states=True, use_cache=False).hidden_states
            hook.remove()
        found.append(states[-2][0, -1].numpy())
    return np.stack(found)


@pytest.mark.parametrize("prefix_cache", [True, False], ids=["prefix once", "prefix every time"])
@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, scale) for name in TAKEN_APART for scale in (0.0, 0.5) if scale or name not in SHORT_SIGHTED],
)
def test_what_is_irrelevant_is_subtracted_from_what_is_read(
    made: Callable[[str], Path], name: str, scale: float, prefix_cache: bool
) -> None:
    engine, prompt = running(made(name), "prompteol-contrastive", prefix_cache, scale=scale, block=2)
    rows, irrelevant = (engine._tokenizer.ids(TEXTS, each) for each in (prompt, IRRELEVANT))
    wanted = contrasted(made(name), rows, irrelevant, 2, scale)
    assert differences(engine, prompt, wanted) < 1e-4
    untouched = plain(made(name), rows, -2)
    assert np.abs(wanted - untouched).max() > 1e-3, "steering changes nothing"


def test_a_block_that_is_not_run_cannot_be_steered(made: Callable[[str], Path]) -> None:
    with pytest.raises(UsageError, match="block cannot be 3 where layer 2 is read"):
        running(made("llama"), "prompteol-contrastive", block=3)


@pytest.mark.parametrize("name", ["llama", "opt", "bloom"])
def test_several_prompts_give_the_mean_of_their_vectors(made: Callable[[str], Path], name: str) -> None:
    engine, prompt = running(made(name), "metaeol")
    prompts = engine.method.readings(prompt)
    assert len(prompts) == 8 and len({each.text for each in prompts}) == 8
    each = [plain(made(name), engine._tokenizer.ids(TEXTS, one), -1) for one in prompts]
    assert differences(engine, prompt, np.mean(each, axis=0)) < 1e-4


def test_a_sentence_that_is_cut_counts_once_under_several_prompts(made: Callable[[str], Path]) -> None:
    engine, prompt = running(made("llama"), "metaeol", others=[EOL.text])
    engine._tokenizer.max_tokens = len(engine._tokenizer.frame(prompt)) + 5
    assert engine.truncation == TruncationStats(0, 0)
    engine.vectors(TEXTS[-1:], prompt)
    assert engine.truncation.passages == 1


@pytest.mark.parametrize("template", ["prompteol-prepended", "prompteol-contrastive"])
def test_a_model_that_runs_as_a_whole_cannot_be_changed_inside(made: Callable[[str], Path], template: str) -> None:
    with pytest.raises(UsageError, match="a bloom runs as a whole, so nothing inside it can be changed"):
        running(made("bloom"), template)


@pytest.mark.parametrize("template", ["metaeol", "prompteol-contrastive"])
def test_a_method_of_several_prompts_is_not_exported(
    made: Callable[[str], Path], tmp_path: Path, template: str
) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(UsageError, match=r"reads a text under \d prompts, and a graph reads it under one"):
        export(f"{made('llama')}#{template}", tmp_path / "out")
