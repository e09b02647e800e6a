"""Citations whose pages are gone, as an asker sees them over HTTP and an operator in the history of the question."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.platform import Platform, cli, running

pytestmark = pytest.mark.e2e

GARDEN = """---
url: {site}/dead/garden
---
# Community garden

Plots in the community garden are rented for one year. The rent of a garden plot is forty euros.
<script>alert(1)</script> Water for the garden plots comes from the rain tanks ![x](https://evil.example/p.png?q=1).
"""
PIPELINE = "name: {name}\nverifier:\n  check_urls: {check}\n  home_url: {{en: '{site}/home'}}\n"


class Site(ThreadingHTTPServer):
    """A town's site: what is below /dead is gone."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Answer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    server: Site

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        body = b"<title>Town</title><h1>Welcome</h1>"
        self.send_response(404 if self.path.startswith("/dead") else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("citations")
    folders = []
    for name, check in (("checked", "on"), ("unchecked", "off")):
        folders.append(root / name)
        folders[-1].mkdir()
        (folders[-1] / "pipeline.yaml").write_text(PIPELINE.format(name=name, check=check, site=site.url))
    corpus = root / "corpus"
    corpus.mkdir()
    (corpus / "garden.md").write_text(GARDEN.format(site=site.url))
    with running(root / "data", "--in-process", env={"ANSWERBUS_WEB_INSIDE": "127.0.0.1"}) as up:
        assert cli("pipelines", "apply", *map(str, folders), "--data", str(up.data)).returncode == 0
        done = cli("ingest", str(Path(corpus)), "--url", up.url)
        assert done.returncode == 0, done.stderr
        yield up


def _ask(platform: Platform, pipeline: str, question: str = "What is the rent of a garden plot?") -> dict[str, Any]:
    body = {"question": question, "pipeline": pipeline}
    reply = httpx.post(f"{platform.url}/api/v1/query", json=body, trust_env=False, timeout=60)
    assert reply.status_code == 200, reply.text
    asked: dict[str, Any] = reply.json()
    return asked


def test_dead_address_is_replaced_and_the_steps_are_told(platform: Platform, site: Site) -> None:
    asked = _ask(platform, "checked")

    (citation,) = asked["result"]["citations"]
    assert citation["url"] == f"{site.url}/home"
    assert citation["source"] == "kb:garden.md"
    assert citation["checked"]["status"] == "replaced"
    steps = [(step["rung"], step["outcome"], step["code"]) for step in citation["checked"]["ladder"]]
    assert steps == [("citation", "gone", 404), ("home", "works", 200)]
    shown = cli("events", "show", asked["id"], "--json", "--url", platform.url)
    (ending,) = [one for one in json.loads(shown.stdout) if one["fact"] == "AnswerVerified"]
    assert ending["payload"]["citations"][0]["checked"] == citation["checked"]
    assert "1 URL replaced" in cli("events", "show", asked["id"], "--url", platform.url).stdout


def test_what_is_known_of_an_address_is_not_asked_again(platform: Platform, site: Site) -> None:
    _ask(platform, "checked")
    before = len(site.asked)

    assert _ask(platform, "checked", "How much is the rent of a garden plot?")["result"]["citations"][0]["checked"]
    assert len(site.asked) == before


def test_nothing_is_asked_unless_the_pipeline_says_so(platform: Platform, site: Site) -> None:
    before = len(site.asked)

    (citation,) = _ask(platform, "unchecked")["result"]["citations"]

    assert (citation["url"], citation["checked"]) == (f"{site.url}/dead/garden", None)
    assert len(site.asked) == before


def test_document_that_holds_markup_is_quoted_without_any(platform: Platform) -> None:
    asked = _ask(platform, "unchecked", "Where does the water for the garden plots come from?")

    answer = asked["result"]["answer"]
    assert "rain tanks" in answer["content"]
    assert answer["type"] == "normal"
    for part in ("<script", "![", "](https://evil"):
        assert part not in json.dumps(asked)
