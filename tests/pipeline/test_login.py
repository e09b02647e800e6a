"""Login at an issuer in a real browser: on the chat page and on the console, and every way in which it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from shared.runtime.settings import Settings
from tests.support.authorization_server import AuthorizationServer, authorization_server
from tests.support.browser import barriers, open_page, picture
from tests.support.issuer import AUDIENCE
from tests.support.judged import GOOD, RENT, Script, platform, tags
from tests.support.speed import limit

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "web-key-0123456789"
WORDS = {"en-GB": ("Log in", "Log out", "was cancelled"), "fr-FR": ("Se connecter", "Se déconnecter", "a été annulée")}


@pytest.fixture(scope="module")
def running_server() -> Iterator[AuthorizationServer]:
    with authorization_server() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(running_server: AuthorizationServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("login"),
        port=0,
        api_keys=f"web:client:{KEY}",  # type: ignore[arg-type]
        anonymous_session_seconds=0,
        oidc_issuer=running_server.issuer.url,
        oidc_audience=(AUDIENCE,),
        oidc_client_id="pages",
        oidc_scopes="openid offline_access",
        oidc_login_parameters={"resource": AUDIENCE},
        oidc_roles_claim="roles",
        oidc_roles={"ops": "operator"},
    )
    sections: dict[str, Any] = {"gateway": {"cache": "off"}}
    async with platform(settings.data_dir, Script([tags(GOOD)]), settings=settings, **sections) as (_, client):
        address = str(client.base_url).rstrip("/")
        running_server.clients["pages"] = [f"{address}/", f"{address}/console"]
        yield address


@pytest.fixture
def server(running_server: AuthorizationServer) -> AuthorizationServer:
    """As a new one, which asks people."""
    running_server.asks, running_server.claims = True, {}
    running_server.seconds, running_server.audience = 300, ""
    running_server.logins = running_server.refreshed = 0
    running_server.granted.clear()
    running_server.issuer.broken = False
    return running_server


async def log_in(page: Page, word: str = "Log in", choice: str = "yes") -> None:
    await page.get_by_role("button", name=word).click()
    await page.get_by_role("link", name=choice).click()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "fr-FR"])
async def test_somebody_logs_in_asks_and_logs_out_in_both_languages_and_themes(
    browser: Browser, home: str, server: AuthorizationServer, locale: str, theme: str
) -> None:
    log_in_word, log_out_word, cancelled = WORDS[locale]
    async with open_page(browser, f"{home}/", locale=locale, color_scheme=theme) as page:
        await expect(page.get_by_role("button", name=log_in_word)).to_be_visible()
        assert await barriers(page) == []
        await picture(page, f"login-{locale[:2]}-{theme}")
        await log_in(page, log_in_word, "no")
        await expect(page.get_by_role("alert")).to_contain_text(cancelled)
        assert await barriers(page) == []

        await log_in(page, log_in_word)
        await page.get_by_role("textbox").fill(RENT)
        await page.get_by_role("textbox").press("Enter")
        await expect(page.locator(".prose")).to_contain_text("forty euros", timeout=limit(30) * 1e3)
        assert urlsplit(page.url).query == ""

        await page.get_by_role("button", name=log_out_word).click()
        await expect(page.get_by_role("button", name=log_in_word)).to_be_visible()
        assert await page.evaluate("sessionStorage.getItem('answerbus.login')") is None
    assert server.logins == 1
    authorized, exchanged = server.granted
    assert (authorized["code_challenge_method"], authorized["response_type"]) == ("S256", "code")
    assert min(len(authorized["state"]), len(authorized["nonce"]), len(exchanged["code_verifier"])) >= 43
    assert "/realms/answers/logout" in server.issuer.asked


async def test_somebody_logs_in_to_the_console_and_comes_back_to_the_same_view(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    server.claims = {"roles": ["ops"]}
    async with open_page(browser, f"{home}/console#/quality") as page:
        assert await barriers(page) == []
        await log_in(page)
        await expect(page.locator("nav [aria-current]")).to_have_text("Quality")
        await expect(page.locator("header")).to_contain_text("operator")
        assert page.url == f"{home}/console#/quality"
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Log in as an operator or editor")


async def test_somebody_without_a_role_for_the_console_can_log_out_again(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    async with open_page(browser, f"{home}/console") as page:
        await log_in(page)
        await expect(page.locator("main")).to_contain_text("for operators and editors")
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("button", name="Log in")).to_be_visible()


async def test_a_token_is_renewed_before_it_expires_without_another_login(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    server.seconds = 0.001
    async with open_page(browser, f"{home}/") as page:
        await log_in(page)
        await expect(page.get_by_role("textbox")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("textbox")).to_be_visible()
    assert (server.logins, server.refreshed) == (1, 1)


async def test_a_login_that_has_expired_and_cannot_be_renewed_is_told(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    async with open_page(browser, f"{home}/") as page:
        await log_in(page)
        await expect(page.get_by_role("textbox")).to_be_visible()
        await page.evaluate(
            """(token) => sessionStorage.setItem("answerbus.login", JSON.stringify(
                {...JSON.parse(sessionStorage.getItem("answerbus.login")), access: token, refresh: "", renew: 0}))""",
            server.issuer.token(exp=1000),
        )
        await page.get_by_role("textbox").fill(RENT)
        await page.get_by_role("textbox").press("Enter")
        await expect(page.get_by_role("alert")).to_have_text("The login has expired. Log in again.")
        assert await barriers(page) == []
        await log_in(page)
        await expect(page.get_by_role("textbox")).to_be_visible()


async def test_a_refresh_token_that_was_withdrawn_ends_the_login(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    async with open_page(browser, f"{home}/") as page:
        await log_in(page)
        await expect(page.get_by_role("textbox")).to_be_visible()
        await page.evaluate(
            """() => sessionStorage.setItem("answerbus.login", JSON.stringify(
                {...JSON.parse(sessionStorage.getItem("answerbus.login")), refresh: "withdrawn", renew: 1}))"""
        )
        await page.reload()
        await expect(page.get_by_role("alert")).to_have_text("The login has expired. Log in again.")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"audience": "https://elsewhere.example.org"}, "This login is for another application."),
        ({"claims": {"exp": 1000}}, "The login has expired. Log in again."),
        ({"claims": {"iss": "https://elsewhere.example.org"}}, "The login has failed."),
    ],
)
async def test_a_token_that_the_gateway_refuses_is_told_with_its_reason(
    browser: Browser, home: str, server: AuthorizationServer, change: dict[str, Any], told: str
) -> None:
    for name, value in change.items():
        setattr(server, name, value)
    async with open_page(browser, f"{home}/") as page:
        await log_in(page)
        await expect(page.get_by_role("alert")).to_contain_text(told)
        assert await page.evaluate("sessionStorage.getItem('answerbus.login')") is None


async def test_a_login_that_this_tab_did_not_begin_is_not_used(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    async with open_page(browser, f"{home}/?code=somebodys&state=somebodys") as page:
        await expect(page.get_by_role("alert")).to_contain_text("was not begun in this tab")
        assert page.url == f"{home}/"
        await log_in(page)
        await expect(page.get_by_role("textbox")).to_be_visible()
        await page.goto(f"{home}/?code=somebodys&state=somebodys")
        await expect(page.get_by_role("textbox")).to_be_visible()
    assert server.logins == 1


async def test_an_id_token_of_another_login_is_not_used(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    async with open_page(browser, f"{home}/") as page:
        await page.get_by_role("button", name="Log in").click()
        link = page.get_by_role("link", name="yes")
        address = await link.get_attribute("href")
        assert address
        nonce = parse_qs(urlsplit(address).query)["nonce"][0]
        await page.goto(f"{server.issuer.url}/authorize{address.replace(nonce, 'x' * 43)}")
        await expect(page.get_by_role("alert")).to_contain_text("was not begun in this tab")


async def test_the_page_may_call_the_gateway_and_the_token_endpoint_and_nothing_else(
    browser: Browser, home: str, server: AuthorizationServer
) -> None:
    context = await browser.new_context()
    page = await context.new_page()  # what its policy forbids does not fail this test
    async with context:
        await page.goto(f"{home}/")
        reply = await page.request.get(f"{home}/")
        address = urlsplit(server.issuer.url)
        allowed = f"connect-src 'self' {address.scheme}://{address.netloc};"
        assert allowed in reply.headers["content-security-policy"]
        refused = lambda message: "connect-src" in message.text  # noqa: E731
        async with page.expect_console_message(refused):
            found = await page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
        assert found == "refused"


async def test_a_key_still_works_beside_the_login(browser: Browser, home: str, server: AuthorizationServer) -> None:
    async with open_page(browser, f"{home}/") as page:
        await page.get_by_label("API key").fill(KEY)
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("button", name="Forget the key")).to_be_visible()
