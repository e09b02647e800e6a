"""Answers the requests that the index sends to Qdrant, out of the client library's local mode; keeps what it is given.

python qdrant.py FOLDER PORT
"""

from __future__ import annotations

import json
import re
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models

warnings.simplefilter("ignore")  # local mode has no payload indexes and says so
_PATH = re.compile(r"/collections/([^/?]+)(?:/([a-z/]+))?(?:\?.*)?")
_LOCK = threading.Lock()
_DONE = {"operation_id": 0, "status": "completed"}


def respond(client: QdrantClient, method: str, name: str, action: str, body: dict[str, Any]) -> Any:
    """The result of a request, as JSON."""
    match method, action:
        case "GET", "exists":
            return {"exists": client.collection_exists(name)}
        case "PUT", "":
            wanted = models.CreateCollection.model_validate(body)
            return client.create_collection(
                name, wanted.vectors or {}, sparse_vectors_config=wanted.sparse_vectors or {}
            )
        case "PUT", "index":
            return _DONE
        case "PUT", "points":
            client.upsert(name, models.PointsList.model_validate(body).points)
            return _DONE
        case "POST", "points/delete":
            client.delete(name, models.FilterSelector.model_validate(body))
            return _DONE
        case "POST", "points":
            found = client.retrieve(name, models.PointRequest.model_validate(body).ids, with_payload=True)
            return [_plain(one) for one in found]
        case "POST", "points/scroll":
            page = models.ScrollRequest.model_validate(body)
            records, after = client.scroll(
                name, page.filter, limit=page.limit or 10, offset=page.offset, with_payload=True
            )
            return {"points": [_plain(one) for one in records], "next_page_offset": after}
        case "POST", "points/count":
            return _plain(client.count(name, models.CountRequest.model_validate(body).filter, exact=True))
        case "POST", "facet":
            facet = models.FacetRequest.model_validate(body)
            return _plain(client.facet(name, facet.key, facet.filter, limit=100, exact=True))
        case "POST", "points/query":
            query = models.QueryRequest.model_validate(body)
            nearest = query.query.nearest if isinstance(query.query, models.NearestQuery) else query.query
            return _plain(
                client.query_points(
                    name,
                    nearest,
                    using=query.using,
                    query_filter=query.filter,
                    limit=query.limit or 10,
                    with_payload=False,
                )
            )
    raise LookupError(f"not known: {method} {action}")


def _plain(model: Any) -> Any:
    return model.model_dump(mode="json", exclude_none=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    client: QdrantClient

    def do_GET(self) -> None:
        self._serve("GET")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_POST(self) -> None:
        self._serve("POST")

    def log_message(self, *_: Any) -> None:
        pass

    def _serve(self, method: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        found = _PATH.fullmatch(self.path)
        try:
            with _LOCK:
                result = respond(self.client, method, found[1], found[2] or "", body) if found else {}
            self._send(200, {"result": result, "status": "ok", "time": 0.0})
        except (LookupError, ValueError) as error:
            self._send(404, {"result": None, "status": {"error": str(error)}, "time": 0.0})

    def _send(self, status: int, document: dict[str, Any]) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    Handler.client = QdrantClient(path=sys.argv[1], force_disable_check_same_thread=True)
    ThreadingHTTPServer(("0.0.0.0", int(sys.argv[2])), Handler).serve_forever()
