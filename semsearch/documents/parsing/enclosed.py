"""What a loader yields beside documents: a file within a file, such as an attachment, and a sign that it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from semsearch.types import Metadata

MOST_DEPTH = 5  # messages attached to messages, and so on; what is deeper is not read


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A loader yields it between the long steps of a document: the time that this may take begins again."""


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
