"""Layer scores, token attribution, and the figures of measurements."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING
from helpers.models import minilm

from semsearch.errors import UsageError
from semsearch.evaluation.sts import cosines, spearman
from semsearch.evaluation.sts_benchmarks import Subset

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from semsearch.encoders.encoder import Encoder  # noqa: E402  (torch may be absent)
from semsearch.evaluation.papers import attribution, figures  # noqa: E402
from semsearch.evaluation.papers.attribution import TokenAttribution, token_attribution  # noqa: E402
from semsearch.evaluation.papers.layer_scores import LayerScores, layer_scores  # noqa: E402

SENTENCE = "a man is driving a car"
PAIRS = Subset(
    (
        ("A man is driving a car.", "A man drives a car."),
        ("A dog runs through the park in the snow.", "Two cats sleep."),
        ("She cuts an onion.", "The woman is slicing a red onion in the kitchen."),
        ("The stock market fell.", "Shares rose."),
        ("Tea", "A cup of tea"),
    ),
    (5, 0, 3.5, 1, 4),
)


def loaded(model: Path, template: str = "mean") -> Any:
    return Encoder.load(model, template=template, device="cpu")


def size_of(file: Path) -> tuple[int, int]:
    """Columns and rows of a PNG."""
    content = file.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


@pytest.mark.parametrize(("template", "pooling"), [("mean", "mean"), ("cls", "cls"), ("cot-bert", "mask")])
def test_a_layer_score_equals_that_of_an_encoder_with_that_layer_and_pooling(
    golden: Path, template: str, pooling: str
) -> None:
    model = golden / "models" / "tiny-bert"
    found = layer_scores(loaded(model, template), PAIRS)
    assert found.poolings == (("cls", "mean", "max", "mask") if template == "cot-bert" else ("cls", "mean", "max"))
    assert len(found.scores) == 4
    for layer in (1, 3):
        alone = Encoder.load(model, template=template, layer=layer, device="cpu")
        wanted = 100 * spearman(cosines(PAIRS.pairs, alone), PAIRS.gold)
        assert found.scores[layer][found.poolings.index(pooling)] == pytest.approx(wanted)


def test_decoders_are_read_at_their_last_token(golden: Path) -> None:
    model = golden / "models" / "tiny-opt"
    found = layer_scores(loaded(model, "prompteol"), PAIRS)
    assert found.poolings == ("last", "mean", "max")
    wanted = cosines(PAIRS.pairs, Encoder.load(model, template="prompteol", device="cpu"))
    assert found.scores[-1][0] == pytest.approx(100 * spearman(wanted, PAIRS.gold))


def test_scores_that_are_nan_are_never_the_best() -> None:
    found = LayerScores(("cls", "mean"), ((math.nan, 40.0), (-3.0, 61.5)))
    assert found.best == (1, "mean", 61.5)


def test_a_model_that_does_not_run_in_pytorch_is_refused(minilm_encoder: Encoder) -> None:
    for look in (lambda one: layer_scores(one, PAIRS), lambda one: token_attribution(one, SENTENCE)):
        with pytest.raises(UsageError, match="needs a model that runs in PyTorch"):
            look(minilm_encoder)


def test_attributions_are_the_shares_of_the_cosines_with_every_token() -> None:
    one = loaded(minilm())
    parts = token_attribution(one, SENTENCE)
    assert [part.token for part in parts] == SENTENCE.split()
    assert [part.core for part in parts] == [False, True, False, True, False, True]
    assert sum(part.share for part in parts) == pytest.approx(1)
    ratios = [part.cosine / part.share for part in parts]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))
    (vector,) = one.backend.vectors([SENTENCE], one.backend.prompts["passage"])
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm())
    with torch.no_grad():
        output = transformers.AutoModel.from_pretrained(minilm())(**tokenizer(SENTENCE, return_tensors="pt"))
    third = output.last_hidden_state[0, 3].numpy()
    assert parts[2].cosine == pytest.approx(
        third @ vector / np.linalg.norm(third) / np.linalg.norm(vector), abs=ROUNDING
    )


def test_only_the_sentence_counts_and_not_the_prompt_around_it() -> None:
    for template in ("promptbert", "cot-bert"):
        parts = token_attribution(loaded(minilm(), template), f"{SENTENCE}.")
        assert [part.token for part in parts] == [*SENTENCE.split(), "."]


@pytest.mark.parametrize(("template", "layer"), [("prompteol", 3), ("knowledge-enhancement", 2)])
def test_decoders_tokens_are_read_at_the_layer_of_the_sentence(golden: Path, template: str, layer: int) -> None:
    one = loaded(golden / "models" / "tiny-opt", template)
    parts = token_attribution(one, SENTENCE)
    assert len(parts) >= 6 and all(-1 <= part.cosine <= 1 for part in parts)
    prompt = one.backend.prompts["passage"]
    (ids,) = one.backend._tokenizer.ids([SENTENCE], prompt)
    where = [at for at, (_, of) in enumerate(one.backend._tokenizer.parts(SENTENCE, prompt)) if of == "sentence"]
    model = pytest.importorskip("transformers").AutoModel.from_pretrained(golden / "models" / "tiny-opt")
    with torch.no_grad():
        states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0].numpy()
    a, b = states[where[0]], states[-1]
    assert parts[0].cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-4)


@pytest.mark.parametrize(
    ("written", "core", "wanted"),
    [
        (["a", "super", "##market", "near", "me", "."], (), "011000"),
        (["A", "Ġman", "Ġis", "Ġdriv", "ing", "Ġ", "n", "ear", "."], (), "010110000"),
        (["▁Two", "▁dogs", "▁", "."], (), "1100"),
        (["Tea", 'Ġ"', "the", '"', "Ġ,"], (), "10000"),
        (["a", "super", "##market", "opens"], ("Supermarket",), "0110"),
    ],
)
def test_words_are_joined_from_their_tokens_before_they_count_as_core(
    written: list[str], core: tuple[str, ...], wanted: str
) -> None:
    assert "".join("01"[chosen] for chosen in attribution._core(written, core)) == wanted


def test_a_sentence_that_is_empty_or_too_long_is_refused(golden: Path) -> None:
    one = loaded(golden / "models" / "tiny-bert")
    with pytest.raises(UsageError, match="no tokens"):
        token_attribution(one, " ")
    with pytest.raises(UsageError, match="longer than the"):
        token_attribution(one, "a " * 1000)


@pytest.mark.slow
def test_every_figure_is_a_png_with_one_panel_per_model(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    gold = draw.integers(0, 26, size=60) / 5
    values = {"one": gold / 5 + draw.normal(size=60) / 9, "two": np.zeros(60)}
    figures.by_gold(dict(list(values.items())[:1]), gold.tolist(), tmp_path / "a" / "one.png")
    figures.by_gold(values, gold.tolist(), tmp_path / "both.png", "a title")
    assert size_of(tmp_path / "both.png")[0] > 1.5 * size_of(tmp_path / "a" / "one.png")[0]
    figures.layers(LayerScores(("cls", "mean"), ((math.nan, 40.0), (-3.0, 61.5))), tmp_path / "layers.png")
    figures.layers(LayerScores(("cls",), ((math.nan,),)), tmp_path / "nothing.png")
    parts = [TokenAttribution("tea", 0.5, 1.0, True)]
    figures.tokens({"one": parts}, tmp_path / "short.png")
    figures.tokens({"one": parts * 30, "two": parts * 30}, tmp_path / "long.png")  # one above the other
    short, long = size_of(tmp_path / "short.png"), size_of(tmp_path / "long.png")
    assert long[0] > short[0] and long[1] > short[1]


def test_text_in_figures_is_not_interpreted_as_math(tmp_path: Path) -> None:
    """Two dollars are no formula, and a long sentence takes several lines."""
    parts = [TokenAttribution("$", 0.5, 0.5, True), TokenAttribution("$\\frac$", 0.5, 0.5, False)]
    for title in ("$5 \\frac $6", "word " * 40):
        figures.tokens({"$\\frac$": parts}, tmp_path / f"{len(title)}.png", title)
        figures.by_gold({"$\\frac$": np.array([0.1, 0.9])}, [1, 4], tmp_path / "gold.png", title)
    figures.layers(LayerScores(("cls",), ((40.0,),)), tmp_path / "layers.png", "$5 \\frac $6")


def test_characters_without_a_glyph_cause_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    figures.tokens({"one": [TokenAttribution("über", 0.5, 1.0, True)]}, tmp_path / "a.png", "größer")
    assert not caplog.messages
    figures.tokens(
        {"one": [TokenAttribution("日本", 0.5, 0.5, True), TokenAttribution("語", 0.5, 0.5, True)]},
        tmp_path / "b.png",
        "日本語",
    )
    assert [message.partition(" shows ")[2] for message in caplog.messages] == [
        "boxes for characters that Matplotlib's font lacks."
    ]


def test_a_file_that_is_no_png_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"layers\.pdf is not a PNG"):
        figures.layers(LayerScores(("cls",), ((1.0,),)), tmp_path / "layers.pdf")


def test_figures_need_no_display(tmp_path: Path) -> None:
    script = (
        "from semsearch.evaluation.papers import figures\nfrom pathlib import Path\nfrom types import SimpleNamespace\n"
        "import sys\nscores = SimpleNamespace(poolings=('cls',), scores=((1.0,),), best=(0, 'cls', 1.0))\n"
        f"figures.layers(scores, Path({str(tmp_path / 'a.png')!r}))\n"
        "print([name for name in sys.modules if name.startswith('matplotlib.pyplot')])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
