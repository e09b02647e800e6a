"""A crawl over HTTP with the real stages and a real site: started, stopped, resumed, found by a search."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx

from cli.host.catalogue import builder
from services.gateway.server.http_server import HttpServer
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.support.site import local_site
from tests.support.speed import limit

KEYS = "desk:editor:editor-key-0123456789,other:editor:other-key-0123456789,ops:operator:operator-key-0123456"
GROUPS = "desk:staff"
PAGES = {
    f"/{name}": f"<html><title>{name}</title><p>{text}</p></html>"
    for name, text in (
        ("ferry", "The ferry to the island sails at nine in the morning."),
        ("tides", "The tide tables are printed every spring."),
        ("pier", "Umbrellas are lent at the pier without a deposit."),
    )
}


async def ended(client: httpx.AsyncClient, crawl: str, **headers: str) -> dict[str, Any]:
    async with asyncio.timeout(limit(60)):
        while (  # noqa: ASYNC110 (a request)
            found := (await client.get(f"/api/v1/crawls/{crawl}")).json()
        )["status"] in ("running", "stopping"):
            await asyncio.sleep(0.05)
    return dict(found)


async def test_a_site_is_read_stopped_resumed_and_then_found_by_a_search(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, port=0, api_keys=KEYS, key_groups=GROUPS, web_inside=("127.0.0.1",)  # type: ignore[arg-type]
    )  # fmt: skip
    with local_site(PAGES) as site:
        site.held["/tides"] = threading.Event()
        order = {"sitemap": site.sitemap, "collection": "harbour", "pause": 0, "groups": ["staff"]}
        async with MemoryBus(builder("gateway"), builder("retrieval"), settings=settings) as bus:
            (face,) = (port for stage in bus.stages for port in stage.ports if isinstance(port, HttpServer))
            serving = asyncio.create_task(bus.serve())
            base = f"http://127.0.0.1:{face.port}"
            key = {"Authorization": "Bearer editor-key-0123456789"}
            async with httpx.AsyncClient(base_url=base, headers=key, trust_env=False, timeout=60) as client:
                begun = await client.post("/api/v1/crawls", json=order)
                crawl = begun.json()["id"]
                async with asyncio.timeout(limit(60)):
                    while "/tides" not in site.asked:  # noqa: ASYNC110 (another thread)
                        await asyncio.sleep(0.05)
                stopping = (await client.post(f"/api/v1/crawls/{crawl}/stop")).json()
                stopped = await ended(client, crawl)
                site.held.pop("/tides").set()
                resumed = await client.post(f"/api/v1/crawls/{crawl}/resume")
                done = await ended(client, crawl)
                listed = (await client.get("/api/v1/crawls")).json()["crawls"]
                search = {"query": "Where are umbrellas lent?"}
                found = (await client.post("/api/v1/search", json=search)).json()["passages"]
                others = {"Authorization": "Bearer other-key-0123456789"}
                hidden = [
                    (await client.get("/api/v1/crawls", headers=others)).json()["crawls"],
                    (await client.post(f"/api/v1/crawls/{crawl}/resume", headers=others)).status_code,
                ]
                refused = await client.post("/api/v1/crawls", json={"sitemap": "http://10.0.0.7/sitemap.xml"})
            serving.cancel()

    assert (begun.status_code, resumed.status_code) == (202, 202)
    assert stopping["status"] == "stopping"
    assert (stopped["status"], stopped["read"], stopped["counts"]) == ("stopped", 1, {"indexed": 1})
    assert (done["status"], done["read"], done["listed"], done["run"]) == ("done", 3, 3, 2)
    assert done["counts"] == {"indexed": 3}
    assert site.asked.count("/ferry") == 1
    assert [one["id"] for one in listed] == [crawl]
    assert found[0]["source"] == f"kb:harbour/http://127.0.0.1:{site.port}/pier"
    assert hidden == [[], 404]
    assert refused.status_code == 422
    assert "not on the public internet" in refused.json()["detail"]
