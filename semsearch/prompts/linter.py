"""Template linter: each finding has the problem, its cost if known, and the fix.

The figures are Spearman in percent on STS-B dev for a bert-base-uncased without fine-tuning: Jiang et al. 2022,
PromptBERT, https://arxiv.org/abs/2201.04337, issue 22 of its repository, and Zhang et al. 2024, Pretended CoT,
https://arxiv.org/abs/2404.03921, table 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias

from semsearch.errors import UsageError
from semsearch.prompts.library import Template, from_text, method_of, templates
from semsearch.prompts.prompt import MARKS, MASK, SLOT, Prompt, parse
from semsearch.types import JsonObject

Severity = Literal["error", "warning", "note"]
CheckOptions: TypeAlias = "Callable[[str, JsonObject], object]"
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
ENDS = (".", "!", "?", "[SEP]")
FAMILIES = {"bert": "a BERT", "roberta": "a RoBERTa", "causal": "a causal model"}
SLOTS = re.compile(r"\{\w*\}|%s|\[x\]|\[(?:TEXT|INPUT|SENT(?:ENCE)?)\]|<(?:sentence|text|input|x)>", re.IGNORECASE)
MASKS = re.compile(r"<mask>|\{mask\}|\[mask\]|\[MASK(?!\])|(?<!\[)MASK\]", re.IGNORECASE)
TOKENS = re.compile(r"</?s>|<pad>|<unk>|\[UNK\]|<\|[\w ]+\|>|\[(?:sep|cls|pad)\]")
PUBLISHED = re.compile(r"\*(?:cls|sep\+?|mask|sent[_ ]\d)\*")  # the mini-language of the authors' code
CURLY = str.maketrans("“”„‘’", '"""\'\'')
MIN_SENTENCE_TOKENS = 32  # the sentence length with which the papers' checkpoints were trained
SAMPLE = "A man is playing a guitar."


