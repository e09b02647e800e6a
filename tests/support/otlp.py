"""A receiver of OpenTelemetry traces (OTLP over HTTP, protobuf), and the collector that may stand before it.

with receiver() as traces: ...              # traces.url; traces.spans() are those that came so far
with collector(tmp_path, traces.url) as url: ...   # a real collector, which passes on what it gets
"""

from __future__ import annotations

import contextlib
import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.servers import Server, free_port, missing
from tests.support.speed import limit

#: Where `make otelcol` puts the binary.
COLLECTOR = Path.home() / ".cache" / "answerbus" / "otelcol"


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it came; ids are hex digits, `parent` is empty for the first of a trace."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    failed: bool


@dataclass
class Traces:
    """What came, and the headers of the requests."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def spans(self) -> list[ReceivedSpan]:
        found = []
        for body in list(self.requests):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = _attributes(resource.resource.attributes)["service.name"]
                for scope in resource.scope_spans:
                    found += [
                        ReceivedSpan(
                            service,
                            one.name,
                            one.trace_id.hex(),
                            one.span_id.hex(),
                            one.parent_span_id.hex(),
                            _attributes(one.attributes),
                            one.status.code == 2,
                        )
                        for one in scope.spans
                    ]
        return found

    def wait_for(self, trace: str, names: set[str], *, failed: int = 0, patience: float = 30) -> list[ReceivedSpan]:
        """The spans of a trace once all of these have come, and so many that failed."""
        until = time.monotonic() + limit(patience)
        while True:
            spans = [one for one in self.spans() if one.trace == trace]
            if names <= {one.name for one in spans} and sum(one.failed for one in spans) >= failed:
                return spans
            assert time.monotonic() < until, f"only {sorted(one.name for one in spans)}"
            time.sleep(0.05)


def _attributes(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return found


@contextlib.contextmanager
def receiver() -> Iterator[Traces]:
    """A receiver on a free port."""
    traces = Traces()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            traces.requests.append(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
            traces.headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    traces.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield traces
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def collector(tmp_path: Path, url: str) -> Iterator[str]:
    """A collector that passes traces on to `url`; its own address for OTLP over HTTP."""
    if not COLLECTOR.exists():
        missing("otelcol", "there is no collector of OpenTelemetry; `make otelcol` builds it with Go")
    port = free_port()
    configuration = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"otlphttp": {"endpoint": url, "tls": {"insecure": True}, "sending_queue": {"enabled": False}}},
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlphttp"]}},
        },
    }
    path = tmp_path / "collector.yaml"
    path.write_text(yaml.safe_dump(configuration), "utf-8")
    command = [str(COLLECTOR), "--config", f"file:{path}"]
    server = Server("otelcol", port, f"http://127.0.0.1:{port}", command, tmp_path / "collector.log")
    server.start()
    try:
        yield server.url
    finally:
        server.stop()
