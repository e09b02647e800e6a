"""The index of sources over HTTP."""

from __future__ import annotations

from shared.contracts.requests.retrieval import IndexedDocument
from shared.contracts.stage import Stage
from tests.support.retrieval import document_handler
from tests.unit.gateway.harness import RunningGateway, running_gateway


class _Register:
    async def documents(self, collection: str = "") -> list[IndexedDocument]:
        return [
            IndexedDocument(source=f"kb:{name}", title=name, description="About it.", collection=name) for name in "abc"
        ]


def _joined(here: RunningGateway) -> None:
    stage = Stage("retrieval")
    stage.on_request(document_handler(_Register()).source_index)  # type: ignore[arg-type]
    here.bus.stages += [stage]


async def test_sources_are_listed_with_a_line_each() -> None:
    async with running_gateway() as here:
        _joined(here)

        reply = (await here.http.get("/api/v1/documents/index", params={"collection": ["a", "c"]})).json()

        assert reply["total"] == 2
        assert reply["entries"][0] == {"source": "kb:a", "title": "a", "description": "About it."}


async def test_sources_as_plain_text_lead_on_to_the_next_page() -> None:
    async with running_gateway() as here:
        _joined(here)
        text = {"Accept": "text/plain"}

        first = await here.http.get("/api/v1/documents/index", params={"limit": 2}, headers=text)
        onward = first.headers["link"].removeprefix("<").partition(">")[0]
        last = await here.http.get(onward, headers=text)

        assert first.text + last.text == "kb:a\ta — About it.\nkb:b\tb — About it.\nkb:c\tc — About it.\n"
        assert "link" not in last.headers
