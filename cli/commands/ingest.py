"""`answerbus ingest`: files, folders, standard input, lists of addresses and sitemaps."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cli.crawler.files import Collector, Submission


def ingest(
    paths: Annotated[list[str] | None, typer.Argument(help="Files, folders, or - for standard input.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field", help="JSON Lines: PART=KEY with PART title, text, url, id, language, date; repeatable."
        ),
    ] = None,
    urls: Annotated[str, typer.Option("--urls", help="File with one address of a page per line.")] = "",
    sitemap: Annotated[list[str] | None, typer.Option("--sitemap", help="Address of a sitemap; repeatable.")] = None,
    inside: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Host or network to fetch from although it is not public; repeatable."),
    ] = None,
    pause: Annotated[float, typer.Option(min=0, help="Seconds between two pages of one host.")] = 1.0,
    collection: Annotated[str, typer.Option(help="Name under which these documents belong together.")] = "",
    language: Annotated[str, typer.Option(help="Language of documents that do not say theirs.")] = "",
    stdin_type: Annotated[str, typer.Option(help="Media type of standard input.")] = "text/plain",
    sync: Annotated[bool, typer.Option("--sync", help="Remove what the collection has and was not given now.")] = False,
    url: Annotated[
        str, typer.Option("--url", help="The gateway to talk to [env: ANSWERBUS_URL].", show_default=False)
    ] = "",
    data: Annotated[Path, typer.Option("--data", envvar="ANSWERBUS_DATA_DIR", help="Data directory.")] = Path("data"),
    in_process: Annotated[bool, typer.Option("--in-process", help="Run the platform inside this command.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Index documents (text, Markdown, HTML, PDF, Office, CSV, code, JSON Lines) and pages; unchanged ones stay."""
    from cli.host.target import client
    from cli.operations.ingestion import ingest as hand_in
    from cli.output import fail, run

    if not (paths or urls or sitemap):
        fail("name files or folders, --urls FILE or --sitemap URL", 2)
    collector = _collector(field or [], collection, language, stdin_type)

    async def work() -> bool:
        found = _submissions(collector, paths or [], urls, sitemap or [], inside=tuple(inside or ()), pause=pause)
        async with client(url, data, in_process=in_process, quiet=as_json) as here:
            return bool((await hand_in(here, collector, found, sync=sync, as_json=as_json)).problems)

    raise SystemExit(1 if run(work) else 0)


def _collector(fields: list[str], collection: str, language: str, stdin_type: str) -> Collector:
    from cli.crawler.files import Collector
    from cli.output import fail
    from shared.text.languages import code3

    pairs = [one.partition("=") for one in fields]
    if any(not separator or not value for _, separator, value in pairs):
        fail("--field: expected PART=KEY, for example --field title=question", 2)
    try:
        return Collector(
            collection=collection,
            language=code3(language) if language else "",
            fields={part: key for part, _, key in pairs},
            stdin=sys.stdin.buffer,
            stdin_type=stdin_type,
        )
    except ValueError as error:
        fail(f"--field: {error}", 2)


async def _submissions(
    collector: Collector, paths: list[str], urls: str, sitemaps: list[str], *, inside: tuple[str, ...], pause: float
) -> AsyncIterator[Submission]:
    """Everything that was named: files first, then pages."""
    from cli.operations.ingestion import from_files

    async for submission in from_files(collector, paths):
        yield submission
    if not (urls or sitemaps):
        return
    from cli.crawler.robots import Manners
    from cli.crawler.web_pages import WebCollector
    from shared.web.client import SafeClient
    from shared.web.policy import Policy

    async with SafeClient(Policy(inside=inside, total_seconds=60, max_bytes=64 * 2**20)) as web:
        pages = WebCollector(Manners(web, pause=pause), collector)
        if urls:
            async for submission in pages.addresses(_lines(collector, urls)):
                yield submission
        for sitemap in sitemaps:
            async for submission in pages.sitemap(sitemap):
                yield submission


def _lines(collector: Collector, urls: str) -> list[str]:
    try:
        return Path(urls).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        collector.problem(urls, getattr(error, "strerror", None) or "not text")
        return []
