"""Methods do what their paper says, also where the golden arrays cannot tell: against plain transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models
from helpers.arithmetic import ROUNDING, error

from semsearch.errors import SemsearchError, UnknownName, UsageError
from semsearch.models import methods
from semsearch.prompts import Prompt, library, parse
from semsearch.utils import plugins

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ("A cat.", "", "a much longer sentence about the cost of repairing an old bridge before winter", "Is it?")


@pytest.fixture(scope="module")
def bert(golden: Path) -> Path:
    return golden / "models" / "tiny-bert"


@pytest.fixture(scope="module")
def roberta(golden: Path) -> Path:
    return golden / "models" / "tiny-roberta"


def encoder(folder: Path, method: str, prompt: Prompt, **options: Any) -> Any:
    from semsearch.encoders.torch_backend import MaskedBackend

    own = models.ROBERTA if "roberta" in folder.name else models.BERT
    bundle = replace(models.described(folder, method, prompt, **options), max_tokens=300, tokens=own)
    return MaskedBackend(bundle, device="cpu")


def hidden_states(model: Any, rows: Sequence[Sequence[int]], **more: Any) -> list[Any]:
    """All hidden states of each text alone, without padding, as the library computes them."""
    with torch.no_grad():
        return [model(input_ids=torch.tensor([row]), output_hidden_states=True, **more).hidden_states for row in rows]


@pytest.mark.parametrize("layer", [-1, -2, 1, 0])
@pytest.mark.parametrize("name", ["promptbert", "cot-bert", "cls", "mean"])
def test_any_layer_can_be_read(name: str, layer: int, bert: Path) -> None:
    template = library.find(name)
    prompt = template.prompts["passage"]
    running = encoder(bert, template.method, prompt, **{**template.options, "layer": layer})
    rows = running._tokenizer.ids(TEXTS, prompt)
    model = transformers.AutoModel.from_pretrained(bert, dtype=torch.float32)
    for row, states, vector in zip(rows, hidden_states(model, rows), running.vectors(TEXTS, prompt), strict=True):
        hidden = states[layer][0].numpy()
        last_mask = max((at for at, token in enumerate(row) if token == 4), default=0)
        want = hidden.mean(0) if name == "mean" else hidden[last_mask]
        assert error(vector, want) < ROUNDING


def test_a_layer_that_is_not_there_is_refused(bert: Path) -> None:
    with pytest.raises(UsageError, match="the model has 3 layers, so there is no layer 4"):
        encoder(bert, "mean", Prompt(), layer=4)


def test_layers_above_the_one_that_is_read_are_not_run(bert: Path) -> None:
    prompt = library.find("promptbert").prompts["passage"]
    running = encoder(bert, "promptbert", prompt, layer=1)
    run: list[int] = []
    for at, layer in enumerate(running.network.model.encoder.layer):
        layer.register_forward_hook(lambda *_, at=at: run.append(at))
    running.vectors(TEXTS, prompt)
    assert run == []  # layer 1 is the first, and it is computed for the tokens that are read alone


@pytest.mark.parametrize("width", [1, 3])
def test_the_last_layer_is_computed_for_the_tokens_that_are_read_alone(width: int, bert: Path) -> None:
    prompt = library.find(f"masks-{width}").prompts["passage"]
    running = encoder(bert, "n_mask", prompt, count=width)
    shapes: list[tuple[int, ...]] = []
    blocks = [layer.intermediate for layer in running.network.model.encoder.layer]
    for block in blocks:
        block.register_forward_hook(lambda module, inputs, output: shapes.append(tuple(output.shape)))
    running.vectors(["one text"], prompt)
    assert [shape[1] for shape in shapes][-1] == width
    assert all(shape[1] > width for shape in shapes[:-1])


def test_top_k_is_the_mean_of_likely_words_by_their_probability(bert: Path) -> None:
    """PromptBERT, eq. 3, written out."""
    prompt = library.find("promptbert").prompts["passage"]
    running = encoder(bert, "promptbert", prompt, top_k=20)
    rows = running._tokenizer.ids(TEXTS, prompt)
    model = transformers.AutoModelForMaskedLM.from_pretrained(bert, dtype=torch.float32)
    words = model.get_input_embeddings().weight
    for row, vector in zip(rows, running.vectors(TEXTS, prompt), strict=True):
        with torch.no_grad():
            chances = model(input_ids=torch.tensor([row])).logits[0, row.index(4)].softmax(-1)
        likely = chances.argsort(descending=True)[:20]
        want = sum(chances[token] * words[token] for token in likely) / chances[likely].sum()
        assert error(vector, want.detach().numpy()) < ROUNDING


def test_likely_words_are_denoised_by_those_of_the_empty_template(bert: Path) -> None:
    """PromptBERT, table 9: eq. 3 of the sentence less eq. 3 of the template around nothing, at the same positions."""
    prompt = library.find("promptbert").prompts["passage"]
    denoised = encoder(bert, "promptbert", prompt, top_k=20, denoise="position")
    plainly = encoder(bert, "promptbert", prompt, top_k=20)
    frame, rows = denoised._tokenizer.frame(prompt), denoised._tokenizer.ids(TEXTS, prompt)
    model = transformers.AutoModelForMaskedLM.from_pretrained(bert, dtype=torch.float32)
    words = model.get_input_embeddings().weight
    empty = torch.tensor([[*frame.before, *frame.after]])
    pairs = zip(rows, plainly.vectors(TEXTS, prompt), denoised.vectors(TEXTS, prompt), strict=True)
    for row, vector, difference in pairs:
        places = torch.arange(len(frame))[None]
        places[:, len(frame.before) :] += len(row) - len(frame)
        with torch.no_grad():
            logits = model(input_ids=empty, position_ids=places).logits[0, empty[0].tolist().index(4)]
        best = logits.topk(20)
        bias = (best.values.softmax(-1)[:, None] * words[best.indices]).sum(0).detach().numpy()
        assert error(difference + bias, vector) < ROUNDING


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_last_of_any_number_of_stages_is_read(stages: int, bert: Path) -> None:
    prompt = parse('"[X]" means [MASK]' + " , in short [MASK]" * (stages - 1) + " .")
    running = encoder(bert, "cot_bert", prompt, stages=stages)
    rows = running._tokenizer.ids(TEXTS, prompt)
    model = transformers.AutoModel.from_pretrained(bert, dtype=torch.float32)
    for row, states, vector in zip(rows, hidden_states(model, rows), running.vectors(TEXTS, prompt), strict=True):
        masks = [at for at, token in enumerate(row) if token == 4]
        assert len(masks) == stages
        assert error(vector, states[-1][0, masks[-1]].numpy()) < ROUNDING


def test_no_stage_is_refused() -> None:
    with pytest.raises(UsageError, match="stages cannot be 0"):
        methods.make("cot_bert", {"stages": 0})


def biases_of(folder: Path, name: str, denoises: Sequence[str], tokens: int) -> tuple[dict[str, Any], Any]:
    """What a template of the library says around `tokens` of nothing, by way of denoising; and its own tokens."""
    template, biases = library.find(name), {}
    prompt = template.prompts["passage"]
    for denoise in denoises:
        running = encoder(folder, template.method, prompt, denoise=denoise)
        frame = running._tokenizer.frame(prompt)
        biases[denoise] = running.method.bias(running.network, frame, torch.tensor([tokens]))[0].detach().numpy()
    return biases, frame


def test_robertas_template_stands_at_the_positions_of_real_inputs(roberta: Path) -> None:
    """The bias around no token at all is the vector of the template itself; the released one is not."""
    biases, frame = biases_of(roberta, "promptroberta", ("position", "position-released"), 0)
    model = transformers.AutoModel.from_pretrained(roberta, dtype=torch.float32)
    row = [*frame.before, *frame.after]
    want = hidden_states(model, [row])[0][-1][0, row.index(frame.mask)].numpy()
    assert error(biases["position"], want) < ROUNDING
    assert np.abs(biases["position-released"] - want).max() > 1e-2


def test_robertas_pads_move_what_follows_them(roberta: Path) -> None:
    """[PAD] denoising aligns position ids with a real sentence, as its paper says; the released one does not."""
    biases, frame = biases_of(roberta, "cot-roberta", ("pad", "pad-released"), 5)
    row = [*frame.before, *[frame.pad] * 5, *frame.after]
    model = transformers.AutoModel.from_pretrained(roberta, dtype=torch.float32)
    places = torch.arange(len(row))[None] + 2
    last = max(at for at, token in enumerate(row) if token == frame.mask)
    aligned = hidden_states(model, [row], position_ids=places)[0][-1][0, last].numpy()
    released = hidden_states(model, [row])[0][-1][0, last].numpy()
    assert error(biases["pad"], aligned) < ROUNDING
    assert error(biases["pad-released"], released) < ROUNDING
    assert np.abs(aligned - released).max() > 1e-2


@pytest.mark.parametrize("name", ["promptbert-denoised", "cot-bert"])
def test_the_bias_has_gradients_while_training_and_is_the_table_afterwards(name: str, bert: Path) -> None:
    template = library.find(name)
    prompt = template.prompts["passage"]
    options = {"denoise": "pad", **template.options}
    running = encoder(bert, template.method, prompt, **options)
    rows = running._tokenizer.ids(TEXTS, prompt)
    from semsearch.models.batching import pad

    ids, mask = (torch.from_numpy(each) for each in pad(rows))
    vectors = running.method.embed(running.network, methods.Batch(ids, mask, running._tokenizer.frame(prompt)))
    vectors.sum().backward()
    assert running.network.model.embeddings.word_embeddings.weight.grad.abs().sum() > 0
    assert error(vectors.detach().numpy(), running.vectors(TEXTS, prompt)) < ROUNDING


def test_a_learned_prompt_stands_where_the_template_does(bert: Path, tmp_path: Path, golden: Path) -> None:
    """Vectors equal to the words they replace change nothing, whatever the sentence says."""
    import shutil

    from safetensors.torch import save_file

    folder = Path(shutil.copytree(bert, tmp_path / "tiny-bert"))
    prompt = library.find("promptbert-t2").prompts["passage"]
    plain = encoder(bert, "promptbert", prompt)
    frame = plain._tokenizer.frame(prompt)
    tokens = [token for token in (*frame.before[1:], *frame.after[:-1]) if token != frame.mask]
    save_file({"vectors": plain.network.words(torch.tensor(tokens)).detach().clone()}, folder / "prompt.safetensors")
    texts = [*TEXTS, 'this sentence : "means"']
    learned = encoder(folder, "optiprompt", prompt)
    assert error(learned.vectors(texts, prompt), plain.vectors(texts, prompt)) < ROUNDING


def test_an_untied_head_has_other_vectors_than_the_words(bert: Path, tmp_path: Path) -> None:
    """PromptBERT's table 12: the mean of the rows of either table."""
    config = transformers.AutoConfig.from_pretrained(bert)
    config.tie_word_embeddings = False
    torch.manual_seed(1)
    model = transformers.BertForMaskedLM(config)
    model.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((bert / name).read_bytes())
    tables = {"words": model.bert.embeddings.word_embeddings.weight, "head": model.cls.predictions.decoder.weight}
    for table, weight in tables.items():
        running = encoder(tmp_path, "static", parse("[X]"), table=table)
        rows = running._tokenizer.ids(TEXTS, parse("[X]"))
        wanted = np.stack([weight.detach()[row].mean(0).numpy() for row in rows])
        assert error(running.vectors(TEXTS, parse("[X]")), wanted) < ROUNDING


