"""From a folder of safetensors to a network, through transformers. Nothing pickled is read, no code of the folder runs.

`trust_remote_code` stays off unless a caller says otherwise for this very call.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.models.networks import parts
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.types import JsonObject

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
POOLER = "pooler"
HEADS = ("transform", "decoder", "pooler", "prompt")  # what `needs` may name beside folders of modules


def masked(
    folder: Path, *, needs: Collection[str] = (), precision: str = "fp32", device: str = "cpu", trust: bool = False
) -> MaskedNetwork:
    """The encoder in `folder`, in evaluation mode. `needs` names the parts of its checkpoint that are wanted.

    Raises UsageError where the checkpoint has no such head, NotFound where there is no model.
    """
    spare = () if POOLER in needs else (POOLER,)
    if "transform" in needs or "decoder" in needs:
        whole = load_pretrained(transformers.AutoModelForMaskedLM, home(folder), precision, trust=trust)
        heads = _language_head(whole, needs)
        model = whole.base_model
    else:
        whole = model = load_pretrained(transformers.AutoModel, home(folder), precision, trust=trust, spare=spare)
        heads = {}
    if POOLER in needs:
        heads[POOLER] = _pooler(model, folder)
    if hasattr(model, POOLER):
        model.pooler = nn.Identity()  # what it gives is not read; not every model does without
    prompt = parts.prompt(folder, DTYPES[precision]) if "prompt" in needs else None
    then = {name: parts.module(folder / name, DTYPES[precision]) for name in needs if name not in HEADS}
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
    model = load_pretrained(transformers.AutoModel, home(folder), computed, trust=trust, **options)
    then = {name: parts.module(folder / name, DTYPES[computed]).to(device) for name in needs}
    network = CausalNetwork(model, then=then).train(False)
    return network if options else network.to(device)


def architecture(folder: Path, *, trust: bool = False) -> tuple[str, bool]:
    """The model type of `folder`, and whether it is a decoder: trained on what comes next, with nothing to fill in."""
    try:
        config = transformers.AutoConfig.from_pretrained(home(folder), trust_remote_code=trust)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise NotFound(f"{folder} cannot be loaded as a model: {reason}", "Check the folder's files.") from error
    kind = type(config)
    decodes = kind in transformers.MODEL_FOR_CAUSAL_LM_MAPPING and kind not in transformers.MODEL_FOR_MASKED_LM_MAPPING
    return str(config.model_type), decodes or bool(getattr(config, "is_decoder", False))


def home(folder: Path) -> Path:
    """Where the model itself lies: old sentence-transformers folders have a folder for it."""
    inner = [] if (folder / "config.json").is_file() else sorted(folder.glob("0_*/config.json"))
    return inner[0].parent if inner else folder


def _four_bit(device: str) -> JsonObject:
    """Weights as the authors quantise them: nf4, twice, computed with in fp32."""
    for package in ("bitsandbytes", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise SemsearchError(
                f"4-bit weights (nf4) need the package {package}, which is not installed.",
                "pip install bitsandbytes accelerate, or use --dtype bf16.",
            )
    told = transformers.BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.float32,
    )
    return {"quantization_config": told, "device_map": {"": device}}


def load_pretrained(
    kind: Any, folder: Path, precision: str, *, trust: bool = False, spare: Collection[str] = (), **options: Any
) -> Any:
    """`kind.from_pretrained(folder)` with safetensors only, quietly, with an error that says what to do.

    A part of the model that the checkpoint lacks would be random: that is refused too, unless it is one of `spare`.
    """
    if (dtype := DTYPES.get(precision)) is None:
        raise UsageError(
            f"{folder} cannot run as {precision}.", f"Choose from: {', '.join(DTYPES)}; nf4 is for decoders alone."
        )
    with quiet():
        try:
            model, told = kind.from_pretrained(
                folder,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=trust,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # told below, in one line
                **options,
            )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise NotFound(f"{folder} cannot be loaded as a model: {reason}", "Check the folder's files.") from error
    if wrong := sorted(told["mismatched_keys"]):
        name, saved, wanted = wrong[0]
        raise NotFound(
            f"{folder}: {name} is saved as {tuple(saved)}, and config.json makes it {tuple(wanted)}.",
            "Use the config.json that belongs to these weights.",
        )
    known = [name for name in told["missing_keys"] if not name.endswith("position_ids")]
    missing = [name for name in known if name.partition(".")[0] not in spare]
    if missing:
        raise SemsearchError(
            f"{folder} lacks {len(missing)} parts of the model, {sorted(missing)[0]} among them: they would be random.",
            "Use the whole checkpoint, or a method that does without them.",
        )
    return model


def _pooler(model: Any, folder: Path) -> nn.Module:
    """Linear and Tanh on the first token, as the checkpoint has them."""
    pooler: Any = getattr(model, POOLER, None)
    if hasattr(pooler, "dense") and hasattr(pooler, "activation"):
        return nn.Sequential(pooler.dense, pooler.activation)
    if isinstance(pooler, nn.Linear):  # ALBERT
        return nn.Sequential(pooler, model.pooler_activation)
    raise UsageError(f"{folder} has no pooler.", "Use a checkpoint that was trained with one.")


def _language_head(whole: Any, needs: Collection[str]) -> dict[str, nn.Module]:
    """The halves of a masked-language-model head: dense, activation and norm; then the scores of all tokens."""
    if hasattr(whole, "cls"):
        transform, decoder = whole.cls.predictions.transform, whole.cls.predictions.decoder
    elif hasattr(getattr(whole, "lm_head", None), "dense"):
        transform = nn.Sequential(whole.lm_head.dense, nn.GELU(), whole.lm_head.layer_norm)
        decoder = whole.lm_head.decoder
    else:
        raise UsageError(f"{type(whole).__name__} has no head that is taken apart here.", "Use a BERT or a RoBERTa.")
    return {name: part for name, part in (("transform", transform), ("decoder", decoder)) if name in needs}


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and reports of transformers; what matters of them is raised."""
    verbosity = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity(logging.ERROR)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()  # type: ignore[no-untyped-call]
