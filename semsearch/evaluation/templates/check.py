"""Template check: the linter's findings and, for a model, the tokens around a sentence. No weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace

from semsearch.encoders import factory
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, methods, model_folders, tokenizer_files
from semsearch.models.model_ref import Reference
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import library, linter
from semsearch.prompts.library import Template
from semsearch.prompts.linter import Finding
from semsearch.types import JsonObject


@dataclass(frozen=True, slots=True)
class TemplateCheck:
    """The findings about a template, and a sample sentence in it.

    `sample` is None unless the text has exactly one slot. It has `text`; for a model also `tokens` (each with its part:
    prompt, sentence or both), the `cost` of the prompt in tokens, `max_tokens`, and the tokens `left` for the sentence.
    """

    template: Template
    kind: str
    findings: tuple[Finding, ...]
    sample: JsonObject | None


def check_template(
    text: str, *, model: str | None = None, method: str = "", sentence: str = linter.SAMPLE
) -> TemplateCheck:
    """Check a template, a name of the library or a text, optionally for the tokenizer of `model`.

    A path is not read as a file. Raises NotFound, and UsageError for a model that has no tokenizer.

    >>> [finding.code for finding in check_template("This sentence means [MASK]").findings]
    ['slot', 'ending']
    """
    tokenizer, kind = tokenizer_of(model) if model else (None, "")
    choices = library.templates()
    template = choices[text] if text in choices else library.from_text(text, causal=kind == "causal")
    template = replace(template, method=method) if method else template
    findings = tuple(linter.lint(template, kind=kind, tokenizer=tokenizer, check_options=methods.make))
    try:
        example = sample(template, sentence, tokenizer)
    except UsageError:  # not exactly one slot, which is among the findings
        example = None
    return TemplateCheck(template, kind, findings, example)


def sample(template: Template, sentence: str, tokenizer: Tokenizer | None) -> JsonObject:
    """A sentence in a template; with a tokenizer also its tokens, and how many of them belong to the prompt."""
    prompt = template.prompts["passage"]
    body, ending = prompt.sentence(sentence)
    content: JsonObject = {"sentence": sentence, "text": prompt.before + body + ending + prompt.after}
    if tokenizer is None:
        return content
    cost = len(tokenizer.frame(prompt))
    tokens = [{"token": token, "part": part} for token, part in tokenizer.parts(sentence, prompt)]
    left = max(0, tokenizer.max_tokens - cost)
    return content | {"tokens": tokens, "cost": cost, "max_tokens": tokenizer.max_tokens, "left": left}


def tokenizer_of(model: str, trust: bool = False) -> tuple[Tokenizer, str]:
    """The tokenizer of a model, and its kind: bert, roberta or causal. Its weights are not loaded."""
    reference = Reference.parse(model)
    if reference.model == factory.HASHING:
        raise UsageError(
            "the encoder hashing has no tokenizer and no template.", "Name another model.", "Name another: -m MODEL"
        )
    if not is_saved(reference):
        reference = replace(reference, template="mean", options={})  # the tokenizer is the same for every template
    bundle, _ = factory.describe(reference, trust=trust)
    # an encoder without a template need not name its tokens, and a BERT without a mask would pass for a decoder
    tokens = bundle.tokens or tokenizer_files.read(bundle.folder, trust=trust).tokens
    tokenizer = Tokenizer(bundle.path("tokenizer"), bundle.max_tokens, tokens)
    causal = None if bundle.weights.endswith(bundles.ONNX) else hf_config.is_causal(bundle.folder, trust=trust)
    return tokenizer, linter.family(tokenizer, causal)


def is_saved(reference: Reference) -> bool:
    """Whether the model is an exported or trained encoder, which has its template built in."""
    return (model_folders.find(reference.model, reference.revision) / bundles.MANIFEST).is_file()
