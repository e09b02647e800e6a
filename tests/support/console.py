"""The console of a platform in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.support.browser import open_page


@asynccontextmanager
async def console(
    browser: Browser, home: str, address: str = "", *, key: str = "", **options: Any
) -> AsyncIterator[Page]:
    """The console of the gateway at `home`, at an address such as `#/stages`; signed in where a key is given."""
    async with open_page(browser, f"{home.rstrip('/')}/console{address}", **options) as page:
        if key:
            await page.locator("input[type=password]").fill(key)
            await page.locator("button[type=submit]").click()
        await expect(page.locator("nav")).to_be_attached()
        yield page
