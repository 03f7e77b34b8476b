"""Descriptions of Hugging Face and sentence-transformers folders, from their configuration alone: no torch, no weights.

`describe` returns the bundle that the folder would be saved as: method and prompts of the requested template, else of
its modules.json, else mean pooling (PromptEOL for a decoder); lengths, tokens, and the hashes that identify it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from semsearch.errors import MissingExtra, NotFound, UsageError
from semsearch.models import methods, model_card, safetensors_files, st_config, tokenizer_files
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.models.st_config import Pipeline
from semsearch.models.tokenizer_files import Vocabulary
from semsearch.prompts import library
from semsearch.prompts.library import Template
from semsearch.types import JsonObject
from semsearch.utils.file_contents import read_object

CONFIG = "config.json"
MAX_TOKENS = {False: 512, True: 2048}  # default longest input in tokens, of an encoder and of a decoder
OFFSET = ("roberta", "xlm-roberta", "camembert", "mpnet", "data2vec-text", "longformer", "xlm-roberta-xl")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "max_sequence_length")
ENCODERS = """albert bert camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie eurobert
    longformer luke megatron-bert mobilebert modernbert mpnet nomic_bert nystromformer rembert roberta
    roberta-prelayernorm roformer squeezebert xlm-roberta xlm-roberta-xl xmod"""
DECODERS = """bloom codegen cohere cohere2 falcon gemma gemma2 gemma3_text gpt2 gpt_bigcode gpt_neo gpt_neox gptj
    granite llama ministral mistral mixtral mpt olmo olmo2 opt persimmon phi phi3 qwen2 qwen2_moe qwen3 qwen3_moe
    smollm3 stablelm starcoder2 xglm"""
GRAPHS = ("model", "model_quantized", "model_int8", "model_uint8", "model_quint8_avx2", "model_fp16", "model_q4")
BESIDE = ("_data", ".data")  # ends of the names of files with the weights of a large graph
NEUTRAL = """architectures auto_map dtype finetuning_task gradient_checkpointing id2label label2id output_past
    problem_type task_specific_params tokenizer_class torch_dtype transformers_version use_cache"""  # of a config.json
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """`folder` is that of the model itself, `below` its path relative to the pipeline; `causal`: it is a decoder."""

    folder: Path
    below: str
    config: JsonObject
    causal: bool

    @property
    def kind(self) -> str:
        return str(self.config.get("model_type") or "unknown model type")


def check_complete(folder: Path) -> None:
    """Raises NotFound if a file that every model needs is missing, Corrupt if one is truncated."""
    inner = folder / st_config.transformer(folder)
    if not graph_alone(folder):
        safetensors_files.find(inner)
    lacking = [path for path in (inner / CONFIG, *st_config.configs(folder)) if not path.is_file()]
    if not lacking and not tokenizer_files.there(inner):
        lacking = [inner / tokenizer_files.WHOLE]
    if lacking:
        raise NotFound(f"{folder} lacks {lacking[0].relative_to(folder)}.", "Copy the whole model.")


def graph(files: Iterable[str]) -> str:
    """The ONNX graph to run among the files of a repository, as paths below it; "" for none.

    That in full precision comes first: quantised ones are made for one processor or another.

    >>> graph(["config.json", "onnx/model_quantized.onnx", "onnx/model.onnx"])
    'onnx/model.onnx'
    """
    graphs = [file for file in files if re.fullmatch(r"(?:onnx/)?model\w*\.onnx", file)]
    order = {name: at for at, name in enumerate(GRAPHS)}
    return min(graphs, key=lambda each: (order.get(PurePosixPath(each).stem, len(order)), each), default="")


def parts(file: str) -> list[str]:
    """A graph and the names of what may lie beside it."""
    return [file, *(f"{file}{end}" for end in BESIDE)]


def graph_alone(folder: Path) -> str:
    """The ONNX graph in a folder that has no safetensors; "" for none."""
    if not (folder / CONFIG).is_file() or any(folder.rglob("*.safetensors")):
        return ""
    return graph(each.relative_to(folder).as_posix() for each in (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")))


def describe(folder: Path, reference: Reference, *, name: str = "", source: str = "", trust: bool = False) -> Bundle:
    """The bundle of `folder` under `reference`, with its fingerprint; `dim` is 0 until the model has run.

    Raises NotFound if a file is missing, UsageError if template, options and model are incompatible.
    """
    model = read_model(folder, trust=trust)
    pipeline = st_config.read(folder) if st_config.is_pipeline(folder) and not reference.template else None
    weights = safetensors_files.find(model.folder)
    sizes = st_config.sizes(model.folder) if st_config.is_pipeline(folder) else {}
    words = tokenizer_files.read(model.folder, lower=bool(sizes.get("do_lower_case")), trust=trust)
    base = Bundle(
        name=name or folder.resolve().name,
        method="sentence_transformer",
        dim=0,
        max_tokens=longest(model, words, reference.max_tokens, sizes.get("max_seq_length") if pipeline else None),
        precision=_precision(model, weights, reference),
        pooling="",
        layer=-1,
        normalize=True,
        prompts=pipeline.prompts if pipeline else {},
        weights=str(PurePosixPath(model.below, weights)),
        weights_sha256="",
        tokenizer=str(PurePosixPath(model.below, words.file)),
        tokenizer_sha256=words.sha256,
        licence=model_card.licence(folder),
        source=source,
        tokens=words.tokens,
        languages=model_card.languages(folder),
        config_sha256=config_hash(model),
        folder=folder.resolve(),
    )
    complete = _piped(base, pipeline, reference) if pipeline else _prompted(base, model, reference)
    others = pipeline.hashes if pipeline else safetensors_files.of_prompt(base.folder, complete.method)
    sha256 = safetensors_files.combine_hashes([safetensors_files.identity(model.folder / weights), *others])
    return replace(complete, weights_sha256=sha256).with_fingerprint().truncate(reference.dim)


def with_template(folder: Path, reference: Reference, *, trust: bool = False) -> Reference:
    """`reference` with the default template if it names none."""
    if reference.template or st_config.is_pipeline(folder):
        return reference
    return replace(reference, template="prompteol" if read_model(folder, trust=trust).causal else "mean")


def is_causal(folder: Path, *, trust: bool = False) -> bool:
    """Whether the model in `folder` is a decoder. Raises NotFound if there is no model, UsageError if it needs code."""
    return read_model(folder, trust=trust).causal


def read_model(folder: Path, *, trust: bool = False) -> ModelConfig:
    """The configuration of the model in `folder`. Raises NotFound, UsageError if it needs code or is not supported."""
    below = st_config.transformer(folder)
    inner = folder / below
    config = read_object(inner / CONFIG)
    if not config:
        raise NotFound(
            f"{folder} is no model: it has neither encoder.json nor {CONFIG}.",
            "Name the folder of an exported encoder or of a Hugging Face model.",
        )
    if config.get("auto_map") and not trust:
        raise UsageError(
            f"{folder} contains code of its own ({CONFIG}: auto_map), which is not run.",
            "If you trust its author, use trust_remote_code=True.",
            "If you trust its author, use --trust-remote-code.",
        )
    if config.get("is_encoder_decoder") or config.get("model_type") == "funnel":
        raise UsageError(
            f"{folder} is not supported: {config.get('model_type')} is an encoder-decoder or shortens its sequence.",
            "Use an encoder such as BERT, or a decoder such as OPT.",
        )
    return ModelConfig(inner, below, config, _decodes(inner, config, trust))


def _decodes(folder: Path, config: JsonObject, trust: bool) -> bool:
    """Whether it is a decoder; for model types that are not listed here transformers decides."""
    kind = config.get("model_type")
    if kind in ENCODERS.split():
        return bool(config.get("is_decoder"))
    if kind in DECODERS.split():
        return True
    try:
        from semsearch.models.networks import loading
    except ImportError as error:
        raise MissingExtra(f"the model {folder} ({kind})", "train", error.name or "transformers") from error
    return loading.architecture(folder, trust=trust)[1]


def _prompted(base: Bundle, model: ModelConfig, reference: Reference) -> Bundle:
    """`base` under the template that `reference` names, or the default one."""
    template = library.resolve(reference.template or ("prompteol" if model.causal else "mean"), causal=model.causal)
    methods.check_name(template.method)
    _check_template(template, base, model)
    options = {**template.options, **reference.options}
    if reference.layer is not None:
        options["layer"] = reference.layer
    layer = int(options.get("layer", -1))
    return replace(base, method=template.method, prompts=template.prompts, options=options, layer=layer)


def _piped(base: Bundle, pipeline: Pipeline, reference: Reference) -> Bundle:
    for option in (*(["layer"] if reference.layer is not None else []), *reference.options):
        raise UsageError(
            f"{base.name} defines its own pooling (modules.json), so {option} cannot be chosen.",
            f"Name a template: {base.name}#mean",
        )
    return replace(base, options=pipeline.options)


def _check_template(template: Template, base: Bundle, model: ModelConfig) -> None:
    """UsageError if the template does not fit the model; a warning if it was made for another kind of encoder."""
    label = f"the template {template.name or template.text['passage']!r}"
    if template.masks and model.causal:
        raise UsageError(
            f"{label} has a [MASK], and {base.name} ({model.kind}) is a decoder, which reads none.",
            "Use the template prompteol, pretended-cot or knowledge-enhancement.",
            "Use --template prompteol, pretended-cot or knowledge-enhancement.",
        )
    if template.masks and "mask" not in base.tokens:
        raise UsageError(
            f"{label} has a [MASK], and the tokenizer of {base.name} has no such token.",
            "Use the template mean, or a model trained with masked tokens (BERT, RoBERTa).",
            "Use --template mean, or a model trained with masked tokens (BERT, RoBERTa).",
        )
    kinds = set(template.kinds)
    kind = "any" if "any" in kinds or {"causal"} < kinds else "causal" if "causal" in kinds else "masked"
    methods.check_architecture(label, kind, base.name, model.kind, causal=model.causal)
    families = {"bert", "roberta"}
    if model.kind in families and families & kinds and model.kind not in kinds:
        LOG.warning("%s is not for %s, and %s is one.", label, model.kind, base.name)


def longest(model: ModelConfig, words: Vocabulary, requested: int | None = None, configured: int | None = None) -> int:
    """The longest input in tokens. Raises UsageError if more are `requested` than the model has positions."""
    inner = model.config.get("text_config") or {}
    places = next((int(each[key]) for each in (model.config, inner) for key in POSITIONS if each.get(key)), None)
    if places and model.kind in OFFSET:
        places -= int(model.config.get("pad_token_id") or 1) + 1  # rows up to the padding's are not positions
    if requested and places and requested > places:
        raise UsageError(
            f"max_tokens is {requested}, and {model.folder} has {places} positions.", "Choose a smaller max_tokens."
        )
    limits = (places, words.longest, configured or MAX_TOKENS[model.causal])
    return requested or min(int(each) for each in limits if each)


def _precision(model: ModelConfig, weights: str, reference: Reference) -> str:
    """The requested precision; else fp32 for encoders, and the saved precision for decoders, which are large."""
    if reference.dtype == "int8":
        raise UsageError(
            "int8 is for exported encoders.",
            "Export it with semsearch.export.",
            "Export it: semsearch export MODEL -o DIR --dtype int8",
        )
    if reference.dtype == "nf4" and not model.causal:
        raise UsageError(f"nf4 is for decoders, and {model.folder} is an encoder.", "Use fp32, bf16 or fp16.")
    return reference.dtype or (safetensors_files.precision(model.folder, weights) if model.causal else "fp32")


def config_hash(model: ModelConfig) -> str:
    """The hash of all that decides how the weights are run: the configuration, and the code in the folder."""
    settings = {key: value for key, value in model.config.items() if key not in NEUTRAL.split() and key[0] != "_"}
    code = sorted(model.folder.glob("*.py")) if "auto_map" in model.config else []
    content = json.dumps([settings, [safetensors_files.sha256(each) for each in code]], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
