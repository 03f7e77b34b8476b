"""Prompt: the text around a sentence, and the rules for the sentence itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from semsearch.errors import UsageError
from semsearch.types import JsonObject

SLOT = "[X]"
MASK = "[MASK]"
MARKS = {MASK: "mask", "[SEP]": "sep", "[CLS]": "cls", "[PAD]": "pad"}  # in a template: the tokenizer's own token
PLACEHOLDER = "[PST]"  # in a template: a token of no vocabulary, whose vector is the method's
BIASES = ("frequent", "subwords", "punctuation", "case")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text before and after the sentence, with its exact spaces, and the rules for the sentence.

    `spaces`: runs of white space become one space. `ending` is added to a sentence whose last character is not one
    of `endings`, and replaces a last character that is one of `overwrite`. `quotes` replaces double quotes in the
    sentence unless it is "". `remove`: the biases, of BIASES, that are removed from static embeddings.
    """

    before: str = ""
    after: str = ""
    ending: str = ""
    endings: str = ""
    overwrite: str = ""
    quotes: str = ""
    spaces: bool = False
    remove: tuple[str, ...] = ()

    @property
    def masks(self) -> int:
        """The number of [MASK]s around the sentence.

        >>> parse('"[X]" means [MASK] , in short [MASK] .').masks
        2
        """
        return (self.before + self.after).count(MASK)

    @property
    def text(self) -> str:
        """The template with its slot."""
        return self.before + SLOT + self.after

    def sentence(self, text: str) -> tuple[str, str]:
        """The user's text after the rules, and the ending that they add to it.

        >>> Prompt(ending=".", endings=".?", overwrite="?", quotes="'").sentence('Is it "new"?')
        ("Is it 'new'", '.')
        """
        body = " ".join(text.split()) if self.spaces else text
        ending = self.ending if self.endings and body and body[-1] not in self.endings else ""
        if self.quotes:
            body = body.replace('"', self.quotes)
        if not ending and body and body[-1] in self.overwrite:
            body, ending = body[:-1], self.ending
        return body, ending

    def as_dict(self) -> JsonObject:
        """`before`, `after`, and the rules that differ from their defaults, as a manifest stores and hashes them."""
        values = asdict(self)
        rules = {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}
        return {"before": self.before, "after": self.after} | rules


def parse(text: str, **rules: Any) -> Prompt:
    """The prompt of a template with exactly one slot. Raises UsageError.

    >>> parse('This sentence : "[X]" means [MASK] .').before
    'This sentence : "'
    """
    count = text.count(SLOT)
    if count != 1:
        fix = f"Write {SLOT} once, for example: 'This sentence : \"{SLOT}\" means {MASK} .'"
        raise UsageError(f"the template {text!r} has {count or 'no'} slots for the sentence.", fix)
    before, _, after = text.partition(SLOT)
    return Prompt(before, after, **rules)
