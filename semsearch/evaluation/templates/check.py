"""What a template is for a model: its findings, and its tokens around a sentence. No weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from semsearch.encoders import factory
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, tokenizer_files
from semsearch.models.model_ref import Reference
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import library
from semsearch.prompts import lint as linting

if TYPE_CHECKING:
    from semsearch.prompts.library import Template
    from semsearch.prompts.lint import Finding


@dataclass(frozen=True, slots=True)
class TemplateCheck:
    """What is off with a template, and what becomes of a sentence in it.

    `sample` is None where the text has not one slot. It holds `text`; for a model also `tokens` (each with its part:
    prompt, sentence or both), `cost`, `max_tokens`, and how many are `left` to the sentence.
    """

    template: Template
    kind: str
    findings: tuple[Finding, ...]
    sample: dict[str, Any] | None


def check_template(
    text: str, *, model: str | None = None, method: str = "", sentence: str = linting.SAMPLE
) -> TemplateCheck:
    """Look at a template: a name of the library, or a text, for the tokenizer of `model` where one is named.

    Files are not read. Raises NotFound, UsageError for a model that has no tokenizer.

    >>> [finding.code for finding in check_template("This sentence means [MASK]").findings]
    ['slot', 'ending']
    """
    tokenizer, kind = tokenizer_of(model) if model else (None, "")
    known = library.templates()
    given = known[text] if text in known else library.drafted(text, causal=kind == "causal")
    given = replace(given, method=method) if method else given
    found = tuple(linting.lint(given, kind=kind, tokenizer=tokenizer))
    try:
        told = sample(given, sentence, tokenizer)
    except UsageError:  # there is not one slot, which is among the findings
        told = None
    return TemplateCheck(given, kind, found, told)


def sample(template: Template, sentence: str, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """A sentence in a template; with a tokenizer its tokens too, and how many the prompt takes of how many."""
    prompt = template.prompts["passage"]
    body, ending = prompt.sentence(sentence)
    told: dict[str, Any] = {"sentence": sentence, "text": prompt.before + body + ending + prompt.after}
    if tokenizer is None:
        return told
    cost = len(tokenizer.frame(prompt))
    tokens = [{"token": token, "part": part} for token, part in tokenizer.parts(sentence, prompt)]
    left = max(0, tokenizer.max_tokens - cost)
    return {**told, "tokens": tokens, "cost": cost, "max_tokens": tokenizer.max_tokens, "left": left}


def tokenizer_of(model: str, trust: bool = False) -> tuple[Tokenizer, str]:
    """The tokenizer of a model, whose weights are not loaded, and its kind: bert, roberta or causal."""
    reference = Reference.parse(model)
    if reference.model == factory.HASHING:
        raise UsageError("the encoder hashing has no tokenizer and reads no template.", "Name another: -m MODEL")
    if not is_saved(reference):
        reference = replace(reference, template="mean", options={})  # whatever reads it, the tokenizer is the same
    bundle, _ = factory.describe(reference, trust=trust)
    # an encoder without a template need not name its tokens, and a BERT without a mask would pass for a decoder
    tokens = bundle.tokens or tokenizer_files.read(bundle.folder, trust=trust).tokens
    tokenizer = Tokenizer(bundle.path("tokenizer"), bundle.max_tokens, tokens)
    known = None if bundle.weights.endswith(bundles.ONNX) else hf_config.is_causal(bundle.folder, trust=trust)
    return tokenizer, linting.family(tokenizer, known)


def is_saved(reference: Reference) -> bool:
    """Whether the model is an exported or trained encoder, whose template is built in."""
    return (bundles.find(reference.model, reference.revision) / bundles.MANIFEST).is_file()