class PromptTokenizer(Protocol):
    """The part of models.tokenization.Tokenizer that the linter uses."""

    max_tokens: int

    def has(self, name: str) -> bool: ...
    def count(self, texts: Sequence[str]) -> list[int]: ...
    def frame(self, prompt: Prompt) -> Sized: ...
    def parts(self, text: str, prompt: Prompt) -> Sequence[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` names the check; an error means wrong or no vectors, a warning worse vectors, a note is information."""

    severity: Severity
    code: str
    message: str
    fix: str = ""


_error, _warning, _note = (partial(Finding, severity) for severity in SEVERITIES)
PATTERNS = (  # findings that depend on the template's text alone
    (_warning, "glued", r"\w+\[X\]|\[X\]\w+", "{}: the sentence is joined to a word.", "Put a space between them."),
    (_warning, "literal-token", TOKENS, "{} is text here, not a token.", "Leave it out: the tokenizer adds its own."),
    (_warning, "doubled-token", r"\[CLS\]", "the tokenizer adds {} to every text itself.", "Leave it out."),
    (_note, "leading-blank", r"^\s+", "the template begins with a space.", "Leave it out."),
    (
        _warning,
        "blanks",
        r"(?<=\S)(\s{2,}|[\t\n\r])(?=\S)",
        "words are not separated by one space.",
        "Write one space.",
    ),
)


def lint(
    template: Template | str,
    *,
    method: str = "",
    kind: str = "",
    tokenizer: PromptTokenizer | None = None,
    check_options: CheckOptions | None = None,
) -> list[Finding]:
    """The problems of a template, or of its text; errors first.

    `method` replaces the template's own. `kind` is the model's: bert, roberta or causal; it can be derived from a
    `tokenizer`, which also counts the tokens of the prompt. `check_options` is models.methods.make, or another function
    that raises UsageError for options that a method does not accept.

    >>> [finding.code for finding in lint("This sentence means [MASK]")]
    ['slot', 'ending']
    """
    kind = kind or (family(tokenizer) if tokenizer else "")
    checked = from_text(template, causal=kind == "causal") if isinstance(template, str) else template
    checked = replace(checked, method=method) if method else checked
    if check_options and (wrong := _options(checked, check_options)):
        return [wrong]
    findings: dict[Finding, None] = {}
    for text in dict.fromkeys(checked.text.values()):
        case = _Case(text, checked, kind)
        if PUBLISHED.search(text):
            message = "this is the mini-language of the papers' code; here it is text."
            findings[_error("mini-language", message, f"Write: {translated(text)}")] = None
            continue
        for check in (_slot, _spelling, _masks, _ending, _quotes, _spaces, _kind):
            findings |= dict.fromkeys(check(case))
        if tokenizer is not None and text.count(SLOT) == 1:
            findings |= dict.fromkeys(_costs(case, tokenizer))
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def family(tokenizer: PromptTokenizer, causal: bool | None = None) -> str:
    """bert, roberta or causal: RoBERTa's tokens contain the space before a word, a causal model has no mask."""
    if causal or (causal is None and not tokenizer.has("mask")):
        return "causal"
    return "bert" if tokenizer.count(["a a"]) == tokenizer.count(["a  a"]) else "roberta"


def translated(text: str) -> str:
    """A template of the papers' code in the spelling of this library.

    >>> translated('*cls*_This_sentence_of_"*sent_0*"_means*mask*.*sep+*')
    'This sentence of "[X]" means[MASK].'
    """
    plain = text.replace("*sent_0*", SLOT).replace("_", " ").replace("*sent 0*", SLOT).replace("*mask*", MASK)
    return re.sub(r"\*(?:cls|sep\+?)\*", "", plain).strip()


@dataclass(frozen=True, slots=True)
class _Case:
    """One text of a template, for a kind of model ("": unknown)."""

    text: str
    template: Template
    kind: str

    @property
    def bare(self) -> bool:
        return self.text.strip() == SLOT

    @property
    def same_method(self) -> list[Template]:
        """The library's templates for this method."""
        return [one for one in templates().values() if one.method == self.template.method]

    @property
    def expected_masks(self) -> int | None:
        """The number of [MASK]s that the method reads: that of the library's templates for it. None: unknown."""
        if self.template.method == "n_mask":
            return int(self.template.options.get("count", max(1, self.text.count(MASK))))
        if "stages" in self.template.options:
            return int(self.template.options["stages"])
        return next((one.masks for one in self.same_method), None)

    @property
    def causal(self) -> bool:
        """Whether the method is for causal models only."""
        return any(one.kinds == ("causal",) for one in self.same_method)

    @property
    def made_for(self) -> set[str]:
        """The kinds of model for which the library has this text, apart from spaces; empty if it does not have it."""
        mine = self.text.replace(" ", "")
        alike = [one for one in templates().values() if mine in (text.replace(" ", "") for text in one.text.values())]
        return {kind for one in alike for kind in one.kinds}


def _options(template: Template, check: CheckOptions) -> Finding | None:
    """Options that the template's method refuses. Those of the library are fine, and a check loads torch."""
    usual = [one.options for one in templates().values() if one.method == template.method]
    if template.options in [{}, {"count": template.masks}, *usual]:
        return None
    try:
        check(template.method, dict(template.options))
    except UsageError as error:
        return _error("options", error.message, error.fix)
    except ImportError:  # a method cannot be loaded without torch
        pass
    return None


def _slot(case: _Case) -> Iterator[Finding]:
    count = case.text.count(SLOT)
    other = SLOTS.search(case.text.replace(SLOT, ""))
    if not count:
        problem = f"{other[0]} is text here, not the slot" if other else "there is no slot"
        yield _error("slot", f"{problem} for the sentence.", f"Write {SLOT} where the sentence goes.")
    elif count > 1:
        yield _error("slot", f"there are {count} slots for the sentence.", f"Write {SLOT} once.")
    elif other:
        yield _warning("slot", f"{other[0]} is text here, in addition to the slot {SLOT}.", "Leave it out.")


def _spelling(case: _Case) -> Iterator[Finding]:
    """Tokens and spaces in a spelling other than that of templates."""
    for severity, code, pattern, message, fix in PATTERNS:
        for match in re.finditer(pattern, case.text):
            yield severity(code, message.format(match[0]), fix)
    for other in MASKS.findall(case.text.replace(MASK, "")):
        yield _error("mask-spelling", f"{other} is text here.", f"Write {MASK}, the mask of every tokenizer.")
    if "_" in case.text and " " not in case.text.replace(SLOT, ""):
        yield _error("underscores", "underscores are text here, not spaces.", f"Write: {translated(case.text)}")


def _masks(case: _Case) -> Iterator[Finding]:
    count, expected, method = case.text.count(MASK), case.expected_masks, case.template.method
    if case.kind == "causal" and count:
        yield _error("masks", f"the template has {_masks_text(count)}, and a causal model has no such token.",
                     'End with the words that the model continues, as PromptEOL does: means in one word:"')  # fmt: skip
    elif MASKS.search(case.text.replace(MASK, "")):
        return  # the misspelled mask is reported already, and the count would be wrong
    elif expected is not None and count != expected:
        fitting = method_of(count, causal=False) + (", or prompteol on a causal model" if not count else "")
        yield _error("masks", f"method {method} reads {_masks_text(expected)}, the template has {_masks_text(count)}.",
                     f"Change the template, or the method: {_masks_text(count)} is read by {fitting}.")  # fmt: skip
    elif not count and not case.causal and case.kind in ("bert", "roberta") and not case.bare:
        yield _note("masks", f"without a {MASK} all tokens are averaged, those of the template too.",
                    f'PromptBERT reads one: This sentence : "{SLOT}" means {MASK} .')  # fmt: skip


def _ending(case: _Case) -> Iterator[Finding]:
    """Full stops of the template and of the sentence."""
    if case.bare or case.causal or case.made_for or not (case.expected_masks or MASK in case.text):
        return
    if not case.text.rstrip().endswith(ENDS):
        yield _warning("ending", "the template has no full stop at its end (27.21 without one, 73.61 with one, 77.59 "
                       "with an exclamation mark: Pretended CoT, table 1).", "End it with ' .'")  # fmt: skip
    if not case.template.rules.get("ending"):
        yield _warning("sentence-ending", "a sentence without a full stop stays without one (62 without, 67 with full "
                       "stops: PromptBERT, issue 22).",
                       """Set rules = { ending = ".", endings = ".?\\"'" }""")  # fmt: skip


def _quotes(case: _Case) -> Iterator[Finding]:
    straight = case.text.translate(CURLY)
    if straight != case.text:
        yield _warning("curly-quotes", "the papers' code has straight quotes, not curly ones.", f"Write: {straight}")
    before, _, after = straight.partition(SLOT)
    left, right = before.rstrip()[-1:], after.lstrip()[:1]
    if left == right == '"' and case.template.rules.get("quotes", "") in ("", '"') and not case.made_for:
        yield _warning("quotes", 'the slot is in double quotes, and a " inside the sentence is not replaced.',
                       """Set rules = { quotes = "'" }, as Pretended CoT does.""")  # fmt: skip
    elif left == right == "'":
        yield _note("apostrophes", "the slot is in single quotes, and an apostrophe in the sentence looks like one.")
    open_quote = case.causal and straight.rstrip().endswith('"')  # PromptEOL's last quote opens the word to predict
    if (straight.count('"') - open_quote) % 2:
        yield _warning("unbalanced-quotes", "one of the double quotes has no partner.", "Close it, or remove it.")
    elif case.text.count(SLOT) == 1 and left != right and {left, right} & {'"', "'"}:
        yield _warning("unbalanced-quotes", "the slot has a quote on one side only, or two kinds.", "Make them a pair.")


def _spaces(case: _Case) -> Iterator[Finding]:
    """Spaces at the end of the template and around the slot."""
    if case.text != case.text.rstrip():
        effects = {"bert": "BERT ignores it", "causal": "it becomes the last token, which is the one read"}
        effect = effects.get(case.kind, "RoBERTa makes it a token Ġ of its own")
        severity = _note if case.kind == "bert" else _warning
        yield severity("trailing-blank", f"the template ends with a space: {effect}.", "Leave it out.")
    quoted = re.search(r"""(["'])( ?)\[X\]( ?)\1""", case.text)
    if quoted and quoted[2] != quoted[3]:
        yield _warning("slot-blanks", f"{quoted[0]} has a space on one side only.", "Write both, or none.")
    elif quoted and case.kind == "roberta" and not quoted[2]:
        yield _warning("slot-blanks", f"{quoted[0]}: without the space the first word of a sentence is another token "
                       "(A, not ĠA).", f"Write {quoted[1]} {SLOT} {quoted[1]}, as PromptRoBERTa does.")  # fmt: skip


def _kind(case: _Case) -> Iterator[Finding]:
    """Whether template and method are made for this kind of model."""
    if not case.kind:
        return
    model, fix = FAMILIES[case.kind], f"Choose a template of kind {case.kind}."
    kinds = case.made_for or set(case.template.kinds)
    if case.causal and case.kind != "causal":
        yield _error("method", f"method {case.template.method} needs a causal model, and this is {model}.", fix)
    elif case.kind == "causal" and MASK in case.text:
        return  # _masks reports it
    elif not case.bare and not kinds & {"any", case.kind}:
        yield _warning("kind", f"the template was made for {FAMILIES[min(kinds)]}, and this is {model}: "
                       "scores will be bad, without an error.", fix)  # fmt: skip


def _costs(case: _Case, tokenizer: PromptTokenizer) -> Iterator[Finding]:
    """The length of the prompt in tokens, and the tokens that contain parts of both prompt and sentence."""
    missing = [mark for mark, name in MARKS.items() if mark in case.text and not tokenizer.has(name)]
    if missing:
        if case.kind != "causal" or MASK not in missing:  # which _masks reports
            message = f"the tokenizer of this model has no {' and no '.join(missing)}."
            yield _error("no-token", message, "Use a model that has it, or another template.")
        return
    prompt = parse(case.text, **case.template.rules)
    cost, limit = len(tokenizer.frame(prompt)), tokenizer.max_tokens
    message = f"the prompt takes {cost} of {limit} tokens, which leaves {max(0, limit - cost)} for the sentence."
    if limit - cost < MIN_SENTENCE_TOKENS:
        yield (_error if cost >= limit else _warning)("cost", message, "Write a shorter template.")
    else:
        yield _note("cost", message)
    for token, part in tokenizer.parts(SAMPLE, prompt):
        if part == "both":
            message = f"the token {token} contains an end of the sentence and a part of the template."
            yield _note("merged", message, "Nothing is lost: the two are tokenised as one.")


def _masks_text(count: int) -> str:
    return f"{count or 'no'} {MASK}{'s' if count > 1 else ''}"
