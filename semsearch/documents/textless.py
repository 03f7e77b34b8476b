"""Documents of which no text remains: they are skipped, with what their loader left out of them as the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semsearch.types import Document, Omission, Skipped
from semsearch.utils.quantities import letters_by_kind

NO_TEXT = "no text found in"


@dataclass(frozen=True, slots=True)
class Textless(Skipped):
    """A document without text. `omissions`: what it has instead; `whole`: it is the document of a whole file."""

    omissions: tuple[Omission, ...] = ()
    whole: bool = False


def checked(document: Document, file: str) -> Document | Textless:
    """The document of a file, if it has a text."""
    if any(letter.isprintable() and letter != " " for letter in document.text):
        return document
    is_record = bool(document.id) and not document.id.startswith("#")
    path, where = (file, f"record {document.id!r}") if is_record else (f"{file}{document.id}", "it")
    return Textless(path, reason(document.omissions, where), document.omissions, not document.id)


def reason(omissions: Sequence[Omission], where: str = "it") -> str:
    """Why a document is skipped that has nothing but `omissions`.

    >>> reason([Omission("script", 4100), Omission("picture", 0)]), reason([])
    ('no text found in it, only script (4,100 letters), picture', 'no text found in it')
    """
    only = letters_by_kind(dict(omissions))
    return f"{NO_TEXT} {where}{only and f', only {only}'}"
