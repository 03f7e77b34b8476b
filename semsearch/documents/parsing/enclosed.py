"""A file within a file: an attachment of a message, a response in a web archive."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.types import Metadata

MOST_DEPTH = 5  # messages attached to messages, and so on; what is deeper is not read


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A loader yields it, and what the loader for `name` finds in `content` takes its place.

    `id` is that of its document, as in `Document.id`; `metadata` stands beside the document's own. A file whose suffix
    no loader has is left out.
    """

    id: str
    name: str
    content: bytes = field(repr=False)
    metadata: Metadata = field(default_factory=dict)
