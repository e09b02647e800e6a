"""The console's views of documents and of the graph in a real browser, over the real stages."""

from __future__ import annotations

import asyncio
import hashlib
import io
import threading
from collections.abc import AsyncIterator
from typing import Any

import docx
import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from shared.runtime.settings import Settings
from tests.support.browser import barriers, picture
from tests.support.console import console
from tests.support.judged import GOOD, Script, platform, tags
from tests.support.site import local_site
from tests.support.speed import limit
from tests.unit.retrieval.test_document_readers import _pdf as pdf

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDITOR, OPERATOR = "editor-key-0123456789", "operator-key-0123456"
KEYS = f"desk:editor:{EDITOR},ops:operator:{OPERATOR}"
CHOOSE = {"en-GB": "Choose files", "fr-FR": "Choisir des fichiers"}
GAUGE = "# River Gauge\n\nA river gauge is a device. It measures the level of the water.\n"
WARNING = "# Flood Warning\n\nThe warning is sent at once.\n\nA flood warning uses the river gauge of every town.\n"
ISLANDS = {
    "elm": "Elm island has a school.",
    "oak": "The wardens of Oak island count the seals.",
    "yew": "Yew island is empty.",
}
SIREN = "# Night Siren\n\nThe night siren depends on the flood warning.\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """A platform with three documents about floods; tests add documents of names of their own."""
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("console"),
        port=0,
        api_keys=KEYS,
        max_document_bytes=300_000,
        web_inside=("127.0.0.1",),
    )
    async with platform(settings.data_dir, Script([tags(GOOD)]), settings=settings, corpus=()) as (_, client):
        for name, text in (("gauge", GAUGE), ("warning", WARNING), ("siren", SIREN)):
            await submit(client, {"source": f"kb:{name}.md", "text": text, "media_type": "text/markdown"})
        yield str(client.base_url)


async def submit(client: httpx.AsyncClient, document: dict[str, object]) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    reply = await client.post("/api/v1/ingest", json={"documents": [document]}, headers=headers)
    assert reply.json()["counts"] == {"indexed": 1}, reply.text


async def found(home: str, query: str) -> list[str]:
    """The sources that a search finds, best first."""
    async with httpx.AsyncClient(base_url=home, trust_env=False, timeout=60) as client:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        reply = await client.post("/api/v1/search", json={"query": query}, headers=headers)
    return [one["source"] for one in reply.json()["passages"]]


async def revisions_of(client: httpx.AsyncClient, source: str, headers: dict[str, str], count: int) -> Any:
    """The revisions of a document, once there are so many on record."""
    async with asyncio.timeout(limit(20)):
        while True:
            reply = await client.get("/api/v1/documents/revisions", params={"source": source}, headers=headers)
            if len(reply.json()["revisions"]) >= count:
                return reply.json()["revisions"]
            await asyncio.sleep(0.05)


def word_file(text: str) -> bytes:
    document = docx.Document()
    document.add_heading("Harbour rules", 1)
    document.add_paragraph(text)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


async def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    payloads = [{"name": name, "mimeType": kind, "buffer": body} for name, kind, body in files]
    await page.locator("input[type=file]").set_input_files(payloads)  # type: ignore[arg-type]


async def test_pdf_and_docx_are_uploaded_indexed_and_found_by_a_search(browser: Browser, home: str) -> None:
    async with console(browser, home, "#/documents", key=EDITOR) as page:
        await page.get_by_text("Collection, access and metadata").click()
        await page.get_by_label("Collection", exact=False).first.fill("port")
        await page.get_by_label("Metadata").fill("category=harbour")
        await choose(
            page,
            ("lighthouse.pdf", "application/pdf", pdf("The lighthouse keeper polishes the lens on Tuesdays.")),
            ("rules.docx", "", word_file("Every ferry whistles twice before it leaves the harbour.")),
        )
        await expect(page.locator(".upload .badge.good")).to_have_text(["Indexed", "Indexed"])
        await expect(page.locator(".upload-words").first).to_contain_text("1 passage, 2 entities")
        await expect(page.locator("tbody")).to_contain_text("kb:port/lighthouse.pdf")
        assert await barriers(page) == []
        await picture(page, "documents-uploaded")

        assert (await found(home, "When does the keeper polish the lens?"))[0] == "kb:port/lighthouse.pdf"
        assert (await found(home, "How often does a ferry whistle?"))[0] == "kb:port/rules.docx"

        await page.get_by_role("link", name="lighthouse.pdf").first.click()
        await expect(page.locator(".passages")).to_contain_text("polishes the lens on Tuesdays")
        await expect(page.locator(".facts").first).to_contain_text("harbour")
        await expect(page.locator(".facts").nth(1)).to_contain_text("SHA-256")
        assert await barriers(page) == []
        await picture(page, "documents-one")


async def test_files_are_dropped_and_unreadable_ones_are_refused_in_words(browser: Browser, home: str) -> None:
    async with console(browser, home, "#/documents", key=EDITOR) as page:
        await expect(page.get_by_role("button", name="Choose files")).to_be_visible()
        # Given files that are dropped: one in order, one of a wrong type, one too large, and one that is no PDF inside
        await page.evaluate(
            """() => {
                const files = new DataTransfer();
                files.items.add(new File(["The ferry sails at nine."], "ferry.txt", {type: "text/plain"}));
                files.items.add(new File(["x"], "photo.png", {type: "image/png"}));
                files.items.add(new File(["x".repeat(300001)], "large.txt", {type: "text/plain"}));
                files.items.add(new File(["this is not a PDF"], "broken.pdf", {type: "application/pdf"}));
                const drop = document.querySelector(".drop");
                for (const kind of ["dragover", "drop"]) {
                    drop.dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
                }
            }"""
        )

        await expect(page.locator(".upload", has_text="ferry.txt").locator(".badge")).to_have_text("Indexed")
        photo = page.locator(".upload", has_text="photo.png")
        await expect(photo).to_contain_text("Files of this kind cannot be read. Send one of")
        await expect(photo).to_contain_text(".pdf")
        await expect(page.locator(".upload", has_text="large.txt")).to_contain_text("The file is larger than 300 kB.")
        broken = page.locator(".upload", has_text="broken.pdf")
        await expect(broken.locator(".badge")).to_have_text("Refused")
        await expect(broken.locator(".upload-words")).to_contain_text("PDF")
        assert await barriers(page) == []
        await picture(page, "documents-refused")
        await page.get_by_role("button", name="Remove finished files from this list").click()
        await expect(page.locator(".upload")).to_have_count(0)


async def test_document_is_removed_after_a_confirmation(browser: Browser, home: str) -> None:
    async with httpx.AsyncClient(base_url=home, trust_env=False, timeout=60) as client:
        await submit(
            client, {"source": "kb:umbrella.txt", "title": "Umbrellas", "text": "Umbrellas are lent at the pier."}
        )
    async with console(browser, home, "#/documents?text=umbrella", key=EDITOR) as page:
        await page.get_by_role("button", name="Remove Umbrellas").click()
        await expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone.")
        assert await barriers(page) == []
        await picture(page, "documents-remove")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.get_by_role("button", name="Remove Umbrellas").click()
        await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("No document passes these filters")).to_be_visible()
    assert "kb:umbrella.txt" not in await found(home, "Where are umbrellas lent?")


async def test_versions_of_a_document_are_listed_with_what_each_became(browser: Browser, home: str) -> None:
    source = "kb:ledger.md"
    texts = ("# Ledger\n\nOne boat.\n", "# Ledger\n\nTwo boats.\n", "# Ledger\n\nTwo boats.\n")
    async with httpx.AsyncClient(base_url=home, trust_env=False, timeout=60) as client:
        headers = {"Authorization": f"Bearer {EDITOR}"}
        for text in (*texts, ""):
            body = {"documents": [{"source": source, "text": text, "media_type": "text/markdown"}]}
            await client.post("/api/v1/ingest", json=body, headers=headers)
        found = await revisions_of(client, source, headers, 3)
        none = await client.get("/api/v1/documents/revisions", params={"source": "kb:no"}, headers=headers)

    assert [one["status"] for one in found] == ["refused", "indexed", "indexed"]
    assert found[1]["digest"] == hashlib.sha256(texts[1].encode()).hexdigest()
    assert none.status_code == 404
    async with console(browser, home, "#/documents/kb%3Aledger.md", key=EDITOR) as page:
        rows = page.get_by_role("region", name="Earlier and refused versions").locator("tbody tr")
        await expect(rows).to_have_count(3)
        await expect(rows.nth(0)).to_contain_text("Refused")
        await expect(rows.nth(1)).to_contain_text("In the index")
        await expect(rows.nth(2)).to_contain_text("Replaced")
        assert await barriers(page) == []
        await picture(page, "documents-versions", rows.nth(2))


async def test_documents_are_filtered_and_the_address_keeps_the_filters(browser: Browser, home: str) -> None:
    async with console(browser, home, "#/documents", key=EDITOR) as page:
        await page.get_by_label("Name or title").fill("siren")
        await page.keyboard.press("Enter")
        await expect(page.locator("tbody tr")).to_have_count(1)
        await expect(page.locator("tbody")).to_contain_text("Night Siren")
        assert "text=siren" in page.url
        await page.get_by_role("link", name="Reset filters").click()
        await expect(page.locator("tbody")).to_contain_text("kb:gauge.md")


async def test_a_site_is_crawled_stopped_and_resumed(browser: Browser, home: str) -> None:
    pages = {f"/{name}.html": f"<title>{name}</title><p>{text}</p>" for name, text in ISLANDS.items()}
    with local_site(pages) as site:
        site.held["/oak.html"] = threading.Event()
        async with console(browser, home, "#/documents", key=EDITOR) as page:
            await page.get_by_label("Address of a sitemap").fill("http://10.0.0.7/sitemap.xml")
            await page.get_by_role("button", name="Read the site").click()
            await expect(page.get_by_role("alert")).to_contain_text("not on the public internet")
            assert await barriers(page) == []

            await page.get_by_label("Address of a sitemap").fill(site.sitemap)
            await page.get_by_label("Collection of the pages").fill("islands")
            await page.get_by_role("button", name="Read the site").click()
            row = page.locator(".uploads li", has_text=site.sitemap)
            await expect(row).to_contain_text("1 of 3 pages · indexed: 1")
            assert await barriers(page) == []
            await picture(page, "documents-crawl", row)
            await row.get_by_role("button", name="Stop").click()
            await expect(row.locator(".badge")).to_have_text("Stopped")
            site.held.pop("/oak.html").set()
            await row.get_by_role("button", name="Read").click()
            await expect(row.locator(".badge")).to_have_text("Done")
            await expect(row).to_contain_text("3 of 3 pages · indexed: 3")
            await expect(page.locator("tbody")).to_contain_text("islands")
            assert await barriers(page) == []

    assert (await found(home, "Who counts the seals?"))[0].startswith("kb:islands/")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "fr-FR"])
async def test_views_have_no_barriers_in_either_language_or_theme(
    browser: Browser, home: str, locale: str, theme: str
) -> None:
    options = {"locale": locale, "color_scheme": theme}
    async with console(browser, home, "#/documents", key=OPERATOR, **options) as page:
        await expect(page.get_by_role("button", name=CHOOSE[locale])).to_be_visible()
        await expect(page.locator("tbody tr").first).to_be_visible()
        assert await barriers(page) == []
        await picture(page, f"documents-{locale[:2]}-{theme}")
        await page.goto(f"{home}/console#/documents/kb%3Awarning.md")
        await expect(page.locator(".passages")).to_contain_text("sent at once")
        assert await barriers(page) == []
        await page.goto(f"{home}/console#/graph?source=kb%3Awarning.md")
        await expect(page.locator(".node").first).to_be_visible()
        await page.locator(".node", has_text="Flood Warning").click()
        await expect(page.locator(".graph-chosen blockquote").first).to_be_visible()
        assert await barriers(page) == []
        await picture(page, f"graph-{locale[:2]}-{theme}")


async def test_graph_of_a_document_is_expanded_by_mouse_and_the_proof_of_a_relation_is_shown(
    browser: Browser, home: str
) -> None:
    async with console(browser, home, "#/documents/kb%3Awarning.md", key=OPERATOR) as page:
        await page.get_by_role("link", name="Show its graph").click()
        node = page.locator(".node", has_text="Flood Warning")
        await node.click()
        await expect(page.locator(".graph-chosen h2")).to_have_text("Flood Warning")
        await expect(page.locator(".node", has_text="Night Siren")).to_have_count(0)
        await node.click()
        await expect(page.locator(".node", has_text="Night Siren")).to_be_visible()
        await expect(page.get_by_text("Flood Warning: ", exact=False)).to_be_visible()
        await picture(page, "graph-expanded")

        await page.get_by_role("button", name="Passages of: Flood Warning uses River Gauge").click()
        chosen = page.locator(".graph-chosen")
        await expect(chosen.locator("h2")).to_have_text("Flood Warning uses River Gauge")
        await expect(chosen.locator("blockquote")).to_have_count(1)
        await expect(chosen.locator("blockquote")).to_contain_text("A flood warning uses the river gauge of")
        await expect(chosen.locator("mark").first).to_have_text("flood warning")
        await expect(chosen.get_by_role("link", name="kb:warning.md")).to_be_in_viewport()
        assert await barriers(page) == []
        await picture(page, "graph-proof")


async def test_graph_is_walked_and_expanded_by_keyboard_alone(browser: Browser, home: str) -> None:
    async with console(browser, home, "#/graph?source=kb%3Awarning.md", key=OPERATOR) as page:
        await expect(page.locator(".node").first).to_be_visible()
        await page.get_by_role("button", name="Show", exact=True).focus()
        await _forward(page, "Flood Warning")
        await page.keyboard.press("Enter")
        await expect(page.locator(".graph-chosen h2")).to_have_text("Flood Warning")
        await page.keyboard.press("Enter")
        await expect(page.locator(".node", has_text="Night Siren")).to_be_visible()
        before = await _focused(page)
        for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
            await page.keyboard.press(key)
        assert await page.evaluate("document.activeElement.classList.contains('node')")
        assert before.startswith("Flood Warning")
        # The same is in the lists.
        await page.get_by_role("button", name="Expand River Gauge").focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".graph-chosen h2")).to_have_text("River Gauge")


async def _focused(page: Page) -> str:
    return str(await page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''"))


async def _forward(page: Page, label: str) -> None:
    """Move the focus forwards until it is on what has a label that begins so."""
    for _step in range(15):
        await page.keyboard.press("Tab")
        if (await _focused(page)).startswith(label):
            return
    raise AssertionError(f"{label} cannot be reached by keyboard")


async def test_graph_of_a_question_and_of_a_name_is_shown(browser: Browser, home: str) -> None:
    async with httpx.AsyncClient(base_url=home, trust_env=False, timeout=60) as client:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        asked = (
            await client.post("/api/v1/query", json={"question": "What does a flood warning use?"}, headers=headers)
        ).json()
    async with console(browser, home, "#/graph", key=OPERATOR) as page:
        await expect(page.locator(".whole")).to_contain_text("entities")
        await page.get_by_label("Graph of").select_option("question")
        await page.get_by_label("Id of the question").fill(asked["id"])
        await page.get_by_role("button", name="Show", exact=True).click()
        await expect(page.get_by_role("region", name="Entities")).to_contain_text("River Gauge")
        await page.get_by_label("Graph of").select_option("text")
        await page.get_by_label("Words of a name").fill("night si")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("region", name="Entities").locator("tbody tr")).to_have_count(1)
        await page.get_by_label("Words of a name").fill("zanzibar")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="No entity")).to_be_visible()
        assert await barriers(page) == []
        await page.goto(f"{home}/console#/graph?source=kb%3Anone")
        await expect(page.get_by_role("alert")).to_contain_text("kb:none is not indexed")


async def test_narrow_pages_need_no_sideways_scrolling(browser: Browser, home: str) -> None:
    async with console(browser, home, "#/documents", key=OPERATOR, viewport={"width": 320, "height": 700}) as page:
        for address, ready in (
            ("#/documents", "tbody tr"),
            ("#/documents/kb%3Awarning.md", ".passages li"),
            ("#/graph?source=kb%3Awarning.md", ".node"),
        ):
            await page.goto(f"{home}/console{address}")
            await expect(page.locator(ready).first).to_be_visible()
            assert await page.evaluate("document.querySelector('main').scrollWidth") <= 320, address
            assert await barriers(page) == []
            await picture(page, f"narrow-{ready.strip('.').split()[0]}")
