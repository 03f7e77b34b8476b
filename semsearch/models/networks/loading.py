"""Networks loaded from folders of safetensors, through transformers. No pickle is read, and no code in the folder runs
unless the caller sets `trust` for that call.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from semsearch.errors import NotFound, SemsearchError, UsageError, pip
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.safetensors_files import PROMPT, WHOLE
from semsearch.models.st_config import transformer
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils.file_contents import read_object

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
POOLER = "pooler"
ACTIVATIONS = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU, "GELU": nn.GELU, "SiLU": nn.SiLU}
HEADS = ("transform", "decoder", "pooler", "prompt")  # parts in `needs` that are not folders of modules


def masked(
    folder: Path, *, needs: Collection[str] = (), precision: str = "fp32", device: str = "cpu", trust: bool = False
) -> MaskedNetwork:
    """The encoder in `folder`, in evaluation mode. `needs` names the required parts of its checkpoint.

    Raises UsageError if the checkpoint has no such head, NotFound if there is no model.
    """
    heads: dict[str, nn.Module] = {}
    if "transform" in needs or "decoder" in needs:
        load = transformers.AutoModelForMaskedLM.from_pretrained
        whole = load_pretrained(load, folder, precision, trust=trust)
        heads, model = _language_head(whole, needs), whole.base_model
    else:
        spare = () if POOLER in needs else (POOLER,)
        load = transformers.AutoModel.from_pretrained
        whole = model = load_pretrained(load, folder, precision, trust=trust, spare=spare)
    if POOLER in needs:
        heads[POOLER] = _pooler(model, folder)
    if hasattr(model, POOLER):
        model.pooler = nn.Identity()  # its output is not used, but some models need one to run
    prompt = _prompt(folder, DTYPES[precision]) if "prompt" in needs else None
    then = {name: _module(folder / name, DTYPES[precision]) for name in needs if name not in HEADS}
    network = MaskedNetwork(model, **heads, prompt=prompt, then=then)
    network.whole = (whole,)
    return network.to(device).train(False)


def causal(
    folder: Path, *, needs: Collection[str] = (), precision: str = "fp32", device: str = "cpu", trust: bool = False
) -> CausalNetwork:
    """The decoder in `folder` without its head, in evaluation mode; "nf4" is 4-bit, through bitsandbytes.

    `needs` names folders of modules. Raises UsageError, NotFound, and SemsearchError without bitsandbytes.
    """
    for name in set(needs) & set(HEADS):
        raise UsageError(f"{folder} is a decoder, and has no {name}.", "Use a method for decoders, such as prompteol.")
    options = _four_bit(device) if precision == "nf4" else {}
    computed = "fp32" if precision == "nf4" else precision
    load = transformers.AutoModel.from_pretrained
    model = load_pretrained(load, folder, computed, trust=trust, **options)
    then = {name: _module(folder / name, DTYPES[computed]).to(device) for name in needs}
    network = CausalNetwork(model, then=then).train(False)
    return network if options else network.to(device)


def architecture(folder: Path, *, trust: bool = False) -> tuple[str, bool]:
    """The model type of `folder`, and whether it is a decoder: a causal language model and no masked one."""
    try:
        config = transformers.AutoConfig.from_pretrained(folder / transformer(folder), trust_remote_code=trust)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(folder, error) from error
    kind = type(config)
    decodes = kind in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and kind not in transformers.MODEL_FOR_MASKED_LM_MAPPING
    return str(config.model_type), decodes or bool(getattr(config, "is_decoder", False))


def _four_bit(device: str) -> JsonObject:
    """Double nf4 quantisation with computation in fp32, as in the papers' code."""
    for package in ("bitsandbytes", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise SemsearchError(
                f"4-bit weights (nf4) need the package {package}, which is not installed.",
                f"Install it: {pip('install')} bitsandbytes accelerate; or use bf16.",
            )
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.float32,
    )
    return {"quantization_config": config, "device_map": {"": device}}


