"""What the stores of other libraries share: an index by name, path or in a folder of its own, and what is in it.

These libraries keep texts that they have cut themselves, each with a vector. Such a text is one document here.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import EncodingFailed, UsageError
from semsearch.index import Index, admin

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from semsearch.types import Document, EncoderLike, Hit, JsonObject, Where


def with_encoder(index: Index | str | Path | None, encoder: EncoderLike | str | None) -> Index:
    """`index`, opened or created: for texts that its own encoder embeds, by default the default one.

    None is an index in a temporary folder, which is removed with the object. Raises UsageError for an index without an
    encoder; one that was built with another is refused with EncoderMismatch when it is used.
    """
    if isinstance(index, Index) or (index is not None and admin.exists(index)):
        opened = index if isinstance(index, Index) else Index.open(index, encoder=encoder)
        if not has_encoder(opened):
            raise UsageError(f"index {opened.name} has no encoder.", "Pass the embedding that its vectors come from.")
        return opened
    return _created(index, encoder or "default", None)


def with_vectors(index: Index | str | Path | None, width: int) -> Index:
    """`index`, opened or created: for texts with vectors of another model, of this width.

    None is an index in a temporary folder, as above. Raises UsageError for an index that has an encoder, since its
    vectors cannot be compared with those of another model.
    """
    if not isinstance(index, Index):
        return _created(index, None, width)
    if has_encoder(index):
        raise UsageError(
            f"index {index.name} has an encoder of its own, whose vectors cannot be compared with others.",
            "Leave out the embedding, or use another index.",
        )
    return index


def _created(index: str | Path | None, encoder: EncoderLike | str | None, width: int | None) -> Index:
    if index is not None:
        return Index.create(index, encoder=encoder, dimensions=width, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="semsearch-"))
    made = Index.create(folder / "index", encoder=encoder, dimensions=width)
    weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    return made


def has_encoder(index: Index) -> bool:
    """Whether it embeds texts itself; one without has vectors of another model."""
    return index.info()["recipe"].get("encoder", "default") is not None


def put(index: Index, documents: Iterable[Document], vectors: ArrayLike | None = None) -> None:
    """Add documents, or replace those with the same id. Raises EncodingFailed, naming the first that was left out."""
    report = index.add(documents, vectors=vectors)
    if report.skipped:
        first = report.skipped[0]
        raise EncodingFailed(
            f"{len(report.skipped)} documents were not stored, the first is {first.path!r}: {first.reason}.",
            "The others were.",
        )


def nearest(index: Index, vector: ArrayLike, k: int, where: Where | None) -> list[Hit]:
    """The `k` documents with the highest cosines, copies too, each with its best passage."""
    return list(index.search(vector=vector, k=k, where=where, mode="semantic", group="copy")) if k > 0 else []


def whole(index: Index, ids: Iterable[str]) -> list[JsonObject]:
    """The documents with these ids, in their order, each as `Index.get` gives it; those that are not there left out."""
    names = list(ids)
    stored = {one["document"]: one for one in index.get(ids=names)}
    return [stored[name] for name in names if name in stored]


def of_metadata(condition: Where | None) -> Where | None:
    """A filter of another library: the fields of a structure are keys of the metadata, whatever they are called."""
    return {"$metadata": condition} if isinstance(condition, Mapping) and condition else condition or None


def place(hit: Hit) -> JsonObject:
    """Where a passage stands and how well it fits, and the metadata of its document; what is not known is left out."""
    fields = {
        "source": hit.path,
        "document": hit.document,
        "start": hit.start,
        "end": hit.end,
        "line": hit.line,
        "page": hit.page,
        "heading": hit.heading,
        "score": hit.score,
        "strength": hit.strength,
        "match": hit.match,
    }
    return {**{name: value for name, value in fields.items() if value is not None}, **hit.metadata}
