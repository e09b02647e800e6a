"""What follow-ups find: as they were asked, by rule, and as people rewrote them.

The passage of each case is the one relevant passage of its question; the passages of all cases are searched, together
with the documents of another corpus. Passages that earlier turns of the conversation were answered with are taken out
of the rankings (the residual collection of Salton and Buckley, 1990), because they share the conversation's words and
the asker has read them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation.beir import Collection
from answerbus_lab.evaluation.followups import FollowupCase
from answerbus_lab.evaluation.ranking_metrics import compare, interval, measures
from answerbus_lab.evaluation.retrieval import open_retrieval
from cli.crawler.files import Collector
from shared.contracts.domain import Document, Question
from shared.contracts.pipelines import Pipeline
from shared.runtime.settings import Settings
from shared.web.crawler.collected import CollectedDocument

#: The settings of the retrieval section that a ranking of ten needs.
_SECTION = {"passages": 20, "earlier_passages": 0, "progression": None}
_DEPTH = 10
_SHOWN = ("nDCG@10", "R@10", "R@5", "hit@1")
PerQuery = dict[str, dict[str, float]]


async def retrieval_gain(
    cases: Sequence[FollowupCase], pipeline: Pipeline, settings: Settings, *, language: str, corpus: Path | None
) -> dict[str, Any]:
    """The measures of the three ways for follow-ups, and the gain by rule as a share of the gain of people's rewrites.

    Questions that open their conversation have no gain and are left out.
    """
    places = {passage: f"case{number}" for number, passage in enumerate(dict.fromkeys(c.passage for c in cases))}
    documents = [_document(text, place) for text, place in places.items() if text]
    documents += list(Collector(prefix="other").collect([str(corpus)])) if corpus else []
    section = {**pipeline.sections.get("retrieval", {}), **_SECTION}
    pipeline = pipeline.model_copy(update={"sections": {**pipeline.sections, "retrieval": section}})
    runs: dict[str, PerQuery] = defaultdict(dict)
    followed = [case for case in cases if case.passage and case.turns]
    async with open_retrieval(settings, pipeline) as stage:
        await stage.ingest(Collection(documents, [], []), language=language)
        for number, case in enumerate(followed):
            ways = {
                "as asked": Question(text=case.raw, language=language),
                "by rule": Question(text=case.raw, language=language, turns=case.turns),
                "by people": Question(text=case.rewrite, language=language),
            }
            seen = {f"kb:{places[turn.answer]}" for turn in case.turns if turn.answer in places}
            relevant = f"kb:{places[case.passage]}"
            for way, question in ways.items():
                found = dict.fromkeys(passage.source for passage in await stage.ask(question))
                ranking = [document for document in found if document not in seen - {relevant}][:_DEPTH]
                runs[way][str(number)] = measures(ranking, {relevant: 1})
    return {"questions": len(followed), "documents": len(documents), **_gains(runs)}


def _document(text: str, place: str) -> CollectedDocument:
    return CollectedDocument(Document(source=f"kb:{place}", media_type="text/plain"), text.encode())


def _gains(runs: dict[str, PerQuery]) -> dict[str, Any]:
    if not runs:
        return {"ways": {}, "share_of_gain": {}}
    columns = {way: {name: [one[name] for one in run.values()] for name in _SHOWN} for way, run in runs.items()}
    ways = {
        way: {name: [_mean(values), *map(_rounded, interval(values))] for name, values in column.items()}
        for way, column in columns.items()
    }
    gained = {way: compare(runs[way], runs["as asked"]) for way in ("by rule", "by people")}
    share = {
        name: _rounded(gained["by rule"][name]["difference"] / gained["by people"][name]["difference"])
        for name in _SHOWN
        if gained["by people"][name]["difference"] > 0
    }
    gains = {
        way: {
            name: {key: _rounded(figures[name][key]) for key in ("difference", "low", "high", "p")} for name in _SHOWN
        }
        for way, figures in gained.items()
    }
    return {"ways": ways, "gains": gains, "share_of_gain": share}


def _mean(values: Sequence[float]) -> float:
    return _rounded(sum(values) / len(values))


def _rounded(value: float) -> float:
    return round(value, 4)