def load_pretrained(
    load: Callable[..., tuple[PreTrainedModel, JsonMapping]],
    folder: Path,
    precision: str,
    *,
    trust: bool = False,
    spare: Collection[str] = (),
    **options: object,
) -> PreTrainedModel:
    """The model that `load`, a `from_pretrained` method, reads from `folder`: safetensors only, no progress bars.

    Raises NotFound if it cannot be loaded, and SemsearchError if the checkpoint lacks a part of the model that is not
    in `spare`, since that part would be random.
    """
    if (dtype := DTYPES.get(precision)) is None:
        raise UsageError(
            f"{folder} cannot run as {precision}.", f"Choose from: {', '.join(DTYPES)}; nf4 is for decoders only."
        )
    with quiet():
        try:
            model, report = load(
                folder / transformer(folder),
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=trust,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, in one line
                **options,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError) as error:
            raise _unreadable(folder, error) from error
    if wrong := sorted(report["mismatched_keys"]):
        name, saved, expected = wrong[0]
        raise NotFound(
            f"{folder}: {name} has shape {tuple(saved)} in the weights and {tuple(expected)} by config.json.",
            "Use the config.json that belongs to these weights.",
        )
    absent = [name for name in report["missing_keys"] if not name.endswith("position_ids")]
    missing = [name for name in absent if name.partition(".")[0] not in spare]
    if missing:
        raise SemsearchError(
            f"{folder} lacks {len(missing)} parts of the model, {min(missing)} among them: they would be random.",
            "Use the whole checkpoint, or a method that does without them.",
        )
    loaded: PreTrainedModel = model
    return loaded


def _pooler(model: nn.Module, folder: Path) -> nn.Module:
    """The checkpoint's Linear and Tanh on the first token."""
    pooler: Any = getattr(model, POOLER, None)
    if hasattr(pooler, "dense") and hasattr(pooler, "activation"):
        return nn.Sequential(pooler.dense, pooler.activation)
    if isinstance(pooler, nn.Linear):  # ALBERT
        return nn.Sequential(pooler, model.get_submodule("pooler_activation"))
    raise UsageError(f"{folder} has no pooler.", "Use a checkpoint that was trained with one.")


def _language_head(whole: Any, needs: Collection[str]) -> dict[str, nn.Module]:
    """The halves of a masked-language-model head: dense, activation and norm; then the scores of all tokens."""
    if hasattr(whole, "cls"):
        transform, decoder = whole.cls.predictions.transform, whole.cls.predictions.decoder
    elif hasattr(getattr(whole, "lm_head", None), "dense"):
        transform = nn.Sequential(whole.lm_head.dense, nn.GELU(), whole.lm_head.layer_norm)
        decoder = whole.lm_head.decoder
    else:
        raise UsageError(
            f"{type(whole).__name__} has no supported masked-language-model head.", "Use a BERT or a RoBERTa."
        )
    return {name: part for name, part in (("transform", transform), ("decoder", decoder)) if name in needs}


def _prompt(folder: Path, dtype: torch.dtype) -> Tensor:
    """The learned vectors (p, h) of `folder`. Raises NotFound."""
    try:
        return load_file(folder / PROMPT)["vectors"].to(dtype)
    except (OSError, KeyError) as error:
        raise NotFound(f"{folder} has no learned prompt ({PROMPT}).", "Train one: the method optiprompt.") from error


def _module(folder: Path, dtype: torch.dtype) -> nn.Module:
    """The module saved in `folder`: a dense layer or a layer norm.

    Raises NotFound if a file is missing, SemsearchError for another kind of module.
    """
    for name in ("config.json", WHOLE):
        if not (folder / name).is_file():
            raise NotFound(
                f"the module {folder} lacks {name}.",
                "A folder with pickled weights (pytorch_model.bin) has to be saved again with safetensors.",
            )
    config, weights = read_object(folder / "config.json"), load_file(folder / WHOLE)
    if "dimension" in config:
        made, name = nn.Sequential(nn.LayerNorm(config["dimension"])), "norm"
    else:
        activation = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
        if activation not in ACTIVATIONS:
            choices = ", ".join(ACTIVATIONS)
            raise SemsearchError(f"the module {folder} has the activation {activation}.", f"Known are {choices}.")
        linear = nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True))
        made, name = nn.Sequential(linear, ACTIVATIONS[activation]()), "linear"
    made.load_state_dict({re.sub(rf"^{name}\.", "0.", key): value for key, value in weights.items()})
    return made.to(dtype)


def convert_tokenizer(folder: Path, *, trust: bool = False) -> str:
    """The tokenizer.json of the vocabulary files in `folder`. Raises NotFound if they cannot be converted."""
    load = transformers.AutoTokenizer.from_pretrained
    try:
        with quiet():
            text: str = load(folder, local_files_only=True, trust_remote_code=trust).backend_tokenizer.to_str()
    except Exception as error:  # a missing package, a broken file, an unknown kind: each has its own class
        raise NotFound(
            f"the tokenizer of {folder} cannot be converted: {_first_line(error)}",
            f"Add its tokenizer.json; a sentencepiece model needs: {pip('install')} sentencepiece protobuf",
        ) from error
    return text


def _unreadable(folder: Path, error: Exception) -> NotFound:
    return NotFound(f"{folder} cannot be loaded as a model: {_first_line(error)}", "Check the folder's files.")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@contextmanager
def quiet() -> Iterator[None]:
    """Disable the progress bars and reports of transformers; errors are raised all the same."""
    verbosity = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.ERROR)
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()
