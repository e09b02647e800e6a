"""Pages in a real Chromium, driven by Playwright; tests are skipped where there is none."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Error, Locator, Page, async_playwright, expect

from tests.support.chromium import chromium
from tests.support.servers import missing
from tests.support.speed import limit

#: Without a sandbox, which a container may not have.
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
#: Seconds for what a page waits for on an idle machine.
PATIENCE = 20


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """A browser without a window."""
    executable = chromium()
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(
                executable_path=executable, args=_OPTIONS, timeout=limit(60) * 1e3
            )
        except Error as error:  # it cannot start everywhere
            missing("chromium", str(error)[:300])
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def open_page(browser: Browser, address: str, **options: Any) -> AsyncIterator[Page]:
    """A page in a profile of its own; errors of its scripts, and what its policy forbids, fail the test."""
    context = await browser.new_context(**options)
    context.set_default_timeout(limit(PATIENCE) * 1e3)
    expect.set_options(timeout=limit(PATIENCE) * 1e3)
    page = await context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    await page.goto(address)
    try:
        yield page
        assert faults == []
    finally:
        await context.close()


async def picture(page: Page, name: str, shown: Locator | None = None) -> None:
    """Write what the page looks like, where `shown` is, into the folder that PICTURES names; nothing without it."""
    if folder := os.environ.get("PICTURES"):
        if shown:
            await shown.scroll_into_view_if_needed()
        await page.screenshot(path=Path(folder) / f"{name}.png")


async def watch_interactions(page: Page) -> None:
    """Have the page note how long it takes until what a key or a click changes is painted (Event Timing API)."""
    await page.evaluate(
        """() => {
            window.interactions = [];
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) if (one.interactionId) window.interactions.push(one.duration);
            }).observe({ type: "event", durationThreshold: 16, buffered: true });
        }"""
    )


async def slowest_interaction(page: Page) -> float:
    """Milliseconds of the slowest key or click since `watch_interactions`; 0 if each took less than 16."""
    # Entries are handed over after the frame in which they ended.
    await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    return float(await page.evaluate("Math.max(0, ...window.interactions)"))


async def barriers(page: Page) -> list[str]:
    """Violations of WCAG 2.1 A and AA that axe-core finds on the page as it is."""
    wanted = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
    found = await Axe().run(page, options=wanted)
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found.response["violations"]]
