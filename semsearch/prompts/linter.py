"""What is likely to spoil a template: each finding says what is off, what it costs where that is known, and the fix.

The figures are Spearman in percent on STS-B dev for bert-base-uncased that was not tuned: Jiang et al. 2022,
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
from semsearch.prompts.library import Template, from_text, templates
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
LEAST_ROOM = 32  # tokens of a sentence that the papers' checkpoints were tuned on
SAMPLE = "A man is playing a guitar."


class PromptTokenizer(Protocol):
    """What a check asks of a tokenizer; models.tokenization has the class."""

    max_tokens: int

    def has(self, name: str) -> bool: ...
    def count(self, texts: Sequence[str]) -> list[int]: ...
    def frame(self, prompt: Prompt) -> Sized: ...
    def parts(self, text: str, prompt: Prompt) -> Sequence[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` names the check; an error means wrong or no vectors, a warning worse ones, a note is good to know."""

    severity: Severity
    code: str
    message: str
    fix: str = ""


_error, _warning, _note = (partial(Finding, severity) for severity in SEVERITIES)


def lint(
    template: Template | str,
    *,
    method: str = "",
    kind: str = "",
    tokenizer: PromptTokenizer | None = None,
    check_options: CheckOptions | None = None,
) -> list[Finding]:
    """The problems of a template, or of the text of one; errors first.

    `method` takes the place of the template's own. `kind` is the model's: bert, roberta or causal; a `tokenizer` tells
    it too, and what the prompt costs in tokens. `check_options` is models.methods.make, or what raises UsageError for
    options that a method does not take.

    >>> [finding.code for finding in lint("This sentence means [MASK]")]
    ['slot', 'ending']
    """
    kind = kind or (family(tokenizer) if tokenizer else "")
    given = from_text(template, causal=kind == "causal") if isinstance(template, str) else template
    given = replace(given, method=method) if method else given
    if check_options and (wrong := _options(given, check_options)):
        return [wrong]
    found: dict[Finding, None] = {}
    for text in dict.fromkeys(given.text.values()):
        case = _Case(text, given, kind)
        if PUBLISHED.search(text):
            found[_published(case)] = None
            continue
        for check in (_slot, _spelling, _masks, _ending, _quotes, _blanks, _style):
            found |= dict.fromkeys(check(case))
        if tokenizer is not None and text.count(SLOT) == 1:
            found |= dict.fromkeys(_costs(case, tokenizer))
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def family(tokenizer: PromptTokenizer, causal: bool | None = None) -> str:
    """bert, roberta or causal: whether tokens hold the blank before a word. Without `causal` its mask tells."""
    if causal or (causal is None and not tokenizer.has("mask")):
        return "causal"
    return "bert" if tokenizer.count(["a a"]) == tokenizer.count(["a  a"]) else "roberta"


def translated(text: str) -> str:
    """A template of the papers' code in this library's spelling.

    >>> translated('*cls*_This_sentence_of_"*sent_0*"_means*mask*.*sep+*')
    'This sentence of "[X]" means[MASK].'
    """
    plain = text.replace("*sent_0*", SLOT).replace("_", " ").replace("*sent 0*", SLOT).replace("*mask*", MASK)
    return re.sub(r"\*(?:cls|sep\+?)\*", "", plain).strip()


@dataclass(frozen=True, slots=True)
class _Case:
    """One text of a template, on a model of a kind ("": not known)."""

    text: str
    template: Template
    kind: str

    @property
    def bare(self) -> bool:
        return self.text.strip() == SLOT

    @property
    def wanted(self) -> int | None:
        """How many [MASK]s the method reads: as many as the library's templates for it have. None: not known."""
        if self.template.method == "n_mask":
            return int(self.template.options.get("count", max(1, self.text.count(MASK))))
        return next((one.masks for one in templates().values() if one.method == self.template.method), None)

    @property
    def causal(self) -> bool:
        """Whether the method is one for causal models alone."""
        return any(one.kinds == ("causal",) for one in templates().values() if one.method == self.template.method)

    @property
    def made_for(self) -> set[str]:
        """The kinds of model that the library has this text for; none where it is not in the library."""
        return {kind for one in templates().values() if self.text in one.text.values() for kind in one.kinds}

    def rule(self, name: str) -> str:
        return str(self.template.rules.get(name, ""))


