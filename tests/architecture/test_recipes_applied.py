"""Recipes of the code map, each applied to a copy of the tree: what they say is enough, and works."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.source import ROOT
from tests.architecture.test_code_map import PLACEHOLDER, recipes

COPIED = (
    "services",
    "shared",
    "cli",
    "tests",
    "deploy",
    "docs/code-map.md",
    "clients/web/src/console",
    "pyproject.toml",
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules")


class Edit(NamedTuple):
    """A place in a file, which is there so often, and what takes its place."""

    old: str
    new: str
    times: int = 1


class Recipe(NamedTuple):
    """A recipe with an example: new files by path, edits of others, and the test that the example passes."""

    title: str
    name: str
    new: Mapping[str, str]
    edits: Mapping[str, tuple[Edit, ...]]
    test: str


PROTOCOL = Recipe(
    "Add an HTTP interface",
    "plain",
    {
        "services/gateway/protocols/plain/__init__.py": '"""Answers as plain text."""\n',
        "services/gateway/protocols/plain/presenter.py": """
from services.gateway.streaming.stream import Frame
from shared.contracts.envelope import Event
from shared.contracts.facts import Fact
from shared.contracts.outcome import outcome_of
from shared.contracts.signals import Token


class PlainPresenter:
    def __init__(self) -> None:
        self.ended = False

    def fact(self, event: Event[Fact], sequence: int) -> list[Frame]:
        self.ended = event.payload.terminal
        return [Frame("", outcome_of(event.payload).shown_answer.content)] if self.ended else []

    def token(self, token: Token) -> list[Frame]:
        return []

    def overdue(self, correlation_id: str, conversation_id: str) -> list[Frame]:
        return [Frame("", "No answer came in time.")]
""",
        "services/gateway/protocols/plain/routes.py": """
from fastapi import APIRouter
from starlette.responses import Response

from services.gateway.access.asker import asker_of
from services.gateway.asking.new_question import NewQuestion
from services.gateway.http.frames import SSE, streamed
from services.gateway.http.parameters import AnyClient, CurrentGateway
from services.gateway.http.protected_route import ProtectedRoute
from services.gateway.protocols.plain.presenter import PlainPresenter

router = APIRouter(prefix="/plain", route_class=ProtectedRoute)


@router.post("/{text}")
async def ask(text: str, gateway: CurrentGateway, caller: AnyClient) -> Response:
    with gateway.streams.take(caller.account, caller.expires_at) as slot:
        event = await gateway.questions.ask(NewQuestion(text, asker_of(caller)))
        return streamed(gateway.questions.stream(event.correlation_id, PlainPresenter()), SSE, slot)
""",
    },
    {
        "services/gateway/server/application.py": (
            Edit("        openai,\n", "        openai,\n        plain,\n"),
            Edit(
                "from services.gateway.routes import (\n",
                "from services.gateway.protocols.plain import routes as plain\nfrom services.gateway.routes import (\n",
            ),
        ),
    },
    """
import asyncio

from shared.contracts.facts import QuestionAsked
from tests.architecture.test_gateway_rooms import *
from tests.unit.gateway.harness import running_gateway, then, verified

KEY = {"Authorization": "Bearer 0123456789abcdef0123"}


async def test_it_answers_within_the_limits_of_the_key() -> None:
    settings = {"key_groups": {"web": ("staff",)}, "rate_key_per_minute": 1}
    async with running_gateway(api_keys="web:client:0123456789abcdef0123", **settings) as here:
        asked = asyncio.Queue()
        await here.bus.log.follow("live.qa.>", asked.put_nowait)
        reply = asyncio.create_task(here.http.post("/plain/When", headers=KEY))
        event = (await asked.get()).decode()
        await here.publish(then(event, verified("At eight.")))

        assert "data: At eight." in (await reply).text
        assert (type(event.payload), event.groups) == (QuestionAsked, ("staff",))
        assert (await here.http.post("/plain/Where", headers=KEY)).status_code == 429
        assert (await here.http.post("/plain/Where")).status_code == 401
""",
)

RETRIEVER = Recipe(
    "Add a retriever",
    "exact",
    {
        "services/retrieval/retrievers/exact.py": '''
from collections.abc import Sequence

from services.retrieval.ports import Hit, Ranked, RetrieverQuery, VectorIndex
from services.retrieval.stores.points import passage_id


class ExactRetriever:
    """Finds the passages of documents whose title is the question; whose they are is asked where they are read."""

    name = "exact"

    def __init__(self, index: VectorIndex) -> None:
        self._index = index

    async def search(self, query: RetrieverQuery) -> Sequence[Ranked]:
        titled = [one for one in await self._index.documents() if one.title.casefold() == query.text.casefold()]
        ids = [passage_id(one.source, one.version, number) for one in titled for number in range(one.chunks)]
        return [Hit(one, 1.0, (self.name,)) for one in ids]
''',
    },
    {
        "shared/contracts/requests/retrieval.py": (
            Edit('Literal["bm25", "dense", "graph", "web"]', 'Literal["bm25", "dense", "graph", "web", "exact"]'),
        ),
        "services/retrieval/search_factory.py": (
            Edit("[Bm25Retriever(index)]", "[Bm25Retriever(index), ExactRetriever(index)]"),
            Edit(
                "from services.retrieval.retrievers.graph import",
                "from services.retrieval.retrievers.exact import ExactRetriever\n"
                "from services.retrieval.retrievers.graph import",
            ),
        ),
    },
    """
