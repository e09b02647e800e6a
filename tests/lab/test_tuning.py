"""Searching settings: the space from a schema, the parts of a suite, the trials, and the proposal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from answerbus_lab.improvement.suite import Case, Suite
from answerbus_lab.tuning.proposal import Proposal, current_values
from answerbus_lab.tuning.scored_cases import case_score, parts_of
from answerbus_lab.tuning.search_space import TunableSetting, search_space, tunable_settings
from answerbus_lab.tuning.trials import CaseAsker, TrialStore
from answerbus_lab.tuning.tuner import SearchLimits, Tuner

from shared.contracts.errors import RefusedError

SCHEMA: dict[str, Any] = {
    "properties": {
        "gateway": {"properties": {"turns": {"type": "integer", "minimum": 0, "maximum": 50, "default": 5}}},
        "retrieval": {
            "properties": {
                "passages": {"type": "integer", "minimum": 1, "maximum": 50, "default": 8},
                "rank": {"$ref": "#/properties/retrieval/$defs/Rank"},
                "pool": {"type": "integer", "exclusiveMinimum": 0, "default": 20},
                "boost": {"type": "number", "default": 0.0},
                "title": {"type": "string", "default": ""},
            },
            "$defs": {
                "Rank": {
                    "properties": {
                        "fusion": {"enum": ["rrf", "sum"], "type": "string", "default": "rrf"},
                        "on": {"type": "boolean", "default": True},
                        "limit": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]},
                    }
                }
            },
        },
    }
}


def test_settings_with_a_range_or_a_list_of_values_can_be_searched() -> None:
    known = tunable_settings(SCHEMA)
    assert {str(one) for one in known.values()} == {
        "retrieval.passages (1..50)",
        "retrieval.rank.fusion (rrf|sum)",
        "retrieval.rank.on (false|true)",
        "retrieval.rank.limit (0..1)",
        "retrieval.pool (1..)",
        "retrieval.boost (..)",
    }


def test_ranges_are_those_of_the_schema_or_given_or_around_the_current_value() -> None:
    over = ["retrieval.passages=2..9", "retrieval.rank.fusion", "retrieval.pool", "retrieval.boost=0.5|2"]
    space = search_space(over, tunable_settings(SCHEMA), {"retrieval.pool": 10})
    assert [(one.kind, one.low, one.high, one.choices) for one in space] == [
        ("integer", 2, 9, ()),
        ("choice", 0, 0, ("rrf", "sum")),
        ("integer", 2, 40, ()),
        ("choice", 0, 0, (0.5, 2.0)),
    ]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("retrieval.passage", "there are: retrieval.passages (1..50)"),
        ("retrieval.title", "no setting of that name has a range"),
        ("gateway.turns", "settings of translation, retrieval, answer, verifier can be searched"),
        ("retrieval.passages=0..90", "within retrieval.passages (1..50)"),
        ("retrieval.passages=9", "write LOW..HIGH or A|B"),
        ("retrieval.rank.fusion=rrf|max", "within retrieval.rank.fusion (rrf|sum)"),
        ("retrieval.boost", "write retrieval.boost=LOW..HIGH"),
    ],
)
def test_a_setting_that_cannot_be_searched_is_refused_with_those_that_can(over: str, said: str) -> None:
    known = tunable_settings(SCHEMA)
    with pytest.raises(RefusedError) as refused:
        search_space([over], known, {name: one.default for name, one in known.items()})
    assert said in str(refused.value)


def cases(count: int, **more: Any) -> tuple[Case, ...]:
    return tuple(
        Case(id=f"case{number}", question=f"{number}?", expected_texts=("yes",), **more) for number in range(count)
    )


def test_a_case_stays_in_its_part_and_test_cases_are_in_none() -> None:
    few, many = parts_of(Suite(cases=cases(40)), 0.3), parts_of(Suite(cases=cases(80)), 0.3)
    assert set(few.held_out) < set(many.held_out)
    assert set(few.tuned) < set(many.tuned)
    assert 6 <= len(few.held_out) <= 18
    test = Case(id="last", question="?", split="test")
    with_test = parts_of(Suite(cases=(*cases(40), test)), 0.3)
    assert test not in (*with_test.tuned, *with_test.held_out)
    with pytest.raises(RefusedError, match="held-out part has"):
        parts_of(Suite(cases=cases(2)), 0.1)


def test_a_score_is_the_share_of_what_is_expected() -> None:
    case = Case(id="a", question="?", expected_texts=("yes", "no"), unwanted_texts=("maybe",))
    row = {"outcome": "answered", "type": "normal", "answer": "Yes, maybe.", "citations": []}
    assert case_score(case, row).score == pytest.approx(0.5)
    assert case_score(case, {**row, "answer": "Yes and no."}).passed


class PlayedGateway:
    """Answers "yes" with a probability that grows with the setting `retrieval.passages`; each call costs a cent."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple[str, int]] = {}
        self.questions: set[str] = set()

    async def call(self, method: str, path: str, **options: Any) -> Any:
        number = f"{len(self.asked):032x}"
        if path == "/api/v1/query":
            self.questions.add(options["json"]["question"])
            self.asked[number] = (options["json"]["question"], 1)
            return self._told(number)
        if method == "POST":
            (change,) = options["json"]["changes"]
            passages = int(change.partition("=")[2])
            if passages == 7:
                raise RefusedError("pipeline default: 7 does not go with the rest (HTTP 422)")
            self.asked[number] = (self.asked[path.split("/")[4]][0], passages)
            return {"id": number}
        return self._told(path.rpartition("/")[2])

    def _told(self, number: str) -> dict[str, Any]:
        question, passages = self.asked[number]
        right = passages >= 5 or int(question.rstrip("?")) % 3 == 0
        answer = {"type": "normal", "content": "yes" if right else "no"}
        timings = {"total_ms": 10.0 * passages, "stages": []}
        result = {
            "outcome": "answered",
            "answer": answer,
            "citations": [],
            "confidence": 5,
            "engine": "",
            "context": {},
        }
        return {"id": number, "result": {**result, "timings": timings, "usage": {"cost_usd": 0.01}}}


