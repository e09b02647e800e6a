"""The view of experiments in a real browser: a split is planned, started, watched, promoted; experts compare pairs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from cli.experiments.guards import Halt
from cli.experiments.judge import PairJudgement
from cli.experiments.kept_report import kept_document
from cli.experiments.pairs import Pair, Side
from cli.experiments.report import ExperimentReport
from cli.experiments.run_folder import RunState
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings
from tests.support.browser import barriers, picture
from tests.support.console import console
from tests.support.judged import GOOD, Script, platform, record_of, result_of, tags
from tests.support.model_server import Scripted
from tests.support.speed import limit

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDITOR, OPERATOR, LOCAL = "editor-key-0123456789", "operator-key-0123456", "tenant-key-0123456789"
KEYS = f"desk:editor:{EDITOR},ops:operator:{OPERATOR},local:operator:{LOCAL}"
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])
LOCALES = pytest.mark.parametrize("locale", ["en-GB", "fr-FR"])
QUESTIONS, PAIRS = 80, 3
SHORT = "Forty euros. [1]"
#: A live pipeline of its own and candidates for it.
ARMS = ("longer", "brief", "terse", "wordy", "plain")


@dataclass(frozen=True)
class Home:
    """A platform with a split that runs: its address, the questions' ids, and a client with an operator's key."""

    url: str
    live: list[str]
    shadows: list[str]
    client: httpx.AsyncClient


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    """Pairs of answers on record, and a split with so many questions that each arm has twenty of one language."""
    folder = tmp_path_factory.mktemp("experiments")
    settings = Settings(
        data_dir=folder,
        port=0,
        api_keys=KEYS,
        key_tenants="ops:*,desk:default,local:acme",
        tenants="acme",
        operator_credentials="own",
    )
    script = Script(answers())
    async with platform(folder, script, settings=settings, gateway={"cache": "off"}) as (bus, client):
        client.headers["Authorization"] = f"Bearer {OPERATOR}"
        ids = []
        for number in range(2 * PAIRS):
            ids.append((await result_of(client, f"What is the rent of plot {number % PAIRS}?"))["id"])
            await record_of(bus, ids[-1])
        for name in ("candidate", *ARMS):
            bus.pipelines.add(Pipeline.model_validate({"name": name, "sections": {"gateway": {"cache": "off"}}}))
        started = await client.post(
            "/api/v1/experiments", json={"name": "running", "weights": {"default": 50, "candidate": 50}}
        )
        assert started.status_code == 201, started.text
        for number in range(QUESTIONS):
            body = {"question": "What is the rent of a garden plot?", "client": {"user": f"user-{number}"}}
            reply = await client.post("/api/v1/query", json=body)
            assert reply.status_code == 200, reply.text
        async with asyncio.timeout(limit(30)):
            while not await counted(client):  # noqa: ASYNC110 (requests)
                await asyncio.sleep(0.1)
        yield Home(str(client.base_url).rstrip("/"), ids[:PAIRS], ids[PAIRS:], client)


def answers() -> list[Scripted]:
    """Those of the live pipeline, those of the shadows, then the same to everybody."""
    return [tags(GOOD)] * PAIRS + [tags(SHORT)] * PAIRS + [tags(GOOD)]


async def counted(client: httpx.AsyncClient) -> bool:
    """Whether the figures of the running split hold all questions."""
    told = (await client.get("/api/v1/experiments/running")).json()
    return sum(one["questions"] for one in told["figures"]["arms"]) == QUESTIONS


async def review(home: Home, name: str) -> str:
    """Pairs put before the experts; the review's id."""
    pairs = [{"live": a, "shadow": b} for a, b in zip(home.live, home.shadows, strict=True)]
    body = {"name": name, "title": f"Answers of {name}", "live": "default@1", "candidate": "short@1", "pairs": pairs}
    reply = await home.client.post("/api/v1/reviews", json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


async def key_for_shorter(page: Page) -> str:
    """The key that says that the shorter answer is better."""
    first = await page.locator(".side-answer").first.inner_text()
    return "1" if "Forty euros" in first else "2"


@LOCALES
@THEMES
async def test_a_running_split_shows_arms_intervals_segments_and_examples_in_both_languages_and_themes(
    browser: Browser, home: Home, locale: str, theme: str
) -> None:
    options = {"locale": locale, "color_scheme": theme, "viewport": {"width": 1280, "height": 900}}
    async with console(browser, home.url, "#/experiments", key=OPERATOR, **options) as page:
        await expect(page.get_by_role("link", name="running", exact=True)).to_be_visible()
        assert await barriers(page) == []
        await picture(page, f"console-experiments-{locale[:2]}-{theme}")
        await page.get_by_role("link", name="running", exact=True).click()
        arms = page.locator("main table").first
        await expect(arms.locator("tbody tr")).to_have_count(2)
        figures = await arms.locator("tbody tr td:nth-child(3)").all_inner_texts()
        assert sum(map(int, figures)) == QUESTIONS
        segments = page.get_by_role("region", name="By segment" if locale == "en-GB" else "Par segment")
        await expect(segments.locator("tbody tr").first).to_contain_text("eng")
        await expect(page.locator("main")).to_contain_text(
            "segments are compared" if locale == "en-GB" else "segments sont comparés"
        )
        assert await barriers(page) == []
        await picture(page, f"console-split-{locale[:2]}-{theme}")


def shadow_run(home: Home) -> dict[str, Any]:
    """What a shadow run of thirty pairs keeps: a judge and experts have preferred the live pipeline's answers."""
    texts = {"outcome": "answered", "answer": "zanzibar"}
    pairs = [
        Pair(
            question="zanzibar",
            language="eng",
            tenant="default",
            live=Side(
                id=home.live[number] if number < PAIRS else f"{number:032x}", pipeline="d@1", type="normal", **texts
            ),
            shadow=Side(
                id=f"f{number:031x}", pipeline="short@2", type="normal" if number % 3 else "not_found", **texts
            ),
        )
        for number in range(30)
    ]
    said = [PairJudgement(live=one.live.id, shadow=one.shadow.id, straight="first", swapped="second") for one in pairs]
    halt = Halt("answered is worse: -0.333", harmful=True)
    told = {
        "pairs": 30,
        "agreement": 0.5,
        "shared": 9,
        "comments": [{"comment": "zanzibar"}],
        "segments": [],
        "experts": [],
    }
    together = {"pairs": 3, "candidate": 0, "tie": 1, "bad": 0, "live": 2, "preference": -0.667}
    experts = {**told, "together": {**together, "low": None, "high": None, "says": "open"}}
    report = ExperimentReport("shorter", "d@1", "short@2", pairs, halt, said, experts)
    return kept_document(report, RunState(live="d@1"), "")


@LOCALES
@THEMES
async def test_a_shadow_run_that_was_kept_stands_beside_the_splits_with_judge_experts_and_segments(
    browser: Browser, home: Home, locale: str, theme: str
) -> None:
    english = locale == "en-GB"
    sent: dict[str, Any] = {"kind": "shadow", "name": "shorter", "report": shadow_run(home)}
    for pairs in (7, 30):  # the second replaces the first
        sent["report"]["pairs"] = pairs
        reply = await home.client.put(f"/api/v1/evaluations/{'c' * 32}", json=sent)
        assert reply.status_code == 200, reply.text
    options = {"locale": locale, "color_scheme": theme, "viewport": {"width": 1280, "height": 900}}
    async with console(browser, home.url, "#/experiments", key=OPERATOR, **options) as page:
        runs = page.locator("section", has=page.get_by_role("region", name="Shadow runs" if english else "fantômes"))
        await expect(runs.locator("tbody tr")).to_have_count(1)
        figures = await runs.locator("tbody tr td").all_inner_texts()
        comma = "." if english else ","
        assert (figures[0], figures[1], figures[2]) == ("shorter", "30", f"-0{comma}333")
        assert [one.replace(",", ".") for one in figures[4:6]] == ["-1", "-0.67"]
        assert await barriers(page) == []
        await runs.get_by_role("link", name="shorter").click()
        await expect(page.locator("main h2")).to_have_text("shorter")
        await expect(page.locator("main dl")).to_contain_text("answered is worse")
        names = ("say", "judge model", "experts", "segment") if english else ("disent", "juge", "experts", "segment")
        for name in names:
            await expect(page.locator("main table", has_text=name).first).to_be_visible()
        examples = page.get_by_role("region", name="Worse answers" if english else "Moins bonnes réponses")
        await expect(examples.locator("li")).to_have_count(10)
        assert await barriers(page) == []
        await picture(page, f"console-shadow-{locale[:2]}-{theme}")
        assert "zanzibar" not in await page.content()
        await page.set_viewport_size({"width": 320, "height": 640})
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        assert await barriers(page) == []
        await examples.get_by_role("link", name=home.live[0]).click()
        await expect(page.locator("main")).to_contain_text("plot 0")


async def test_a_kept_report_of_another_shape_is_said_to_be_none_of_a_shadow_run(browser: Browser, home: Home) -> None:
    sent = {"kind": "shadow", "name": "odd", "report": {"score": 1}}
    kept = (await home.client.post("/api/v1/evaluations", json=sent)).json()
    async with console(browser, home.url, f"#/experiments/shadow/{kept['id']}", key=OPERATOR) as page:
        await expect(page.locator("main .notice")).to_contain_text("not one of a shadow run")
        await page.goto(f"{home.url}/console#/experiments/shadow/{'9' * 32}")
        await expect(page.get_by_role("alert")).to_contain_text("there is no report")


async def test_what_a_split_can_find_is_told_before_it_starts_and_it_is_stopped_by_keyboard(
    browser: Browser, home: Home
) -> None:
    view = {"width": 320, "height": 640}
    async with console(browser, home.url, "#/experiments/split/running", key=OPERATOR, viewport=view) as page:
        await page.get_by_role("button", name="Stop …").focus()
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("answered by the live pipeline again")
        assert await barriers(page) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        assert (await home.client.get("/api/v1/experiments/running")).json()["status"] == "running"
        await page.get_by_role("button", name="Stop …").click()
        await dialog.get_by_role("button", name="Stop it").click()
        await expect(page.get_by_text("The split is stopped.")).to_be_visible()
        await expect(page.get_by_role("button", name="Stop …")).to_have_count(0)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        assert (await home.client.get("/api/v1/experiments/running")).json()["status"] == "stopped"

        await page.goto(f"{home.url}/console#/experiments/new")
        await page.get_by_label("Name of the experiment").fill("running")
        await page.get_by_role("combobox", name="Candidate 1").fill("candidate")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("send another name")
        await page.get_by_label("Name of the experiment").fill("second")
        await page.get_by_label("Weight of candidate 1").fill("1")
        await page.keyboard.press("Enter")
        checked = page.get_by_role("region", name="What this split can find").first
        found = checked.get_by_role("region", name="What this split can find")
        await expect(found.locator("tbody tr")).to_have_count(2)  # of 500 questions, it gets too few
        assert "second" not in [one["name"] for one in await splits(home)]
        await page.get_by_label("Weight of candidate 1").fill("90")
        await expect(page.get_by_role("button", name="Start it now")).to_be_disabled()
        await page.get_by_role("button", name="Check").click()
        await expect(found.locator("tbody tr")).to_have_count(3)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        assert await barriers(page) == []
        await picture(page, "console-split-plan-narrow")
        await page.get_by_role("button", name="Start it now").click()
        await expect(page.locator("main h2")).to_have_text("second")

        before = (await home.client.get("/api/v1/pipelines/default")).json()["revision"]
        await page.get_by_role("button", name="Promote …").click()
        await page.get_by_role("dialog").get_by_role("button", name="Promote it").click()
        await expect(page.get_by_text("The candidate is default@")).to_be_visible()
        revision = (await home.client.get("/api/v1/pipelines/default")).json()["revision"]
        assert revision > before
        await expect(page.get_by_text(f"The candidate is default@{revision} now.")).to_be_visible()
        assert {one["name"]: one["status"] for one in await splits(home)}["second"] == "promoted"


@LOCALES
@THEMES
async def test_a_split_of_several_candidates_is_planned_by_keyboard_and_its_names_and_weights_are_checked(
    browser: Browser, home: Home, locale: str, theme: str
) -> None:
    english, name = locale == "en-GB", f"several-{locale[:2]}-{theme}"
    view: dict[str, Any] = {"locale": locale, "color_scheme": theme, "viewport": {"width": 320, "height": 640}}
    async with console(browser, home.url, "#/experiments/new", key=OPERATOR, **view) as page:
        rows = page.locator("fieldset [role=group]")
        add = page.locator("fieldset > .row button")
        await page.locator("[pattern]").fill(name)
        await page.locator("fieldset input[list]").first.fill("longer")
        await rows.nth(0).locator("input[list]").fill("brief")
        await expect(rows.get_by_role("button")).to_have_count(0)
        await add.focus()
        await page.keyboard.press("Enter")
        await expect(rows.nth(1).locator("input[list]")).to_be_focused()
        await page.keyboard.type("brief")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("brief is named" if english else "brief est nommé")
        assert await barriers(page) == []
        await rows.nth(1).locator("input[list]").fill("nobody@2")
        await expect(page.get_by_role("alert")).to_have_count(0)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("nobody@2")
        await rows.nth(1).locator("input[list]").fill("terse")
        for number in (2, 3):
            await add.press("Enter")
            await expect(rows.nth(number).locator("input[list]")).to_be_focused()
            await page.keyboard.type(ARMS[number + 1])
        await add.press("Enter")  # four are the most
        await expect(rows).to_have_count(4)
        await expect(add).to_have_attribute("aria-disabled", "true")
        await rows.nth(2).get_by_role("button").press("Enter")
        await expect(rows).to_have_count(3)
        await expect(add).to_be_focused()
        assert [await rows.nth(at).locator("input[list]").input_value() for at in range(3)] == [
            "brief",
            "terse",
            "plain",
        ]

        told = page.locator("fieldset [role=status]")
        await page.locator("fieldset input[type=number]").first.fill("170")
        await expect(told).to_contain_text("longer 85")
        await expect(told).to_contain_text("200")
        await rows.nth(2).locator("input[type=number]").fill("20")
        await expect(told).to_contain_text("210")
        assert await barriers(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        await rows.nth(2).locator("input[type=number]").press("Enter")
        plan = page.locator("main section.panel")
        await expect(plan.locator("table").first.locator("tbody tr")).to_have_count(4)
        await expect(plan.locator("table").first).to_contain_text("plain@")
        await expect(plan).to_contain_text("Of the smallest candidate" if english else "Du plus petit candidat")
        assert name not in [one["name"] for one in await splits(home)]
        assert await barriers(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        await plan.scroll_into_view_if_needed()
        await picture(page, f"console-split-several-{locale[:2]}-{theme}")
        await plan.get_by_role("button").press("Enter")
        await expect(page.locator("main h2")).to_have_text(name)
    started = (await home.client.post(f"/api/v1/experiments/{name}/stop")).json()
    shares = {one["name"]: round(one["share"], 3) for one in started["arms"]}
    assert shares == {"longer": 0.81, "brief": 0.048, "terse": 0.048, "plain": 0.095}


async def splits(home: Home) -> list[dict[str, Any]]:
    return list((await home.client.get("/api/v1/experiments")).json()["experiments"])


@LOCALES
@THEMES
async def test_an_expert_compares_pairs_by_keys_alone_and_an_operator_reads_the_result(
    browser: Browser, home: Home, locale: str, theme: str
) -> None:
    name = f"words-{locale[:2]}-{theme}"
    known = await review(home, name)
    options: dict[str, Any] = {"locale": locale, "color_scheme": theme}
    async with console(browser, home.url, "#/experiments", key=EDITOR, **options) as page:
        row = page.locator("tbody tr", has_text=f"Answers of {name}")
        await expect(row).to_contain_text(f"0 of {PAIRS}" if locale == "en-GB" else f"0 sur {PAIRS}")
        await row.get_by_role("link").click()
        await expect(page.locator(".side-answer")).to_have_count(2)
        assert await barriers(page) == []
        await picture(page, f"console-review-{locale[:2]}-{theme}")
        for number in range(PAIRS):
            await expect(page.locator("progress")).to_have_attribute("value", str(number))
            await expect(page.locator(".asked")).to_contain_text(f"plot {number}")
            await page.keyboard.press("9" if number == 1 else await key_for_shorter(page))
        await expect(page.locator("main .empty")).to_be_visible()
        assert await barriers(page) == []
        await page.keyboard.press("u")  # back to the last one: it was equally good
        await expect(page.locator(".asked")).to_contain_text(f"plot {PAIRS - 1}")
        await page.locator("textarea").fill("Both say it: 0.")
        await page.locator("textarea").blur()
        await page.keyboard.press("0")
        await expect(page.locator("main .empty")).to_be_visible()

    async with console(browser, home.url, f"#/experiments/result/{known}", key=OPERATOR, **options) as page:
        first = page.locator("tbody tr").first
        await expect(first.locator("td.number-cell")).to_have_count(7)
        told = await first.locator("td.number-cell").all_inner_texts()
        assert told[:5] == [str(PAIRS), "1", "1", "1", "0"]
        await expect(page.locator("main")).to_contain_text("Both say it: 0.")
        assert await barriers(page) == []
        await picture(page, f"console-review-result-{locale[:2]}-{theme}")
        await page.locator("main button.danger").click()
        await page.get_by_role("dialog").locator("button.danger").click()
        await expect(page).to_have_url(f"{home.url}/console#/experiments")
    assert (await home.client.get(f"/api/v1/reviews/{known}")).status_code == 404


async def test_a_pair_can_be_passed_over_and_keys_in_the_comment_are_letters(browser: Browser, home: Home) -> None:
    known = await review(home, "passed")
    view = {"width": 320, "height": 640}
    async with console(browser, home.url, f"#/experiments/review/{known}", key=EDITOR, viewport=view) as page:
        await expect(page.locator(".asked")).to_contain_text("plot 0")
        await page.keyboard.press("s")
        await expect(page.locator(".asked")).to_contain_text("plot 1")
        await page.locator("textarea").press_sequentially("120 absurd")
        await expect(page.locator("textarea")).to_have_value("120 absurd")
        await expect(page.locator("progress")).to_have_attribute("value", "0")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        assert await barriers(page) == []
        for number in (1, 2):
            await page.get_by_role("button", name="Equally good").click()
            await expect(page.locator("progress")).to_have_attribute("value", str(number))
        await expect(page.get_by_role("heading", name="No further pairs")).to_be_visible()
        await page.get_by_role("button", name="Show those again").click()
        await expect(page.locator(".asked")).to_contain_text("plot 0")
    await home.client.delete(f"/api/v1/reviews/{known}")


async def test_a_page_that_is_refused_or_not_found_says_why(browser: Browser, home: Home) -> None:
    async with console(browser, home.url, f"#/experiments/review/{'0' * 32}", key=EDITOR) as page:
        await expect(page.get_by_role("alert")).to_contain_text("there is no review")
        await page.goto(f"{home.url}/console#/experiments/split/nothing")
        await expect(page.get_by_role("alert")).to_be_visible()
        await page.goto(f"{home.url}/console#/experiments")
        await expect(page.get_by_role("heading", name="No pairs to compare")).to_be_visible()
        await expect(page.get_by_text("Start a split …")).to_have_count(0)
        assert await barriers(page) == []
    async with console(browser, home.url, "#/experiments", key=LOCAL) as page:
        await expect(page.get_by_role("alert")).to_contain_text("This is of all tenants together")
        await expect(page.get_by_role("heading", name="No pairs to compare")).to_be_visible()


async def test_a_gateway_without_an_operators_logins_says_why_nothing_is_promoted(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("without")
    async with platform(folder, Script([tags(GOOD)])) as (bus, client):
        bus.pipelines.add(Pipeline.model_validate({"name": "candidate"}))
        async with console(browser, str(client.base_url), "#/experiments") as page:
            await expect(page.get_by_role("heading", name="No split yet")).to_be_visible()
            await expect(page.get_by_role("heading", name="No pairs to compare")).to_be_visible()
            assert await barriers(page) == []
            body = {"name": "trial", "weights": {"default": 50, "candidate": 50}}
            assert (await client.post("/api/v1/experiments", json=body)).status_code == 201
            await page.goto(f"{str(client.base_url).rstrip('/')}/console#/experiments/split/trial")
            await expect(page.get_by_role("button", name="Promote …")).to_be_disabled()
            await expect(page.locator("#no-promotion")).to_contain_text("ANSWERBUS_OPERATOR_CREDENTIALS")
            assert await barriers(page) == []