from services.gateway.routes.documents import SearchIn
from services.retrieval.graph.sqlite import SqliteGraph
from services.retrieval.search_factory import create_searcher
from services.retrieval.searcher import SearchQuery
from services.retrieval.settings import RetrievalSettings
from services.retrieval.rankers.feedback import no_votes
from services.retrieval.stores.edge import EdgeIndex
from services.retrieval.stores.points import passage_id
from shared.contracts.domain import Passage
from shared.contracts.requests.retrieval import IndexedDocument
from shared.llm.none import NoModels


async def test_it_is_named_by_pipelines_and_requests_and_shows_to_nobody_what_is_not_for_them(tmp_path) -> None:
    index = EdgeIndex(tmp_path)
    await index.open()
    for source, groups in (("kb:a", ()), ("kb:b", ("staff",))):
        document = IndexedDocument(source=source, digest="d", version="v", title="Opening", chunks=1, groups=groups)
        passage = Passage(id=passage_id(source, "v", 0), source=source, text=f"{source}: at eight.")
        await index.replace(document, [passage])
    searcher = create_searcher(index, SqliteGraph(tmp_path / "graph"), None, None, no_votes, NoModels())
    settings = RetrievalSettings(retrievers=("exact",))

    found = [await searcher.search(SearchQuery("Opening", groups=groups), settings) for groups in ((), ("staff",))]
    await index.close()

    assert [sorted(one.source for one in result.passages) for result in found] == [["kb:a"], ["kb:a", "kb:b"]]
    assert {via for one in found[1].passages for via in one.via} == {"exact"}
    assert SearchIn(query="x", retrievers=["exact"]).retrievers == ["exact"]
""",
)

FIELD = Recipe(
    "Add a field of an ending, up to the console",
    "checked_sentences",
    {},
    {
        "shared/contracts/facts.py": (
            Edit(
                "    evaluate: bool | None = None\n    reply: bool = True\n",
                "    evaluate: bool | None = None\n    reply: bool = True\n    checked_sentences: int = 0\n",
            ),
        ),
        "shared/contracts/outcome.py": (
            Edit(
                '    origin: str = ""\n    similarity',
                '    checked_sentences: int = 0\n    origin: str = ""\n    similarity',
            ),
            Edit('"evaluation", "show_passages"),', '"evaluation", "show_passages", "checked_sentences"),'),
            Edit(
                "        evaluation=fact.evaluation,\n",
                "        evaluation=fact.evaluation,\n        checked_sentences=fact.checked_sentences,\n",
            ),
        ),
        "services/verifier/verdict.py": (
            Edit(
                "        judged_by=assessment.judged_by,\n        refuted=draft.earlier.refuted,\n",
                "        judged_by=assessment.judged_by,\n        refuted=draft.earlier.refuted,\n"
                "        checked_sentences=len(draft.answer.sentences),\n",
            ),
        ),
        "clients/web/src/console/views/questions/types.ts": (
            Edit("  reply: boolean;\n", "  reply: boolean;\n  checked_sentences: number;\n"),
        ),
        "clients/web/src/console/views/questions/question.tsx": (
            Edit(
                "          {!outcome.reply &&",
                '          <p class="muted">{texts.checkedSentences}: {String(outcome.checked_sentences)}</p>\n'
                "          {!outcome.reply &&",
            ),
        ),
        "clients/web/src/console/views/questions/texts.ts": (
            Edit("  judgedBy:", '  checkedSentences: "Sentences checked",\n  judgedBy:', times=2),
        ),
    },
    """
from services.verifier.draft_assessment import DraftAssessment
from services.verifier.verdict import passed
from shared.history.timeline import timeline_of
from tests.unit.gateway.harness import drafted, run, stored, verified


def test_it_is_in_the_explained_question() -> None:
    ending = verified("At eight.").model_copy(update={"checked_sentences": 3})
    timeline = timeline_of(stored(run("At eight.", ending=ending)))

    assert timeline is not None
    assert timeline.outcome["checked_sentences"] == 3
""",
)
RECIPES = (PROTOCOL, RETRIEVER, FIELD)


def files_of(recipe: Recipe) -> set[str]:
    """Those that the recipe lists, with the name of the example."""
    return {PLACEHOLDER.sub(recipe.name, path) for path in recipes()[recipe.title]}


def apply(recipe: Recipe, root: Path) -> None:
    for path in COPIED:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=LEFT_OUT, symlinks=True)
        else:
            shutil.copy(ROOT / path, target)
    for path, text in recipe.new.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text.lstrip(), "utf-8")
    for path, edits in recipe.edits.items():
        text = (root / path).read_text("utf-8")
        for edit in edits:
            assert text.count(edit.old) == edit.times, f"{path}: {edit.old}"
            text = text.replace(edit.old, edit.new)
        (root / path).write_text(text, "utf-8")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_recipe_touches_the_files_it_lists_and_no_others(recipe: Recipe) -> None:
    touched = {path for path in (*recipe.new, *recipe.edits) if not path.endswith("__init__.py")}

    assert touched == files_of(recipe)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_recipe_works_as_it_is_written(recipe: Recipe, tmp_path: Path) -> None:
    apply(recipe, tmp_path)
    (tmp_path / "tests" / "test_recipe.py").write_text(recipe.test.lstrip(), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/test_recipe.py"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=170, check=False)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
