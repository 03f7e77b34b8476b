"""The documents of an index: add, update, delete, list and get them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from semsearch.errors import NotFound, UsageError
from semsearch.index import Index
from semsearch.serve.access import Caller
from semsearch.serve.bodies import AddBody, DeleteBody, DocumentBody, UpdateBody
from semsearch.serve.problems import Refused
from semsearch.serve.service import CallerDep, Service, ServiceDep
from semsearch.types import Document, JsonObject, SyncReport

T = TypeVar("T")
router = APIRouter(prefix="/indexes/{name}/documents", tags=["documents"])
LINES: JsonObject = {"application/x-ndjson": {"schema": {"type": "string"}}}
UPLOADED = 256  # documents of an upload that are stored in one go


@router.get("")
async def list_documents(
    name: str,
    service: ServiceDep,
    caller: CallerDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
    path: Annotated[str | None, Query(description="Only documents whose path matches this glob.")] = None,
) -> JsonObject:
    """The documents by id, without their texts."""

    def listed(index: Index) -> JsonObject:
        return {"schema": 1, "index": name, "documents": index.documents(path=path, limit=limit, offset=offset)}

    return await _read(service, caller, name, listed)


@router.get("/{document:path}")
async def get_document(name: str, document: str, service: ServiceDep, caller: CallerDep) -> JsonObject:
    """A document with its text."""
    return await _read(service, caller, name, lambda index: {"schema": 1, **index.get(document)})


@router.post("")
async def add_documents(name: str, body: AddBody, service: ServiceDep, caller: CallerDep) -> JsonObject:
    """Add documents, or replace those with the same ids. When the answer comes, they are on disk.

    The answer is that of `semsearch index --json`; a document that cannot be encoded is among `skipped`.
    """
    service.check_batch(body.documents, "documents")
    documents = [one.document() for one in body.documents]
    return _report(await _write(service, caller, name, lambda index: index.add(documents)))


@router.post(
    "/upload",
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
    },
)
async def upload_documents(name: str, request: Request, service: ServiceDep, caller: CallerDep) -> JsonObject:
    """Add documents, one JSON object on each line, with the fields id, text, title and metadata; of any number.

    They are stored while the upload goes on. A line that is not a document ends it, and the error says how many
    documents before it are stored. When the answer comes, all are on disk.
    """
    caller.require_index(name)
    caller.require("write")
    total = dict.fromkeys(("added", "changed", "unchanged", "moved", "deleted", "skipped"), 0)
    stored, last, skipped = 0, None, []
    try:
        async for batch in _batches(request, service.options.max_bytes):
            last = await _write(service, caller, name, _adding(batch))
            stored += len(batch)
            total = {kind: number + last.document_counts()[kind] for kind, number in total.items()}
            skipped += [asdict(each) for each in last.skipped]
    except (UsageError, Refused) as error:
        error.add(f"{stored:,} documents before it are stored.")
        raise
    except HTTPException as error:  # a limit of the gate
        raise Refused(error.status_code, error.detail, f"{stored:,} documents are stored.") from None
    if last is None:
        raise UsageError("the upload has no document.", "Send one JSON object on each line.")
    return {**_report(last), "documents": total, "skipped": skipped}


@router.patch("/{document:path}")
async def update_document(
    name: str, document: str, body: UpdateBody, service: ServiceDep, caller: CallerDep
) -> JsonObject:
    """Change keys of a document's metadata, or its text."""
    metadata, text = body.metadata, body.text
    return _report(
        await _write(service, caller, name, lambda index: index.update(document, metadata=metadata, text=text))
    )


@router.delete("/{document:path}")
async def delete_document(name: str, document: str, service: ServiceDep, caller: CallerDep) -> JsonObject:
    """Delete a document."""

    def deleted(index: Index) -> int:
        if not index.delete([document]):
            raise NotFound(f"index {name} has no document {document!r}.", "It may have been deleted already.")
        return 1

    return {"schema": 1, "index": name, "deleted": await _write(service, caller, name, deleted)}


@router.post("/delete")
async def delete_documents(name: str, body: DeleteBody, service: ServiceDep, caller: CallerDep) -> JsonObject:
    """Delete the documents of `ids`, or all that pass `where`. Unknown ids are left out of the count."""
    service.check_batch(body.ids or (), "ids")
    deleted = await _write(
        service, caller, name, lambda index: index.delete(body.ids, where=body.where, values=body.values)
    )
    return {"schema": 1, "index": name, "deleted": deleted}


async def _read(service: Service, caller: Caller, name: str, call: Callable[[Index], JsonObject]) -> JsonObject:
    caller.require_index(name)

    def work() -> JsonObject:
        with service.indexes.reading(name) as index:
            return call(index)

    return await service.read(work)


async def _write(service: Service, caller: Caller, name: str, call: Callable[[Index], T]) -> T:
    caller.require_index(name)
    caller.require("write")

    def work() -> T:
        with service.indexes.writing(name) as index:
            return call(index)

    return await service.write(work)


def _adding(batch: Sequence[Document]) -> Callable[[Index], SyncReport]:
    return lambda index: index.add(batch)


def _report(report: SyncReport) -> JsonObject:
    """The object that `index --json` prints."""
    return {
        "schema": 1,
        "index": report.index,
        "documents": report.document_counts(),
        "passages": report.passages,
        "vectors": report.vectors,
        "skipped": [asdict(each) for each in report.skipped],
        "left_out": dict(report.left_out),
        "left_out_files": report.left_out_files,
        "took_s": report.took_s,
        "warnings": list(report.warnings),
    }


async def _batches(request: Request, longest: int) -> AsyncIterator[list[Document]]:
    """The documents of an upload, some at a time. Raises UsageError for a line that is none."""
    batch: list[Document] = []
    number = 0
    async for line in _lines(request, longest):
        number += 1
        if line.strip():
            try:
                batch.append(DocumentBody.model_validate_json(line).document())
            except ValidationError as error:
                if batch:
                    yield batch
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise UsageError(f"line {number}: {where + ': ' if where else ''}{first['msg']}.", "") from None
        if len(batch) == UPLOADED:
            yield batch
            batch = []
    if batch:
        yield batch


async def _lines(request: Request, longest: int) -> AsyncIterator[bytes]:
    """The lines of a body as they come. Raises Refused, 413, for one that is too long."""
    rest = b""
    async for piece in request.stream():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > longest:
            raise Refused(413, f"a line is longer than {longest // 2**20} MB.", "Send shorter documents.")
    yield rest