PASSAGES = TunableSetting("retrieval.passages", "integer", 1, 9, default=1)


def tuner(folder: Path, gateway: PlayedGateway, max_cost: float = 0.0) -> Tuner:
    asker = CaseAsker(gateway, "default", 4, max_cost)  # type: ignore[arg-type]
    parts = parts_of(Suite(cases=cases(30)), 0.3)
    return Tuner(asker, TrialStore.open(folder, {"search": 1}), parts, [PASSAGES], {PASSAGES.name: 1}, seed=3)


def test_the_search_finds_the_setting_that_matters_and_checks_it_on_the_held_out_part(tmp_path: Path) -> None:
    search = tuner(tmp_path, PlayedGateway())
    asyncio.run(search.search(SearchLimits(20, 60), lambda: None))
    proposal = Proposal("default@1", {"name": "default", "retrieval": {"passages": 1}}, search)
    found = proposal.as_json()
    # Of equally good settings the fastest, which is the smallest that was tried.
    assert proposal.changes[PASSAGES.name] == 5
    assert found["proposed"]
    assert found["searched"]["after"]["score"] == 1.0
    assert found["held_out"]["low"] > 0
    assert any(one["invalid"] for one in found["trials"])
    assert "-  passages: 1\n+  passages: 5\n" in proposal.diff()
    proposal.write(tmp_path)
    assert "passages: 5" in (tmp_path / "proposed" / "pipeline.yaml").read_text()


def test_a_search_that_has_cost_enough_ends_and_goes_on_where_it_was(tmp_path: Path) -> None:
    first = tuner(tmp_path, PlayedGateway(), max_cost=1.0)
    asyncio.run(first.search(SearchLimits(20, 60), lambda: None))
    assert "has cost" in first.ended
    assert first.held_out is None
    tried = len(first.store.trials)
    assert 1 <= tried <= 6
    second = tuner(tmp_path, PlayedGateway())
    assert len(second.store.trials) == tried
    asyncio.run(second.search(SearchLimits(20, 60), lambda: None))
    assert len({tuple(one.settings.items()) for one in second.store.trials}) == len(second.store.trials)
    assert second.held_out is not None


def test_held_out_cases_are_not_asked_while_settings_are_searched(tmp_path: Path) -> None:
    gateway = PlayedGateway()
    search = tuner(tmp_path, gateway, max_cost=1.0)
    asyncio.run(search.search(SearchLimits(20, 60), lambda: None))
    assert gateway.questions == {case.question for case in search.parts.tuned}


def test_a_folder_of_another_search_is_refused(tmp_path: Path) -> None:
    tuner(tmp_path, PlayedGateway())
    with pytest.raises(RefusedError, match="another search"):
        TrialStore.open(tmp_path, {"search": 2})


def test_values_that_the_document_does_not_name_are_the_defaults() -> None:
    document = {"retrieval": {"rank": {"fusion": "sum"}}}
    names = {"retrieval.rank.fusion": "rrf", "retrieval.passages": 8}
    assert current_values(document, names) == {"retrieval.rank.fusion": "sum", "retrieval.passages": 8}
