"""ONNX repositories of the hub, as they are: a graph in onnx/ beside the tokenizer and the pipeline's configuration.

They run without PyTorch. The graph gives vectors of tokens, which are pooled after it as modules.json says, by their
mean without one; or it gives those of texts. Left out: dense layers after the pooling, and templates, which need the
weights themselves.
"""

from __future__ import annotations

from pathlib import Path

from semsearch.errors import UsageError
from semsearch.models import hf_config, model_card, safetensors_files, st_config, tokenizer_files
from semsearch.models.bundle import GRAPH, Bundle
from semsearch.models.model_ref import Reference
from semsearch.prompts import Prompt
from semsearch.types import JsonObject
from semsearch.utils.file_contents import read_object

QUANTISED = ("int8", "quant")
POOLINGS = ("mean", "cls", "max", "lasttoken")


def describe(folder: Path, reference: Reference, *, name: str = "", source: str = "") -> Bundle:
    """The bundle of the graph in `folder`; `dim` is 0 until it has run. Raises UsageError, NotFound, Corrupt."""
    file = hf_config.graph_alone(folder)
    hf_config.check_complete(folder)
    _check(reference, folder)
    pipeline = st_config.read(folder) if st_config.is_pipeline(folder) else None
    options: JsonObject = dict(pipeline.options) if pipeline else {"pooling": ("mean",), "then": ()}
    _check_options(options, folder)
    sizes = st_config.sizes(folder) if pipeline else {}
    words = tokenizer_files.read(folder, lower=bool(sizes.get("do_lower_case")))
    beside = (each for each in hf_config.parts(file)[1:] if (folder / each).is_file())
    data = {each: safetensors_files.sha256(folder / each) for each in beside}
    model = hf_config.ModelConfig(folder, "", read_object(folder / hf_config.CONFIG), causal=False)
    bundle = Bundle(
        name=name or folder.resolve().name,
        method=GRAPH,
        dim=0,
        max_tokens=hf_config.longest(model, words, reference.max_tokens, sizes.get("max_seq_length")),
        precision="int8" if any(each in file for each in QUANTISED) else "fp32",
        pooling=options["pooling"][0],
        layer=-1,
        normalize=True,
        prompts=pipeline.prompts if pipeline else {"query": Prompt(), "passage": Prompt()},
        weights=file,
        weights_sha256=safetensors_files.sha256(folder / file),
        tokenizer=words.file,
        tokenizer_sha256=words.sha256,
        licence=model_card.licence(folder),
        source=source,
        tokens=words.tokens,
        languages=model_card.languages(folder),
        config_sha256=safetensors_files.combine_hashes(data.values()) if data else "",
        origin={"files": data},
        folder=folder.resolve(),
    )
    return bundle.with_fingerprint().truncate(reference.dim)


def _check(reference: Reference, folder: Path) -> None:
    chosen = {"template": reference.template, "layer": reference.layer, "dtype": reference.dtype, **reference.options}
    for key in (key for key, value in chosen.items() if value not in ("", None)):
        raise UsageError(
            f"{folder} has an ONNX graph alone, so {key} cannot be chosen.",
            "Leave it out, or use a model with safetensors weights, which PyTorch runs.",
        )


def _check_options(options: JsonObject, folder: Path) -> None:
    """Raises UsageError for a pooling or a module that only PyTorch computes."""
    ways, then = options["pooling"], options["then"]
    if (
        len(ways) == 1
        and ways[0] in POOLINGS
        and set(then) <= {st_config.NORMALIZE}
        and "include_prompt" not in options
    ):
        return
    raise UsageError(
        f"{folder} is not supported as an ONNX graph: it pools by {' and '.join(ways)}, then {', '.join(then) or '-'}.",
        f"Supported are {', '.join(POOLINGS)} and {st_config.NORMALIZE}. With safetensors weights, PyTorch runs it.",
    )
