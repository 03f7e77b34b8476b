"""The documents of an index: add, update, delete, list and get them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import ValidationError
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.responses import Response

from semsearch.errors import NotFound, SemsearchError, Unreadable, UsageError
from semsearch.index import Index
from semsearch.serve import problems
from semsearch.serve.access import Caller
from semsearch.serve.bodies import AddBody, DeleteBody, DocumentBody, Glob, Name, UpdateBody
from semsearch.serve.problems import Refused
from semsearch.serve.routes.json_bodies import JsonRoute, json_response, parsed
from semsearch.serve.service import CallerDep, Service, ServiceDep, beside
from semsearch.types import Document, JsonObject, SyncReport
from semsearch.utils.batches import batches
from semsearch.utils.untrusted import escaped

T = TypeVar("T")
router = APIRouter(prefix="/indexes/{name}/documents", tags=["documents"], route_class=JsonRoute)
LISTED = 100  # documents that are read at once: each may have metadata of 1 MB
UPLOADED = 256  # lines of an upload that are stored in one go, at most
UPLOADED_BYTES = 2**21  # of these, apart from the last one
MOST_NAMED = 1000  # of what was skipped in an upload
SOME_SKIPPED: dict[int | str, JsonObject] = {
    207: {"description": "Some are skipped, as `skipped` says; the others are stored."}
}


class _IdConvertor(PathConvertor):
    """An id of a document in an address: of any characters, line breaks too."""

    regex = "(?s:.*)"


register_url_convertor("id", _IdConvertor())


@router.get("")
async def list_documents(
    name: str,
    service: ServiceDep,
    caller: CallerDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
    after: Annotated[Name, Query(description="Only documents above this id: the last one of the page before.")] = "",
    path: Annotated[Glob | None, Query(description="Only documents whose path matches this glob.")] = None,
) -> Response:
    """The documents by id, without their texts. Each hundred is of one moment."""

    def pages(index: Index) -> Iterator[JsonObject]:
        last, before = after, offset
        for at in range(0, limit, LISTED):
            page = index.documents(path=path, after=last, limit=min(LISTED, limit - at), offset=before)
            if not page:
                return
            yield from page
            last, before = page[-1]["id"], 0

    def listed(index: Index) -> JsonObject:
        return {"schema": 1, "index": name, "documents": pages(index)}

    return await _read(service, caller, name, listed)


@router.get("/{document:id}")
async def get_document(name: str, document: str, service: ServiceDep, caller: CallerDep) -> Response:
    """A document with its text."""
    return await _read(service, caller, name, lambda index: {"schema": 1, **index.get(document)})


@router.post("", responses=SOME_SKIPPED)
async def add_documents(name: str, body: AddBody, service: ServiceDep, caller: CallerDep, request: Request) -> Response:
    """Add documents, or replace those with the same ids. When the answer comes, they are on disk.

    The answer is that of `semsearch index --json`. A document that cannot be stored or encoded is among `skipped`, and
    the status is 207 then, or 422 where none is stored.
    """
    service.check_batch(body.documents, "documents")
    documents = [one.document() for one in body.documents]
    report = await _write(service, caller, name, lambda index: index.add(documents, errors="skip"), request)
    return _answer(_report(report), request)


@router.post(
    "/upload",
    responses=SOME_SKIPPED,
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
    },
)
async def upload_documents(name: str, request: Request, service: ServiceDep, caller: CallerDep) -> Response:
    """Add documents, one JSON object on each line, with the fields id, text, title and metadata; of any number.

    They are stored while the upload goes on; one with the id of an earlier line replaces it, and is `changed`. A line
    that is no document, or one that cannot be stored, is among `skipped` with its number, and the status is 207 then,
    or 422 where none is stored. When the answer comes, all the others are on disk; an error says how many are.
    """
    caller.require_index(name)
    caller.require("write")
    total = dict.fromkeys(("added", "changed", "unchanged", "moved", "deleted", "skipped"), 0)
    last: SyncReport | None = None
    began, warnings = time.perf_counter(), dict[str, None]()
    skipped: list[JsonObject] = []
    upload = _Upload(request, service.options.max_bytes)
    try:
        async for batch in upload.batches():
            total["skipped"] += len(upload.wrong)
            named = upload.wrong
            if batch:
                last = await _write(service, caller, name, _adding(batch))
                total = {kind: number + last.document_counts()[kind] for kind, number in total.items()}
                warnings.update(dict.fromkeys(last.warnings))
                named += [{**asdict(each), "line": upload.lines.get(each.path)} for each in last.skipped]
            skipped += sorted(named, key=lambda one: one["line"] or 0)[: MOST_NAMED - len(skipped)]
    except HTTPException as error:  # a limit of the gate
        raise Refused(error.status_code, error.detail, _stored(total)) from None
    except SemsearchError as error:
        error.add(_stored(total))
        raise
    if last is None and not skipped:
        raise UsageError("the upload has no document.", "Send one JSON object on each line.")
    report = {} if last is None else {**_report(last), "warnings": list(warnings)}
    seconds = round(time.perf_counter() - began, 3)
    return _answer({**report, "documents": total, "skipped": skipped, "took_s": seconds}, request)


@router.patch("/{document:id}")
async def update_document(
    name: str, document: str, body: UpdateBody, service: ServiceDep, caller: CallerDep, request: Request
) -> JsonObject:
    """Change keys of a document's metadata, or its text."""
    metadata, text = body.metadata, body.text
    return _report(
        await _write(service, caller, name, lambda index: index.update(document, metadata=metadata, text=text), request)
    )


