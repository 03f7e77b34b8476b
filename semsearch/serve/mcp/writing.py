"""The tools that write: they exist with `--allow-write` only."""

from __future__ import annotations

from semsearch.serve.mcp import arguments
from semsearch.serve.mcp.budget import cut
from semsearch.serve.mcp.callers import Ask
from semsearch.types import Document, JsonObject, SyncReport


def add_documents(ask: Ask, request: arguments.Add) -> JsonObject:
    """Add documents to an index, or replace those with the same ids. When the answer comes, they are on disk.

    Documents that came from the user's files cannot be replaced: change the files. `skipped` names what was not added.
    """
    documents = [Document(one.id, one.text, one.metadata, one.title) for one in request.documents]
    with ask.writing(request.index) as index:
        return _report(index.add(documents, errors="skip"))


def update_document(ask: Ask, request: arguments.Update) -> JsonObject:
    """Change the metadata or the text of a document. Documents that came from the user's files cannot be changed."""
    with ask.writing(request.index) as index:
        return _report(index.update(request.id, metadata=request.metadata, text=request.text))


def delete_documents(ask: Ask, request: arguments.Delete) -> JsonObject:
    """Delete documents from an index for good. The user's files stay; unknown names are left out of the count."""
    with ask.writing(request.index) as index:
        return {"index": index.name, "deleted": index.delete(request.ids)}


def _report(report: SyncReport) -> JsonObject:
    skipped = [{"document": each.path[:200], "reason": cut(each.reason, 500)} for each in report.skipped]
    counts = {kind: number for kind, number in report.document_counts().items() if kind != "moved"}
    return {"index": report.index, "documents": counts, "skipped_documents": skipped[:20]}
