"""Documents: hand in, list, remove; and search, which is retrieval alone."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.gateway.auth import Caller, needs
from services.gateway.handler import Submission
from services.gateway.problems import Problem
from services.gateway.state import Gateway, gateway
from shared.bus.ports import readable
from shared.contracts.domain import Document
from shared.contracts.envelope import Event
from shared.contracts.errors import NotFoundError
from shared.contracts.facts import DocumentIndexed, DocumentRefused, Fact
from shared.contracts.requests.retrieval import (
    DocumentsRequest,
    RemoveRequest,
    SearchRequest,
    SourceIndexRequest,
)
from shared.text.languages import code3

router = APIRouter(prefix="/api/v1", tags=["documents"])

Here = Annotated[Gateway, Depends(gateway)]
Client = Annotated[Caller, Depends(needs("client"))]
Editor = Annotated[Caller, Depends(needs("editor"))]

#: Documents of one request that are under way at once.
AT_ONCE = 16
#: Most documents of one request.
BATCH = 500


class DocumentIn(BaseModel):
    """A document: `text`, or `base64` for bytes (PDF)."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field(min_length=1, max_length=1000, description="Its id, e.g. kb:guide.md; the same id replaces it.")
    media_type: str = Field(default="text/plain", max_length=100)
    title: str = Field(default="", max_length=1000)
    url: str = Field(default="", max_length=4000)
    language: str = Field(default="", max_length=16)
    collection: str = Field(default="", max_length=200)
    date: str = Field(default="", max_length=40, description="When it was last changed, if it does not say so itself.")
    parts: int = Field(
        default=0, ge=0, le=100_000, description="With the last part of a long text (…#part=N): how many there are."
    )
    text: str | None = None
    base64: str | None = None

    def submission(self) -> Submission:
        """Its bytes and description.

        Raises:
            Problem: 422 when it has not exactly one body.
        """
        if (self.text is None) == (self.base64 is None):
            raise Problem(422, f"{self.source}: send either text or base64")
        try:
            body = self.text.encode() if self.text is not None else base64.b64decode(self.base64 or "", validate=True)
        except ValueError:  # also for letters outside ASCII
            raise Problem(422, f"{self.source}: base64 cannot be decoded") from None
        description = self.model_dump(exclude={"text", "base64"})
        return Submission(Document(**description, digest=hashlib.sha256(body).hexdigest()), body)


class IngestIn(BaseModel):
    """Several documents at once."""

    model_config = ConfigDict(extra="forbid")

    documents: list[DocumentIn] = Field(min_length=1, max_length=BATCH)
    wait: bool = Field(default=True, description="Answer when all are indexed or refused, at most after `timeout`.")
    timeout: float = Field(default=120, gt=0, le=600, description="Seconds.")


