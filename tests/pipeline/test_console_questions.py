"""The questions of the console in a real browser, over the real stages with scripted models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect  # noqa: F401

from shared.runtime.settings import Settings
from tests.support.browser import barriers, picture, running_browser
from tests.support.console import console
from tests.support.judged import FINE, GOOD, POOR, RENT, THIN, Script, platform, result_of, tags
from tests.support.model_server import Scripted, ScriptedReply
from tests.support.speed import limit

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

THEMES = [("en-GB", "light"), ("en-GB", "dark"), ("fr-FR", "light"), ("fr-FR", "dark")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with running_browser() as running:
        yield running


@asynccontextmanager
async def running(
    folder: Path, *said: Scripted, verdicts: list[Scripted] | None = None, **sections: dict[str, Any]
) -> AsyncIterator[tuple[Any, Any, str]]:
    """A platform whose model says this: its bus, a client, and the address of its gateway."""
    script = Script(list(said) or [tags(GOOD)], verdicts, questions={"questions": []})
    sections = {"gateway": {"cache": "off"}, **sections}
    async with platform(folder, script, settings=Settings(data_dir=folder, port=0), **sections) as (bus, client):
        yield bus, client, str(client.base_url).rstrip("/")


async def test_a_question_appears_while_it_runs_and_moves_through_its_steps(browser: Browser, tmp_path: Path) -> None:
    slow = ScriptedReply(tags(GOOD), first=60)
    async with running(tmp_path, slow) as (_, client, home), console(browser, home, "#/questions") as page:
        await expect(page.get_by_role("heading", name="No questions yet")).to_be_visible()
        await expect(page.locator(".live-state")).to_contain_text("Live")
        assert await barriers(page) == []
        await page.evaluate(
            "() => { window.stages = []; new MutationObserver(() => document.querySelectorAll('[data-stage]').forEach("
            "(one) => window.stages.at(-1) === one.dataset.stage || window.stages.push(one.dataset.stage)))"
            ".observe(document.body, {subtree: true, childList: true, attributes: true}); }"
        )
        asked = (await client.post("/api/v1/questions", json={"question": RENT})).json()
        row = page.locator(".rows tbody tr")
        await expect(row).to_have_count(1)
        await expect(row.locator("[data-stage=answer]")).to_be_visible()
        await expect(row).to_contain_text(RENT)
        await picture(page, "console-question-running")

        await row.get_by_role("link").click()
        await expect(page.get_by_role("heading", name=RENT)).to_be_visible()
        await expect(page.locator(".bar-of-step .unfinished")).to_have_count(1)
        assert await barriers(page) == []

        await page.get_by_role("button", name="Withdraw …").click()
        dialog = page.get_by_role("dialog")
        assert await barriers(page) == []
        await dialog.get_by_role("button", name="Withdraw").click()
        await expect(page.locator(".badge").first).to_have_text("withdrawn")
        await page.get_by_role("link", name="All questions").click()
        await expect(page.locator(".rows tbody tr .badge")).to_have_text("withdrawn")
        state = (await client.get(f"/api/v1/questions/{asked['id']}")).json()
    assert state["result"]["outcome"] == "withdrawn"


async def test_a_row_moves_from_stage_to_stage_without_being_loaded_again(browser: Browser, tmp_path: Path) -> None:
    slow = ScriptedReply(tags(GOOD), first=1)
    async with running(tmp_path, slow) as (_, client, home), console(browser, home, "#/questions") as page:
        await expect(page.locator(".live-state")).to_contain_text("Live")
        pages: list[str] = []
        page.on("request", lambda one: pages.append(one.url) if "/api/v1/questions?" in one.url else None)
        await client.post("/api/v1/questions", json={"question": RENT})
        await expect(page.locator("[data-stage=answer]")).to_be_visible()
        await expect(page.locator(".rows .badge")).to_have_text("answered", timeout=limit(30) * 1e3)
    assert pages == []


@pytest.mark.parametrize(("locale", "theme"), THEMES)
async def test_an_answered_question_is_explained_in_both_languages_and_themes(
    browser: Browser, tmp_path: Path, locale: str, theme: str
) -> None:
    async with running(tmp_path, tags(THIN), tags(GOOD), verdicts=[POOR, FINE]) as (_, client, home):
        asked = await result_of(client)
        options = {"locale": locale, "color_scheme": theme}
        async with console(browser, home, "#/questions", **options) as page:
            await expect(page.locator(".rows tbody tr")).to_have_count(1)
            assert await barriers(page) == []
            await picture(page, f"console-questions-{locale[:2]}-{theme}")
            await page.locator(".rows tbody a").click()

            await expect(page.locator(".bar-of-step").first).to_be_visible()
            stages = await page.locator("table").first.locator("tbody tr td:first-child").all_inner_texts()
            assert [one.split(" ")[0] for one in stages][:5] == [
                "moderation",
                "translation",
                "retrieval",
                "answer",
                "verifier",
            ]
            drafts = page.locator(".side-by-side article")
            await expect(drafts).to_have_count(2)
            await expect(drafts.first).to_contain_text("Name the rent.")
            await expect(drafts.last).to_contain_text("forty euros")
            await page.locator(".facts summary").nth(3).click()
            await expect(page.locator(".facts .json").first).to_be_visible()
            await page.get_by_text(RENT).first.wait_for()
            assert await barriers(page) == []
            await picture(page, f"console-question-{locale[:2]}-{theme}")
            await page.locator("#retrieval").scroll_into_view_if_needed()
            await picture(page, f"console-question-retrieval-{locale[:2]}-{theme}")
            await page.locator("#facts").scroll_into_view_if_needed()
            await picture(page, f"console-question-facts-{locale[:2]}-{theme}")
    assert asked["attempts"] == 2
