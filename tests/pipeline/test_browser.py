"""`EventSource` of a real browser, on a page of another site, over connections that are cut."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.chromium import chromium, page_server, report_of
from tests.support.cutting_proxy import cutting_proxy, growing
from tests.support.faces import running_faces
from tests.support.http_client import SseEvent, SseParser
from tests.support.reassembly import Reassembled

RENT = "What is the rent of a garden plot?"
#: It never closes the stream: the server ends it. Every event is kept, also one that would come twice.
PAGE = """<!doctype html><title>A page</title><script>
const names = ["status", "notice", "token", "reset", "citation", "followups", "result"];
const events = [];
let errors = 0;
const source = new EventSource(ADDRESS);
for (const name of names) {
  source.addEventListener(name, (event) => events.push([name, JSON.parse(event.data)]));
}
source.addEventListener("error", () => {
  errors += 1;
  if (source.readyState === EventSource.CLOSED) {
    fetch("/report", { method: "POST", body: JSON.stringify({ events, errors }) });
  }
});
</script>"""


async def test_page_of_another_site_misses_and_doubles_nothing_when_its_stream_is_cut(tmp_path: Path) -> None:
    browser = chromium()
    async with page_server() as page:
        process = {"cors_origins": (page.origin,)}
        async with running_faces(tmp_path / "platform", process=process, cache="off") as faces:
            async with faces.http() as http:
                question = (await http.post("/api/v1/questions", json={"question": RENT})).json()["id"]
                ticket = (await http.post(f"/api/v1/questions/{question}/stream-ticket")).json()["events"]
            async with cutting_proxy(faces.url, "/events", growing(250, 2.0)) as proxy:
                page.html = PAGE.replace("ADDRESS", json.dumps(f"{proxy.url}{ticket}"))
                got = await report_of(page, browser, tmp_path / "profile")
            async with faces.http() as http:
                uncut = await http.get(f"/api/v1/questions/{question}/events")

    seen, whole = Reassembled(), Reassembled()
    for name, data in got["events"]:
        seen.take(SseEvent("", name, data))
    for event in SseParser().feed(uncut.content):
        whole.take(event)
    assert proxy.cut >= 3
    assert got["errors"] > proxy.cut
    assert all("last-event-id: " in head.lower() for head in proxy.heads[1:])
    assert "forty euros" in seen.text
    assert (seen.text, seen.events) == (whole.text, whole.events)
    assert not any("authorization" in head.lower() for head in proxy.heads)
