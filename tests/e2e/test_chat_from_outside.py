"""The chat page on a platform of real processes whose gateway is killed while an answer is written."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.support.browser import open_page, running_browser
from tests.support.platform import Platform, running_with_keys
from tests.support.speed import limit

pytestmark = pytest.mark.e2e

CLIENT, OPERATOR = "client-key-0123456789", "operator-key-012345"
RENT = "What is the rent of a garden plot?"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    root = tmp_path_factory.mktemp("chat")
    with running_with_keys(root, client=CLIENT, operator=OPERATOR, deadline_seconds=240) as up:
        yield up


async def test_the_page_shows_the_whole_answer_after_its_gateway_was_killed(platform: Platform) -> None:
    async with running_browser() as browser, open_page(browser, platform.url) as page:
        await page.get_by_label("API key").fill(CLIENT)
        await page.get_by_role("button", name="Continue").click()
        writer = platform.worker("answer")
        os.kill(writer, signal.SIGSTOP)
        try:
            await page.get_by_role("textbox").fill(RENT)
            await page.get_by_role("textbox").press("Enter")
            await expect(page.locator(".progress")).to_have_text("Writing the answer", timeout=limit(60) * 1e3)
            platform.kill(platform.worker("gateway"))
            await platform.ready()
        finally:
            with contextlib.suppress(ProcessLookupError):  # it was replaced
                os.kill(writer, signal.SIGCONT)

        await expect(page.locator("article[aria-busy=false]")).to_have_count(1, timeout=limit(60) * 1e3)
        await expect(page.locator(".prose")).to_contain_text("forty euros")
        await expect(page.locator(".question")).to_have_count(1)