def _options(template: Template, check: CheckOptions) -> Finding | None:
    """Options that the template's method refuses. Those of the library are fine, and a check loads torch."""
    masks = max(text.count(MASK) for text in template.text.values())
    known = (one.options for one in templates().values() if one.method == template.method)
    if template.options in ({}, {"count": masks}, *known):
        return None
    try:
        check(template.method, dict(template.options))
    except UsageError as error:
        return _error("options", error.message, error.fix)
    except ImportError:  # a method cannot be loaded without torch
        pass
    return None


def _published(case: _Case) -> Finding:
    return _error(
        "mini-language",
        "this is the mini-language of the papers' code; here it is text.",
        f"Write: {translated(case.text)}",
    )


def _slot(case: _Case) -> Iterator[Finding]:
    count = case.text.count(SLOT)
    other = SLOTS.search(case.text.replace(SLOT, ""))
    if other and not count:
        yield _error("slot", f"{other[0]} is text here, not the slot for the sentence.", f"Write {SLOT} in its place.")
    elif not count:
        yield _error("slot", "there is no slot for the sentence.", f"Write {SLOT} where it stands.")
    elif count > 1:
        yield _error("slot", f"there are {count} slots for the sentence.", f"Write {SLOT} once.")
    elif other:
        yield _warning("slot", f"{other[0]} is text here, beside the slot {SLOT}.", "Leave it out.")
    if glued := re.search(r"\w+\[X\]|\[X\]\w+", case.text):
        yield _warning("glued", f"{glued[0]}: the sentence grows together with a word.", "Put a blank between them.")


def _spelling(case: _Case) -> Iterator[Finding]:
    """Tokens and blanks in another spelling than that of a template."""
    for other in dict.fromkeys(MASKS.findall(case.text.replace(MASK, ""))):
        yield _error("mask-spelling", f"{other} is text here, whatever the tokenizer calls its mask.",
                     f"Write {MASK}: it stands for the tokenizer's own token.")  # fmt: skip
    for other in dict.fromkeys(TOKENS.findall(case.text)):
        yield _warning("literal-token", f"{other} is text here, not a token.",
                       "Leave it out: the tokenizer puts its own around every text.")  # fmt: skip
    if "_" in case.text and " " not in case.text.replace(SLOT, ""):
        yield _error("underscores", "underscores are blanks in the papers' code; here they are text.",
                     f"Write: {translated(case.text)}")  # fmt: skip
    if "[CLS]" in case.text:
        yield _warning("doubled-token", "the tokenizer puts [CLS] before every text itself.", "Leave it out.")


def _masks(case: _Case) -> Iterator[Finding]:
    count, wanted, method = case.text.count(MASK), case.wanted, case.template.method
    if case.kind == "causal" and count:
        yield _error("masks", f"the template has {_some(count)}, and a causal model has no such token.",
                     'End with what the model is to go on from, as PromptEOL does: means in one word:"')  # fmt: skip
    elif MASKS.search(case.text.replace(MASK, "")):
        return  # told already, and the count would be off
    elif wanted is not None and count != wanted:
        fitting = {0: "mean, or prompteol on a causal model", 1: "promptbert", 2: "cot_bert"}.get(count, "n_mask")
        yield _error("masks", f"method {method} reads {_some(wanted)}, and the template has {_some(count)}.",
                     f"Change the template, or the method: {_some(count)} is read by {fitting}.")  # fmt: skip
    elif not count and not case.causal and case.kind in ("bert", "roberta") and not case.bare:
        yield _note("masks", f"without a {MASK} all tokens are averaged, the template's among them.",
                    f'PromptBERT reads one: This sentence : "{SLOT}" means {MASK} .')  # fmt: skip


def _ending(case: _Case) -> Iterator[Finding]:
    """Full stops: of the template, and of the sentence."""
    if case.bare or case.causal or not (case.wanted or MASK in case.text):
        return
    severity = _note if case.made_for else _warning
    if not case.text.rstrip().endswith(ENDS):
        yield severity("ending", "the template has no full stop at its end (27.21 without one, 73.61 with one, 77.59 "
                       "with an exclamation mark: Pretended CoT, table 1).", "End it with ' .'")  # fmt: skip
    if not case.rule("ending") and not case.made_for:
        yield _warning("sentence-ending", "a sentence without a full stop is given none (62 without, 67 with them: "
                       "PromptBERT, issue 22).", """Say rules = { ending = ".", endings = ".?\\"'" }""")  # fmt: skip


