"""Folders of models: what they are read as, what they are refused for, and that nothing about them goes unnoticed."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING, error
from helpers.checkpoints import copied, pickled, rewrite, sharded, without_tokenizer_json
from helpers.models import minilm

from semsearch.encoders.encoder import Encoder
from semsearch.errors import Corrupt, MissingExtra, NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, safetensors_files, tokenizer_files
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import Prompt
from semsearch.utils import user_cache

TEXTS = ["A man is playing a guitar.", "soup", "", "Привет, как дела?", "Is it new?", "two\nlines  and  blanks"]
KINDS = ["tiny-bert", "tiny-roberta", "tiny-opt", "tiny-llama", "tiny-mistral"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bert(golden: Path, tmp_path: Path) -> Path:
    return copied(golden, "tiny-bert", tmp_path / "bert")


@pytest.fixture
def opt(golden: Path, tmp_path: Path) -> Path:
    return copied(golden, "tiny-opt", tmp_path / "opt")


def described(folder: Path, fragment: str = "", **options: Any) -> Bundle:
    return hf_config.describe(folder, Reference.parse(f"{folder}#{fragment}" if fragment else folder), **options)


# What a folder is read as


def test_describing_a_folder_loads_no_torch(bert: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from semsearch.models import hf_config as checkpoints;"
        "from semsearch.models.model_ref import *;"
        f"checkpoints.describe(Path({str(bert)!r}), Reference('x', 'cot-bert'));"
        "print([name for name in ('torch', 'transformers', 'huggingface_hub') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_template_says_method_prompts_and_options(bert: Path) -> None:
    bundle = described(bert, "denoise=pad,template=cot-bert")
    assert (bundle.method, bundle.options) == ("cot_bert", {"denoise": "pad"})
    assert bundle.prompts["query"] == bundle.prompts["passage"]
    assert bundle.prompts["passage"].masks == 2
    assert described(bert, 'query: "[X]"').prompts["query"].before == 'query: "'


def test_without_a_template_an_encoder_is_averaged_and_a_decoder_asked(bert: Path, opt: Path) -> None:
    assert described(bert).method == "mean"
    assert described(opt).method == "prompteol"


def test_a_template_that_was_not_chosen_is_said_once(bert: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    with caplog.at_level(logging.WARNING, "semsearch"):
        encoder = Encoder.load(bert)
        assert "no template was named" in caplog.text and "mean" in caplog.text
        caplog.clear()
        again = Encoder.load(encoder.reference)
    assert caplog.text == "" and again.fingerprint == encoder.fingerprint


def test_lengths_leave_out_the_positions_of_padding(golden: Path) -> None:
    models = golden / "models"
    assert described(models / "tiny-bert").max_tokens == 320
    assert described(models / "tiny-roberta").max_tokens == 322 - 2
    assert described(models / "tiny-roberta", "max_tokens=64,template=mean").max_tokens == 64
    with pytest.raises(UsageError, match="320 positions"):
        described(models / "tiny-roberta", "max_tokens=321,template=mean")


@pytest.mark.parametrize(("name", "most"), [("tiny-bert", 512), ("tiny-opt", 2048)])
def test_inputs_have_an_upper_bound_that_can_be_lifted(golden: Path, tmp_path: Path, name: str, most: int) -> None:
    folder = copied(golden, name, tmp_path / "model")
    rewrite(folder / "config.json", max_position_embeddings=100_000)
    assert described(folder).max_tokens == most
    assert described(folder, "max_tokens=5000").max_tokens == 5000
    rewrite(folder / "tokenizer_config.json", model_max_length=100)
    assert described(folder).max_tokens == 100


def test_decoders_keep_the_precision_they_were_saved_in(opt: Path, bert: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    for folder in (opt, bert):
        tensors = load_file(folder / "model.safetensors")
        halved = {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()}
        save_file(halved, folder / "model.safetensors", {"format": "pt"})
    assert described(opt).precision == "bf16"
    assert described(opt, "dtype=fp32,template=prompteol").precision == "fp32"
    assert described(bert).precision == "fp32"


def test_the_licence_is_that_of_the_readme(bert: Path) -> None:
    assert described(bert).licence == ""
    (bert / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\nlicense: mine\n")
    assert described(bert).licence == "apache-2.0"


@pytest.mark.parametrize(
    ("stated", "languages"),
    [
        ("language: en", ("en",)),
        ("language:\n- de\n- en", ("de", "en")),
        ("language:\n  - zh-Hant\n  - 'ja'", ("zh", "ja")),
        ('language: ["fr", "it"]', ("fr", "it")),
        ("languages: [pt]", ("pt",)),
        ("language: multilingual", ()),
        ("language:\n- en\n- is", ()),  # Icelandic cannot be told from its neighbours, so nothing is unread
        ("tags:\n- en", ()),
    ],
)
def test_the_languages_are_those_of_the_model_card(bert: Path, stated: str, languages: tuple[str, ...]) -> None:
    before = described(bert)
    (bert / "README.md").write_text(f"---\n{stated}\nlicense: mit\ntags:\n- sentence-similarity\n---\n# A model\n")
    assert described(bert).languages == languages
    assert described(bert).fingerprint == before.fingerprint


# What tells one from another


def test_whatever_decides_a_vector_changes_the_fingerprint(bert: Path) -> None:
    fragments = ["mean", "cls", "cot-bert", "promptbert", "layer=1,template=mean", "dtype=bf16,template=mean",
                 "max_tokens=64,template=mean", "denoise=position,template=promptbert", "query: [X]"]  # fmt: skip
    prints = {fragment: described(bert, fragment).fingerprint for fragment in fragments}
    assert len(set(prints.values())) == len(fragments)
    assert described(bert, "mean").fingerprint == prints["mean"]
    content = bytearray((bert / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (bert / "model.safetensors").write_bytes(content)
    assert described(bert, "mean").fingerprint != prints["mean"]


def test_how_the_weights_are_run_is_part_of_the_fingerprint(bert: Path) -> None:
    rewrite(bert / "config.json", _name_or_path="here")
    before = described(bert, "cot-bert").fingerprint
    rewrite(bert / "config.json", _name_or_path="elsewhere", transformers_version="9.9", torch_dtype="float16")
    assert described(bert, "cot-bert").fingerprint == before  # who saved it, and when
    rewrite(bert / "config.json", num_hidden_layers=2)
    fewer = described(bert, "cot-bert").fingerprint
    rewrite(bert / "tokenizer_config.json", mask_token="[PAD]")
    assert len({before, fewer, described(bert, "cot-bert").fingerprint}) == 3
    rewrite(bert / "config.json", auto_map={"AutoModel": "mine.Mine"})
    (bert / "mine.py").write_text("one = 1")
    first = described(bert, "cot-bert", trust=True).fingerprint
    (bert / "mine.py").write_text("one = 2")
    assert described(bert, "cot-bert", trust=True).fingerprint != first


def test_weights_in_pieces_run_as_the_whole_does(bert: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    whole = Encoder.load(f"{bert}#cot-bert").encode(TEXTS)
    sharded(bert)
    encoder = Encoder.load(f"{bert}#cot-bert")
    assert np.allclose(encoder.encode(TEXTS), whole, atol=ROUNDING)
    second = next(bert.glob("*-00002-*"))
    content = bytearray(second.read_bytes())
    content[-1] ^= 1
    second.write_bytes(content)
    assert described(bert, "cot-bert").fingerprint != encoder.fingerprint
    second.unlink()
    with pytest.raises(NotFound, match=r"lacks model-00002-of-00002\.safetensors"):
        described(bert)


def test_a_large_file_is_hashed_once_as_long_as_it_stays(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []
    plain = safetensors_files.hashed
    monkeypatch.setattr(safetensors_files, "hashed", lambda path: hashed.append(path) or plain(path))
    file = bert / "model.safetensors"
    sha256 = partial(safetensors_files.sha256, large=1)
    first = sha256(file)
    assert sha256(file) == first and len(hashed) == 1
    file.write_bytes(file.read_bytes() + b"\0")
    assert sha256(file) != first and len(hashed) == 2
    time, content = file.stat().st_mtime_ns, file.read_bytes()
    file.write_bytes(content[:-1] + b"\1")
    os.utime(file, ns=(time, time))  # as archives do
    assert sha256(file) == plain(file) and len(hashed) == 3
    (user_cache.folder() / safetensors_files.CACHED).write_text("{broken")
    assert sha256(file) == plain(file)


def test_a_cache_that_cannot_be_written_is_done_without(bert: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert described(bert).fingerprint


# Tokenizers


@pytest.mark.parametrize("name", KINDS)
def test_ids_are_those_of_transformers(golden: Path, name: str) -> None:
    same_ids(golden / "models" / name)


def test_ids_of_a_real_vocabulary_are_those_of_transformers() -> None:
    same_ids(minilm())


def test_an_older_tokenizer_is_converted_once(opt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    whole = ours(tokenizer_files.read(opt), opt)
    without_tokenizer_json(opt)
    rewrite(opt / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer", add_bos_token=True)
    found = tokenizer_files.read(opt)
    assert ours(found, opt) == whole and all(row[0] == 2 for row in whole)  # </s> begins every text of OPT
    monkeypatch.setattr(tokenizer_files, "_converted", lambda *_: pytest.fail("converted twice"))
    assert tokenizer_files.read(opt) == found


def test_a_vocabulary_alone_is_a_tokenizer(bert: Path) -> None:
    pytest.importorskip("transformers")
    whole = ours(tokenizer_files.read(bert), bert)
    (bert / "tokenizer.json").unlink()
    found = tokenizer_files.read(bert)
    assert ours(found, bert) == whole
    assert found.tokens == {"mask": "[MASK]", "sep": "[SEP]", "cls": "[CLS]", "pad": "[PAD]"}
    before = found.sha256
    (bert / "vocab.txt").write_text((bert / "vocab.txt").read_text() + "new\n")
    assert tokenizer_files.read(bert).sha256 != before


def test_the_token_that_begins_a_text_is_there_where_it_was_asked_for(opt: Path) -> None:
    whole = ours(tokenizer_files.read(opt), opt)
    rewrite(opt / "tokenizer.json", post_processor=None)
    assert ours(tokenizer_files.read(opt), opt) == [
        row[1:] or [1] for row in whole
    ]  # one of padding where there is none
    rewrite(opt / "tokenizer_config.json", add_bos_token=True)
    assert ours(tokenizer_files.read(opt), opt) == whole


def test_a_tokenizer_that_cannot_be_converted_says_what_helps(golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = copied(golden, "tiny-llama", tmp_path / "llama")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(NotFound, match="has no tokenizer"):
        Encoder.load(folder)
    (folder / "tokenizer.model").write_bytes(b"no sentencepiece model")
    with pytest.raises(NotFound, match=r"cannot be converted.*tokenizer\.json") as caught:
        Encoder.load(folder)
    assert "\n" not in str(caught.value)


def test_special_tokens_are_found_without_their_configuration(golden: Path, tmp_path: Path) -> None:
    folder = copied(golden, "tiny-roberta", tmp_path / "roberta")
    (folder / "tokenizer_config.json").unlink()
    assert tokenizer_files.read(folder).tokens == {"mask": "<mask>", "sep": "</s>", "cls": "<s>", "pad": "<pad>"}


def same_ids(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert ours(tokenizer_files.read(folder), folder) == [theirs(text)["input_ids"] for text in TEXTS]


def ours(found: tokenizer_files.Vocabulary, folder: Path) -> list[list[int]]:
    return Tokenizer(folder / found.file, 128, found.tokens).ids(TEXTS, Prompt())


# sentence-transformers


def test_minilm_is_what_sentence_transformers_makes_of_it() -> None:
    st = pytest.importorskip("sentence_transformers")
    encoder = Encoder.load(minilm(), device="cpu")
    theirs = st.SentenceTransformer(str(minilm()), device="cpu").encode(TEXTS)
    assert error(encoder.encode(TEXTS), theirs) < ROUNDING
    assert (encoder.max_tokens, encoder.info["method"], encoder.info["licence"]) == (
        256, "sentence_transformer", "apache-2.0",
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken",
                                  ("mean", "max"), ("cls", "lasttoken", "mean")], ids=str)  # fmt: skip
def test_every_pooling_is_that_of_sentence_transformers(golden: Path, tmp_path: Path, mode: Any) -> None:
    pipeline(golden, tmp_path / "st", mode)
    same_vectors(tmp_path / "st")


@pytest.mark.parametrize("model", ["tiny-opt", "tiny-llama", "tiny-mistral"])
def test_a_pipeline_on_a_decoder_is_that_of_sentence_transformers(golden: Path, tmp_path: Path, model: str) -> None:
    pytest.importorskip("torch")
    folder = copied(golden, model, tmp_path / model)
    rewrite(folder / "tokenizer_config.json", pad_token="</s>")
    pipeline(tmp_path, tmp_path / "st", "lasttoken", model=model, prompts={"query": "ask : "})
    same_vectors(tmp_path / "st")


@pytest.mark.parametrize("tail", ["dense", "identity", "no bias", "norm", "all", "normalised first"])
def test_every_module_is_that_of_sentence_transformers(golden: Path, tmp_path: Path, tail: str) -> None:
    torch = pytest.importorskip("torch")
    m = pytest.importorskip("sentence_transformers.models")
    behind = {
        "dense": [m.Dense(32, 16)],
        "identity": [m.Dense(32, 48, activation_function=torch.nn.Identity())],
        "no bias": [m.Dense(32, 16, bias=False, activation_function=torch.nn.ReLU())],
        "norm": [m.LayerNorm(32)],
        "all": [m.Dense(32, 16), m.Dropout(0.5), m.LayerNorm(16), m.Dense(16, 8), m.Normalize()],
        "normalised first": [m.Normalize(), m.Dense(32, 16)],
    }[tail]
    pipeline(golden, tmp_path / "st", "mean", *behind)
    same_vectors(tmp_path / "st")


def test_prompts_lengths_and_case_are_those_of_the_folder(golden: Path, tmp_path: Path) -> None:
    prompts = {"query": "ask : ", "document": "said : "}
    pipeline(golden, tmp_path / "st", "mean", prompts=prompts, length=12)
    encoder = same_vectors(tmp_path / "st", [*TEXTS, "a long text " * 20])
    assert encoder.max_tokens == 12
    assert [encoder.info["prompts"][role][0] for role in ("query", "passage")] == ["ask : ", "said : "]


def test_a_prompt_can_be_left_out_of_the_pooling(golden: Path, tmp_path: Path) -> None:
    pipeline(golden, tmp_path / "st", "mean", prompts={"query": "a man : ", "document": "is it "})
    rewrite(tmp_path / "st" / "1_Pooling" / "config.json", include_prompt=False)
    same_vectors(tmp_path / "st")


def test_cased_texts_are_lowered_where_the_folder_says_so(golden: Path, tmp_path: Path) -> None:
    pipeline(golden, tmp_path / "st", "mean", model="tiny-roberta")
    plain = Encoder.load(tmp_path / "st").encode(["SOUP of the Day"])
    rewrite(tmp_path / "st" / "sentence_bert_config.json", do_lower_case=True)
    lowered = same_vectors(tmp_path / "st").encode(["SOUP of the Day", "soup of the day"])
    assert np.array_equal(lowered[0], lowered[1]) and not np.allclose(lowered[0], plain[0], atol=1e-3)


def test_the_switches_of_older_folders_are_understood(golden: Path, tmp_path: Path) -> None:
    pipeline(golden, tmp_path / "st", "mean")
    config = tmp_path / "st" / "1_Pooling" / "config.json"
    config.write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_cls_token": True,
                                  "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}))  # fmt: skip
    modules = tmp_path / "st" / "modules.json"
    older = json.loads(modules.read_text())
    for one in older:
        one["type"] = f"sentence_transformers.models.{one['type'].rpartition('.')[2]}"
    modules.write_text(json.dumps(older))
    assert same_vectors(tmp_path / "st").dim == 64


def test_a_model_in_a_folder_of_its_own_is_found(golden: Path, tmp_path: Path) -> None:
    m = pytest.importorskip("sentence_transformers.models")
    folder = pipeline(golden, tmp_path / "st", "mean", m.Dense(32, 16))
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in [*folder.glob("*.json"), folder / "model.safetensors", *folder.glob("*.txt")]:
        if file.name not in ("modules.json", "config_sentence_transformers.json"):
            file.rename(inner / file.name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    same_vectors(folder)
    assert Encoder.load(f"{folder}#cot-bert").dim == 32


def test_a_pipeline_runs_without_sentence_transformers(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline(golden, tmp_path / "st", "mean")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert Encoder.load(tmp_path / "st").encode(["soup"]).shape == (1, 32)


def test_a_template_takes_the_place_of_the_modules(golden: Path, tmp_path: Path, bert: Path) -> None:
    m = pytest.importorskip("sentence_transformers.models")
    pipeline(golden, tmp_path / "st", "mean", m.Dense(32, 16), length=320)
    ours = Encoder.load(tmp_path / "st", template="cot-bert").encode(TEXTS)
    assert np.allclose(ours, Encoder.load(bert, template="cot-bert").encode(TEXTS), atol=ROUNDING)


@pytest.mark.parametrize(
    ("type_", "named"),
    [
        ("sentence_transformers.models.LSTM", "LSTM"),
        ("sentence_transformers.sparse_encoder.models.SpladePooling", "SpladePooling"),
        ("mine.Pooling", r"mine\.Pooling"),
    ],
)
def test_an_unknown_module_is_refused_by_name(golden: Path, tmp_path: Path, type_: str, named: str) -> None:
    folder = pipeline(golden, tmp_path / "st", "mean")
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = type_
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UsageError, match=named):
        described(folder)
    assert described(folder, "mean").method == "mean"  # the model itself is fine


def test_a_module_cannot_lie_outside_of_its_folder(golden: Path, tmp_path: Path) -> None:
    folder = pipeline(golden, tmp_path / "st", "mean")
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../elsewhere"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UsageError, match="outside"):
        described(folder)


def test_the_modules_behind_a_model_are_part_of_its_fingerprint(golden: Path, tmp_path: Path) -> None:
    m = pytest.importorskip("sentence_transformers.models")
    folder = pipeline(golden, tmp_path / "st", "mean", m.Dense(32, 16))
    before = described(folder).fingerprint
    rewrite(folder / "2_Dense" / "config.json", activation_function="torch.nn.modules.linear.Identity")
    assert described(folder).fingerprint != before
    with pytest.raises(UsageError, match="layer cannot be chosen"):
        described(folder, "layer=1")
    rewrite(folder / "2_Dense" / "config.json", use_residual=True)
    with pytest.raises(UsageError, match="use_residual"):
        described(folder)


def pipeline(golden: Path, to: Path, mode: Any, *behind: Any, model: str = "tiny-bert", length: int = 64,
             prompts: dict[str, str] | None = None) -> Path:  # fmt: skip
    """A folder that sentence-transformers saved."""
    st = pytest.importorskip("sentence_transformers")
    m = pytest.importorskip("sentence_transformers.models")
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    here = golden / "models" / model
    transformer = m.Transformer(str(here if here.is_dir() else golden / model), max_seq_length=length)
    modules = [transformer, m.Pooling(32, mode), *behind]
    st.SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(to))
    return to


def same_vectors(folder: Path, texts: list[str] | None = None) -> Encoder:
    """Ours, once it is shown to be theirs."""
    st = pytest.importorskip("sentence_transformers")
    texts = texts or TEXTS
    encoder, theirs = Encoder.load(folder, device="cpu"), st.SentenceTransformer(str(folder), device="cpu")
    for ours, other in ((encoder.encode_query, theirs.encode_query), (encoder.encode_document, theirs.encode_document)):
        expected = np.asarray(other(texts), dtype=np.float32)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        assert error(ours(texts), expected) < ROUNDING
    return encoder


# What is refused


def test_a_folder_that_is_no_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is no model"):
        Encoder.load(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(Corrupt, match="is not a JSON object"):
        Encoder.load(tmp_path)


@pytest.mark.slow
def test_pickled_weights_are_refused_with_a_way_that_works(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    whole = Encoder.load(f"{bert}#cot-bert").encode(TEXTS)
    tensors = load_file(bert / "model.safetensors")
    tensors["tied"] = next(iter(tensors.values())).view(-1)  # memory that two tensors share
    torch.save(tensors, bert / "pytorch_model.bin")
    (bert / "model.safetensors").unlink()
    with pytest.raises(NotFound, match="pickled weights only") as caught:
        Encoder.load(bert)
    assert "\n" not in str(caught.value)
    command = caught.value.fix.removeprefix("In that folder, convert it: ")
    monkeypatch.chdir(bert)
    subprocess.run(command.replace("python", sys.executable, 1), shell=True, check=True)
    assert np.array_equal(Encoder.load(f"{bert}#cot-bert").encode(TEXTS), whole)


@pytest.mark.parametrize("name", ["model.ckpt", "weights.pt", "pytorch_model-00001-of-00002.bin"])
def test_other_pickled_files_are_named(bert: Path, name: str) -> None:
    pickled(bert)
    (bert / "pytorch_model.bin").rename(bert / name)
    with pytest.raises(NotFound, match=name):
        Encoder.load(bert)


def test_an_adapter_and_nothing_at_all_are_told_apart(bert: Path) -> None:
    (bert / "model.safetensors").unlink()
    with pytest.raises(NotFound, match="has no weights"):
        Encoder.load(bert)
    (bert / "adapter_config.json").write_text("{}")
    with pytest.raises(NotFound, match="adapter"):
        Encoder.load(bert)


@pytest.mark.parametrize("damage", ["short", "long", "header", "nothing", "text"])
def test_damaged_weights_are_corrupt(bert: Path, damage: str) -> None:
    file = bert / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes({"short": content[:-100], "long": content + b"\0", "header": b"\xff" * 8 + content[8:],
                      "nothing": b"", "text": b"version https://git-lfs"}[damage])  # fmt: skip
    with pytest.raises(Corrupt, match=r"model\.safetensors") as caught:
        Encoder.load(bert)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "template", "said"),
    [
        ("tiny-opt", "promptbert", r"decoder, which reads none"),
        ("tiny-llama", '"[X]" means [MASK].', r"decoder, which reads none"),
        ("tiny-llama", "cls", r"is for encoders"),
        ("tiny-bert", "prompteol", r"is an encoder"),
        ("tiny-roberta", "pretended-cot", r"is an encoder"),
        ("tiny-bert", "head=sideways,template=cls", r"head cannot be"),
        ("tiny-bert", "warmth=3,template=mean", r"no option of method mean is called 'warmth'"),
        ("tiny-bert", "layer=7,template=mean", r"there is no layer 7"),
        ("tiny-bert", "dtype=nf4,template=mean", r"nf4 is for decoders"),
        ("tiny-bert", "dtype=int8,template=mean", r"int8 is for exported"),
        ("tiny-bert", "cot-bret", r"no template is called 'cot-bret'"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(golden: Path, name: str, template: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Encoder.load(f"{golden / 'models' / name}#{template}")
    assert caught.value.exit_code == 2 and caught.value.fix


def test_a_tokenizer_without_a_mask_is_refused_under_a_mask_template(bert: Path) -> None:
    content = json.loads((bert / "tokenizer.json").read_text())
    content["added_tokens"] = [one for one in content["added_tokens"] if one["content"] != "[MASK]"]
    (bert / "tokenizer.json").write_text(json.dumps(content))
    rewrite(bert / "tokenizer_config.json", mask_token=None)
    with pytest.raises(UsageError, match="has no such token"):
        Encoder.load(bert, template="promptbert")


def test_code_that_comes_with_a_model_is_not_run(bert: Path, tmp_path: Path) -> None:
    rewrite(bert / "config.json", auto_map={"AutoModel": "modeling_mine.Mine"})
    (bert / "modeling_mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for name in (str(bert), f"{bert}#mean"):
        with pytest.raises(UsageError, match="trust_remote_code=True"):
            Encoder.load(name)
    for name in (f"{bert}#trust_remote_code=true", f"{bert}#trust=true,template=mean"):  # a name cannot allow it
        with pytest.raises(SemsearchError):
            Encoder.load(name)
    assert not (tmp_path / "ran").exists()
    assert described(bert, trust=True).method == "mean"


def test_code_beside_a_saved_encoder_is_not_run_either(bert: Path, tmp_path: Path) -> None:
    saved = bundles.write(described(bert, "mean"), bert)
    assert Encoder.load(bert).fingerprint == saved.fingerprint
    rewrite(bert / "config.json", model_type="mine", auto_map={"AutoConfig": "configuration_mine.Mine"})
    (bert / "configuration_mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(UsageError, match="trust_remote_code=True"):
        Encoder.load(bert)
    assert not (tmp_path / "ran").exists()


def test_a_backend_that_cannot_run_it_is_refused(bert: Path) -> None:
    with pytest.raises(UsageError, match=r"semsearch\.export"):
        Encoder.load(bert, backend="onnx")
    with pytest.raises(UsageError, match="torch does not run"):
        Encoder.load("minilm", backend="torch")
    assert Encoder.load("minilm", backend="onnx").fingerprint == "7777f0d092591066"


@pytest.mark.parametrize("option", [{"template": "mean"}, {"layer": -2}, {"dtype": "fp32"}])
def test_an_exported_encoder_has_its_template_built_in(option: dict[str, Any]) -> None:
    for name in ("default", "hashing"):
        with pytest.raises(UsageError, match=f"{next(iter(option))} cannot be chosen"):
            Encoder.load(name, **option)
    assert Encoder.load("minilm", dtype="int8").dim == 384  # what it is anyhow


def test_without_torch_the_extra_is_named(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "semsearch.encoders.torch_backend", raising=False)  # to be imported anew
    with pytest.raises(MissingExtra, match=r"\[train\]'"):
        Encoder.load(bert)


# Strength


def test_a_model_without_a_background_is_asked_once_and_only_on_request(bert: Path) -> None:
    pytest.importorskip("torch")
    encoder = Encoder.load(bert, template="mean")
    encoder.encode(TEXTS)
    assert not (user_cache.folder() / "backgrounds").exists()
    background = encoder.background
    assert len(background) == 1001 and list(background) == sorted(background)
    (file,) = (user_cache.folder() / "backgrounds").iterdir()
    assert encoder.fingerprint in file.name
    file.write_text(json.dumps([0.25] * 1001))
    assert Encoder.load(bert, template="mean").background == (0.25,) * 1001
    file.write_text("broken")
    assert encoder.background == background
    assert Encoder.load("hashing").background == ()  # an index measures its own


def test_a_configuration_that_does_not_fit_the_weights_says_where(golden: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(golden / "models" / "tiny-bert", tmp_path / "bert"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 48}))
    with pytest.raises(NotFound, match=r"has shape \(\d+.*in the weights and \(\d+"):
        Encoder.load(folder, template="mean", device="cpu")