class SearchIn(BaseModel):
    """A search of the documents, without an answer."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=2000)
    limit: int = Field(default=10, ge=1, le=50)
    language: str = Field(default="", max_length=16)
    pipeline: str = Field(default="", max_length=100, description="Whose settings apply; default: the server's.")
    collections: list[str] = Field(default=[], max_length=100, description="Only these; default: the pipeline's.")
    retrievers: list[Literal["bm25", "dense", "graph", "web"]] = Field(
        default=[], description="Only these; default: the pipeline's."
    )
    explain: bool = Field(
        default=False, description="Also report what each retriever found and each ranking step changed."
    )
    as_question: bool = Field(
        default=False, description="Take the steps before the search that a question takes, such as sub-questions."
    )


@router.post("/search")
async def search(body: SearchIn, here: Here, _: Client) -> dict[str, Any]:
    """Passages for a query, best first."""
    request = SearchRequest(
        query=body.query,
        limit=body.limit,
        language=code3(body.language),
        pipeline=body.pipeline,
        collections=tuple(body.collections),
        retrievers=tuple(body.retrievers),
        explain=body.explain,
        as_question=body.as_question,
    )
    reply = await here.context.requests.ask(request)
    return reply.model_dump(exclude=None if body.explain else {"explanation"})


@router.post("/documents", status_code=202)
async def submit(
    request: Request,
    here: Here,
    _: Editor,
    source: Annotated[str, Query(max_length=1000)] = "",
    title: Annotated[str, Query(max_length=1000)] = "",
    url: Annotated[str, Query(max_length=4000)] = "",
    language: Annotated[str, Query(max_length=16)] = "",
) -> dict[str, Any]:
    """Hand in one document: JSON, or its raw bytes with their Content-Type and `?source=`."""
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    body = await request.body()
    if media_type == "application/json":
        try:
            submission = DocumentIn.model_validate_json(body).submission()
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_input=False)) from None
    elif not source:
        raise Problem(422, "source: say which document this is, e.g. ?source=kb:guide.pdf")
    else:
        document = Document(
            source=source,
            media_type=media_type or "text/plain",
            title=title,
            url=url,
            language=language,
            digest=hashlib.sha256(body).hexdigest(),
        )
        submission = Submission(document, body)
    event = await here.reception.submit(submission)
    status = f"/api/v1/submissions/{event.correlation_id}"
    return {"id": event.correlation_id, "source": submission.document.source, "links": {"status": status}}


@router.get("/submissions/{submission_id}")
async def submission_status(submission_id: str, here: Here, _: Editor) -> dict[str, Any]:
    """What became of a document that was handed in."""
    stored = readable(await here.reception.find(submission_id))
    outcome = next((event for event in stored if isinstance(event.payload, DocumentIndexed | DocumentRefused)), None)
    return {"id": submission_id, **_outcome(outcome)}


@router.post("/ingest")
async def ingest(body: IngestIn, here: Here, _: Editor) -> dict[str, Any]:
    """Hand in several documents and, unless told otherwise, wait until each is indexed or refused."""
    submissions = [document.submission() for document in body.documents]
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(submission: Submission) -> dict[str, Any]:
        async with gate:
            event, outcome = await here.reception.submit_and_wait(submission, body.timeout if body.wait else 0)
        return {"id": event.correlation_id, "source": submission.document.source, **_outcome(outcome)}

    results = await asyncio.gather(*(one(submission) for submission in submissions))
    counts: dict[str, int] = {}
    for result in results:
        counts[result["status"]] = counts.get(result["status"], 0) + 1
    return {"counts": counts, "documents": results}


@router.get("/documents")
async def documents(
    here: Here,
    _: Editor,
    collection: str = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    after: str = "",
) -> dict[str, Any]:
    """The indexed documents by source, a page at a time; `after` of one reply asks for the next."""
    request = DocumentsRequest(collection=collection, limit=limit, after=after)
    return (await here.context.requests.ask(request)).model_dump()


@router.get("/documents/index")
async def source_index(
    request: Request,
    here: Here,
    _: Client,
    collection: Annotated[list[str] | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    after: str = "",
) -> Any:
    """The index of sources by id, a page at a time: each with one line on what it is about.

    As plain text (`Accept: text/plain`) a source per line; `Link` leads to the next page then.
    """
    wanted = SourceIndexRequest(collections=tuple(collection or ()), limit=limit, after=after)
    reply = await here.context.requests.ask(wanted)
    if "text/plain" not in request.headers.get("accept", ""):
        return reply.model_dump()
    onward = request.url.include_query_params(after=reply.after)
    headers = {"link": f'<{onward.path}?{onward.query}>; rel="next"'} if reply.after else {}
    return PlainTextResponse("".join(f"{entry.line()}\n" for entry in reply.entries), headers=headers)


@router.delete("/documents")
async def remove(
    here: Here, _: Editor, source: Annotated[list[str], Query(min_length=1, max_length=1000)]
) -> dict[str, Any]:
    """Remove documents by their source ids; their passages are gone when this returns."""
    reply = await here.context.requests.ask(RemoveRequest(sources=tuple(source)))
    if not reply.removed:
        raise NotFoundError("none of these sources is indexed; see GET /api/v1/documents")
    return reply.model_dump()


def _outcome(event: Event[Fact] | None) -> dict[str, Any]:
    fact = event.payload if event else None
    if isinstance(fact, DocumentIndexed):
        status = "unchanged" if fact.unchanged else "indexed"
        return {"status": status, "chunks": fact.chunks, "seconds": fact.seconds}
    if isinstance(fact, DocumentRefused):
        return {"status": "refused", "reason": fact.reason}
    return {"status": "submitted"}