@pytest.mark.parametrize("architecture", ["DistilBert", "MPNet", "Electra", "Deberta", "Albert", "ModernBert"])
def test_any_encoder_runs_under_a_mask(architecture: str, bert: Path, tmp_path: Path) -> None:
    """Architectures whose layers are not taken apart go through their own forward()."""
    config = getattr(transformers, f"{architecture}Config")(
        vocab_size=239, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, pad_token_id=0
    )
    torch.manual_seed(1)
    model = getattr(transformers, f"{architecture}Model")(config).eval()
    model.save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((bert / name).read_bytes())
    prompt = parse('"[X]" means [MASK] .')
    running = encoder(tmp_path, "promptbert", prompt)
    rows = running._tokenizer.ids(TEXTS, prompt)
    for row, states, vector in zip(rows, hidden_states(model, rows), running.vectors(TEXTS, prompt), strict=True):
        assert error(vector, states[-1][0, row.index(4)].numpy()) < ROUNDING


@pytest.mark.parametrize("name", plugins.names(methods))
def test_unknown_options_and_values_are_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="no option of method"):
        methods.make(name, {"nonsense": 1})


@pytest.mark.parametrize(("name", "option"), [("mean", "layer"), ("promptbert", "top_k"), ("static", "specials")])
def test_an_option_of_the_wrong_type_is_refused(name: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"option {option} of method {name} cannot be 'many'") as caught:
        methods.make(name, {option: "many"})
    assert caught.value.fix in ("It has to be a whole number.", "It has to be true or false.")


def test_a_negative_number_of_words_is_told_as_such() -> None:
    with pytest.raises(UsageError, match="top_k cannot be -3"):
        methods.make("promptbert", {"top_k": -3})


def test_a_prompt_with_other_masks_than_the_method_reads_is_refused(bert: Path) -> None:
    running = encoder(bert, "promptbert", parse("[X] [MASK]"))
    with pytest.raises(UsageError, match=r"reads 1 \[MASK\]s, and the prompt has 0"):
        running.embed(["text"], Prompt("query: "))


def test_a_missing_pooler_is_refused_and_not_left_out() -> None:
    torch = pytest.importorskip("torch")
    from semsearch.models.tokenization import PromptTokens

    class WithoutPooler:
        pooler = None

        def read(self, *_: Any) -> Any:
            return torch.zeros(1, 1, 4)

    ids = torch.ones(1, 3, dtype=torch.long)
    with pytest.raises(SemsearchError, match="no pooler"):
        methods.make("cls", {"head": "pooler"}).embed(WithoutPooler(), methods.Batch(ids, ids, PromptTokens((), ())))