def _quotes(case: _Case) -> Iterator[Finding]:
    straight = case.text.translate(CURLY)
    if straight != case.text:
        yield _warning("curly-quotes", "curly quotes are typography of the papers: their code has straight ones.",
                       f"Write: {straight}")  # fmt: skip
    before, _, after = straight.partition(SLOT)
    left, right = before.rstrip()[-1:], after.lstrip()[:1]
    if left == right == '"' and case.rule("quotes") in ("", '"'):
        severity = _note if case.made_for else _warning
        yield severity("quotes", 'the slot stands in double quotes, and a " in a sentence is left as it is.',
                       """Say rules = { quotes = "'" }, as Pretended CoT does.""")  # fmt: skip
    elif left == right == "'":
        yield _note("apostrophes", "the slot stands in single quotes, and an apostrophe in a sentence looks like one.")
    waits = case.causal and straight.rstrip().endswith('"')  # PromptEOL's last quote is open for the word
    if (straight.count('"') - waits) % 2:
        yield _warning("unbalanced-quotes", "one of the double quotes has no partner.", "Close it, or take it out.")
    elif case.text.count(SLOT) == 1 and left != right and {left, right} & {'"', "'"}:
        yield _warning("unbalanced-quotes", "the slot is quoted on one side, or by two kinds of quotes.", "Pair them.")


def _blanks(case: _Case) -> Iterator[Finding]:
    text = case.text
    if text != text.rstrip():
        cost = {"bert": "BERT drops it", "causal": "it is the last token, and that is the one that is read"}
        told = cost.get(case.kind, "RoBERTa gets a token Ġ of its own for it")
        severity = _note if case.kind == "bert" else _warning
        yield severity("trailing-blank", f"the template ends with a blank: {told}.", "Leave it out.")
    if text != text.lstrip():
        yield _note("leading-blank", "the template begins with a blank.", "Leave it out.")
    if re.search(r"\s{2}|[\t\n\r]", text.strip()):
        yield _warning("blanks", "there are several blanks in a row, or line breaks.", "Write single blanks.")
    quoted = re.search(r"""(["'])( ?)\[X\]( ?)\1""", text)
    if quoted and quoted[2] != quoted[3]:
        yield _warning("slot-blanks", f"{quoted[0]} has a blank on one side only.", "Write both, or none.")
    elif quoted and case.kind == "roberta" and not quoted[2]:
        yield _warning("slot-blanks", f"{quoted[0]}: without the blank a sentence's first word is another token "
                       "(A, not ĠA).", f"Write {quoted[1]} {SLOT} {quoted[1]}, as PromptRoBERTa does.")  # fmt: skip


def _style(case: _Case) -> Iterator[Finding]:
    """Whether template and method are made for such a model."""
    if not case.kind:
        return
    there = f"See: semsearch templates list --kind {case.kind}"
    if case.causal and case.kind != "causal":
        yield _error("method", f"method {case.template.method} needs a causal model, and this is "
                     f"{FAMILIES[case.kind]}.", there)  # fmt: skip
        return
    kinds = case.made_for or set(case.template.kinds)
    told = case.kind == "causal" and MASK in case.text
    if not told and not case.bare and not kinds & {"any", case.kind}:
        yield _warning("kind", f"the template was made for {FAMILIES[min(kinds)]}, and this is {FAMILIES[case.kind]}: "
                       "bad scores without an error.", there)  # fmt: skip


def _costs(case: _Case, tokenizer: PromptTokenizer) -> Iterator[Finding]:
    """What the prompt takes up, and where it grows together with the sentence."""
    lacking = [mark for mark, name in MARKS.items() if mark in case.text and not tokenizer.has(name)]
    if lacking:
        if case.kind != "causal" or MASK not in lacking:  # that one is told already
            yield _error("no-token", f"the tokenizer of this model has no {' and no '.join(lacking)}.",
                         "Use a model that has it, or another template.")  # fmt: skip
        return
    prompt = parse(case.text, **case.template.rules)
    cost, most = len(tokenizer.frame(prompt)), tokenizer.max_tokens
    told = f"the prompt takes {cost} of {most} tokens, and leaves {max(0, most - cost)} to the sentence."
    if most - cost < LEAST_ROOM:
        yield (_error if cost >= most else _warning)("cost", told, "Write a shorter template.")
    else:
        yield _note("cost", told)
    for token, part in tokenizer.parts(SAMPLE, prompt):
        if part == "both":
            yield _note("merged", f"the token {token} holds an end of the sentence and a piece of the template.",
                        "Nothing is lost: the two are tokenised as one.")  # fmt: skip


def _some(count: int) -> str:
    return f"{count or 'no'} {MASK}{'s' if count > 1 else ''}"