@router.delete("/{document:id}")
async def delete_document(
    name: str, document: str, service: ServiceDep, caller: CallerDep, request: Request
) -> JsonObject:
    """Delete a document."""

    def deleted(index: Index) -> int:
        if not index.delete([document]):
            raise NotFound(f"index {name} has no document {document!r}.", "It may have been deleted already.")
        return 1

    return {"schema": 1, "index": name, "deleted": await _write(service, caller, name, deleted, request)}


@router.post("/delete")
async def delete_documents(
    name: str, body: DeleteBody, service: ServiceDep, caller: CallerDep, request: Request
) -> JsonObject:
    """Delete the documents of `ids`, or all that pass `where`. Unknown ids are left out of the count."""
    service.check_batch(body.ids or (), "ids")
    deleted = await _write(
        service, caller, name, lambda index: index.delete(body.ids, where=body.where, values=body.values), request
    )
    return {"schema": 1, "index": name, "deleted": deleted}


async def _read(service: Service, caller: Caller, name: str, call: Callable[[Index], JsonObject]) -> Response:
    caller.require_index(name)

    def work() -> Response:
        with service.indexes.reading(name) as index:
            return json_response(call(index))

    return await service.read(work)


async def _write(
    service: Service, caller: Caller, name: str, call: Callable[[Index], T], request: Request | None = None
) -> T:
    caller.require_index(name)
    caller.require("write")

    def work() -> T:
        with service.indexes.writing(name) as index:
            return call(index)

    return await service.write(work, request)


def _adding(batch: Sequence[Document]) -> Callable[[Index], SyncReport]:
    return lambda index: index.add(batch, errors="skip")


def _stored(documents: JsonObject) -> str:
    """What an error of an upload says about the documents before it."""
    return f"{sum(documents[kind] for kind in ('added', 'changed', 'unchanged')):,} documents before it are stored."


def _answer(report: JsonObject, request: Request) -> Response:
    """The answer to documents: what is stored, and each that is not."""
    skipped = report["skipped"]
    if not skipped:
        return json_response(report)
    if any(report["documents"][kind] for kind in ("added", "changed", "unchanged")):
        return json_response(report, 207)
    errors = [{"field": one["path"], "problem": one["reason"]} for one in skipped]
    place = escaped(errors[0]["field"])
    wrong = Unreadable(f"{place}: {errors[0]['problem'].rstrip('.')}.", "No document is stored.")
    return problems.answer(wrong, request.scope, errors=errors, skipped=skipped)


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


class _Upload:
    """The documents of an upload, some at a time, and what is skipped: each line that is no document, by its number."""

    def __init__(self, request: Request, longest: int) -> None:
        self._request, self._longest = request, longest
        self._line = 0  # the number of the last one
        self.lines: dict[str, int] = {}  # of the documents of the latest batch, by id
        self.wrong: list[JsonObject] = []  # since the latest batch

    async def batches(self) -> AsyncIterator[list[Document]]:
        """Lists of documents, or of none where many lines are wrong. Raises HTTPException for a limit of the gate."""
        batch: list[Document] = []
        size = 0
        async for lines in _lines(self._request, self._longest):
            for some in batches(lines, UPLOADED, weight=len, heaviest=UPLOADED_BYTES):
                batch += await beside(None, partial(self._read, some))
                size += sum(map(len, some))
                if len(batch) + len(self.wrong) >= UPLOADED or size >= UPLOADED_BYTES:
                    yield batch
                    batch, size, self.lines, self.wrong = [], 0, {}, []
        if batch or self.wrong:
            yield batch

    def _read(self, lines: Sequence[bytes]) -> list[Document]:
        documents = []
        for line in lines:
            self._line += 1
            if len(line) > self._longest:
                self._skip(f"longer than {self._longest // 2**20} MB")
            elif line.strip():
                try:
                    document = DocumentBody.model_validate(parsed(line)).document()
                except Refused as error:
                    self._skip(error.message.rstrip(".").replace("the body", "it", 1))
                except ValidationError as error:
                    first = error.errors(include_input=False, include_url=False)[0]
                    self._skip(": ".join(filter(None, problems.described(first))))
                else:
                    self.lines[document.id] = self._line
                    documents.append(document)
        return documents

    def _skip(self, reason: str) -> None:
        self.wrong.append({"path": f"line {self._line}", "reason": reason, "line": self._line})


async def _lines(request: Request, longest: int) -> AsyncIterator[list[bytes]]:
    """The lines of a body as they come; of one that is longer than `longest`, more than that many bytes."""
    pieces: list[bytes] = []
    size = 0
    async for received in request.stream():
        first, *others = received.split(b"\n")
        if size <= longest:
            pieces.append(first)
            size += len(first)
        if others:
            yield [b"".join(pieces), *others[:-1]]
            pieces, size = [others[-1]], len(others[-1])
    yield [b"".join(pieces)]
