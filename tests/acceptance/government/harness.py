"""The packaged government pipeline in memory over HTTP, with a scripted model and stand-ins of search engines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from cli.crawler.files import Collector
from shared.runtime.pipelines import read_pipeline
from shared.runtime.settings import Settings
from shared.runtime.testing import MemoryBus
from tests.support.judged import platform
from tests.support.model_server import Asked, Scripted

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "pipelines" / "government"
ANY: dict[str, Any] = {}

EI = "How do I apply for EI benefits?"
EI_PAGE = "https://www.canada.ca/en/services/benefits/ei/ei-regular-benefit.html"
EI_SENTENCE = "You apply for Employment Insurance (EI) regular benefits online."
EI_NEEDED = (
    "To apply you need your social insurance number, the postal code of your home, and the names of your employers of "
    "the last 52 weeks."
)
FRENCH = "Comment demander des prestations d'assurance-emploi ?"
FRENCH_SENTENCE = "Vous demandez les prestations régulières d'assurance-emploi en ligne."
SEARCH_EN = "https://www.canada.ca/en/sr/srb.html?q="
SEARCH_FR = "https://www.canada.ca/fr/sr/srb.html?q="
HOME_EN = "https://www.canada.ca/en.html"

#: A word of each step's fixed rules, by which a call is told from the others.
STEPS = {
    '"found"': "private_data",
    "ISO 639-3": "translate",
    '"query"': "search_query",
    '"department"': "department",
    '"same"': "same_question",
    "stands by itself": "restate",
    '"relevancy"': "judge",
}
#: The number of the passage of a page in a prompt follows its title; see `GovernmentModel.cited`.
Answer = Scripted | Callable[[Asked], Scripted]


def tagged(*sentences: str, confidence: int = 9, around: str = "", more: str = "") -> str:
    """An answer in the form that the prompt asks for."""
    said = "".join(f"<s-{number}>{one}</s-{number}>" for number, one in enumerate(sentences, start=1))
    said = f"<{around}>{said}</{around}>" if around else said
    return f"<answer>{said}</answer>{more}<confidence>{confidence}</confidence>"


def number_of(asked: Asked, text: str) -> int:
    """The number of the first passage of the prompt that has this text."""
    for number, block in enumerate(asked.user.split("<passage ")[1:], start=1):
        if text in " ".join(block.split()):
            return number
    raise AssertionError(f"no passage has {text!r}")


def citing(sentence: str, source: str = "", **more: Any) -> Callable[[Asked], str]:
    """A reply whose one sentence cites the passage with the text `source` (the sentence itself)."""

    def reply(asked: Asked) -> str:
        return tagged(f"{sentence} [{number_of(asked, source or sentence)}]", **more)

    return reply


class GovernmentModel:
    """The model of every step; a step's reply may be replaced. `asked` are the calls by step, `order` their steps."""

    def __init__(self, answer: Answer = None, **replies: Answer) -> None:
        self._replies: dict[str, Answer] = {
            "private_data": {"found": []},
            "translate": {"language": "fra", "text": EI},
            "search_query": {"query": "apply employment insurance regular benefits"},
            "department": {"department": "", "topic": ""},
            "same_question": {"same": True},
            "restate": None,
            "judge": None,
            "answer": answer if answer is not None else citing(EI_SENTENCE),
            **replies,
        }
        self.asked: dict[str, list[Asked]] = {step: [] for step in self._replies}
        self.order: list[str] = []

    def __call__(self, asked: Asked) -> Scripted:
        step = next((step for word, step in STEPS.items() if word in asked.system), "answer")
        self.asked[step].append(asked)
        self.order.append(step)
        reply = self._replies[step]
        return reply(asked) if callable(reply) else reply


@asynccontextmanager
async def government(
    folder: Path,
    model: Callable[[Asked], Scripted],
    *,
    engines: Mapping[str, str] = ANY,
    settings: Mapping[str, Any] = ANY,
    corpus: list[Any] | None = None,
    **changed: dict[str, Any],
) -> AsyncIterator[tuple[MemoryBus, httpx.AsyncClient]]:
    """The packaged pipeline with the pages of its demonstration; `changed` are settings by section.

    `engines` are addresses of search engines by name. Addresses of citations are not requested unless a test wants it.
    """
    packaged = read_pipeline(FOLDER)
    head = packaged.model_dump(mode="json")
    sections = {name: {**section, **changed.pop(name, {})} for name, section in packaged.sections.items()}
    sections["verifier"] = {"check_urls": False, **sections["verifier"]} if settings else sections["verifier"]
    if "check_urls" not in changed:
        sections["verifier"]["check_urls"] = bool(settings.get("web_inside"))
    # A loaded machine needs longer for the first call, which imports the client.
    sections["gateway"]["deadline_seconds"] = sections["gateway"].get("test_deadline", 240)
    sections["moderation"]["model_seconds"] = sections["translation"]["translate_seconds"] = 60
    query_rewriting = {**sections["retrieval"]["query_rewriting"], "model_seconds": 60}
    departments = {**sections["retrieval"]["departments"], "model_seconds": 60}
    cache = {**sections["retrieval"]["semantic_cache"], "model_seconds": 60}
    sections["retrieval"] |= {"query_rewriting": query_rewriting, "departments": departments, "semantic_cache": cache}
    listed = [{"name": name, "kind": "searxng", "url": url} for name, url in engines.items()]
    configured = Settings(
        data_dir=folder, port=0, search_engines=SecretStr(json.dumps(listed) if listed else ""), **settings
    )
    pages = [
        one.document.model_copy(update={"text": one.body.decode()})
        for one in Collector().collect([str(FOLDER / "demo" / "pages")])
    ]
    head = {name: head[name] for name in ("endings", "project_introduction")}
    async with platform(
        folder, model, settings=configured, corpus=pages if corpus is None else corpus, **head, **sections
    ) as (bus, client):
        yield bus, client
