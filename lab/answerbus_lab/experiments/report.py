"""What an experiment showed: as JSON, as one HTML page that loads nothing from elsewhere, and as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from answerbus_lab.evaluation import plots
from answerbus_lab.evaluation.report import page, table_html
from answerbus_lab.experiments.confidence_sequence import LEAST, Estimate, detectable
from answerbus_lab.experiments.guards import Halt
from answerbus_lab.experiments.judge import PairJudgement, preferences
from answerbus_lab.experiments.pairs import SEGMENTS, Pair, by_segment, compared, verdict
from shared.text.excerpts import clipped
from shared.text.sanitizer import visible

#: Examples of each direction, and characters of an answer there.
EXAMPLES, ANSWER_CHARS = 10, 600
#: Segments of fewer pairs are not compared.
SEGMENT = LEAST


@dataclass(frozen=True)
class ExperimentReport:
    """The pairs of an experiment, why it ended (None: it has not), and what a judge has said of them."""

    name: str
    live: str
    candidate: str
    pairs: Sequence[Pair]
    halt: Halt | None
    judgements: Sequence[PairJudgement] = ()

    def as_json(self) -> dict[str, Any]:
        """Estimates of candidate minus live with intervals that hold at every look, segments, cost and examples."""
        return {
            "name": self.name,
            "live": self.live,
            "candidate": self.candidate,
            "pairs": len(self.pairs),
            "ended": self.halt.reason if self.halt else "",
            "halted_by_guard": bool(self.halt and self.halt.harmful),
            "measures": _measures(self.pairs),
            "segments": {
                segment: {name: {"pairs": len(pairs), "measures": _measures(pairs)} for name, pairs in found.items()}
                for segment, found in self._segments().items()
            },
            "judge": preferences(self.pairs, self.judgements),
            "cost_usd": self._costs(),
            "better": [example.model_dump(mode="json") for example in self._examples(1)],
            "worse": [example.model_dump(mode="json") for example in self._examples(-1)],
        }

    def write(self, folder: Path) -> None:
        """Write `report.json` and `report.html` into the folder."""
        document = json.dumps(self.as_json(), ensure_ascii=False, indent=2)
        (folder / "report.json").write_text(document + "\n", "utf-8")
        (folder / "report.html").write_text(self.as_html(), "utf-8")

    def rows(self) -> list[list[Any]]:
        """A row for each measure: name, pairs, difference, interval, what it says."""
        return [
            [
                name,
                measure["pairs"],
                measure["difference"],
                measure["low"],
                measure["high"],
                measure["says"],
                measure["detectable"],
            ]
            for name, measure in _measures(self.pairs).items()
        ]

    def as_html(self) -> str:
        """The HTML page."""
        title = f"{self.name}: {self.candidate} beside {self.live}"
        ended, costs = self.halt.reason if self.halt else "it goes on", self._costs()
        heads = ["measure", "pairs", "candidate minus live", "95 % from", "to", "says", "detectable"]
        parts = [
            f"<h1>{escape(title)}</h1>",
            f"<p>{len(self.pairs)} questions; {escape(ended)}. Intervals hold at every look. Cost: "
            f"{costs['live']:.4f} USD live, {costs['shadow']:.4f} USD shadow.</p>",
            table_html(heads, [[escape(_cell(cell)) for cell in row] for row in self.rows()]),
            *self._plots(),
            "<h2>Latency</h2>",
            plots.distribution(self._times(), "ms"),
        ]
        for heading, sign in (("Better", 1), ("Worse", -1)):
            parts += [f"<h2>{heading}</h2>", *(_example(example) for example in self._examples(sign))]
        return page(title, "\n".join(parts))

    def _segments(self) -> dict[str, dict[str, list[Pair]]]:
        """The segments with enough pairs, by their kind."""
        found = {name: by_segment(self.pairs, name) for name in SEGMENTS}
        large = {
            name: {value: pairs for value, pairs in bar.items() if len(pairs) >= SEGMENT} for name, bar in found.items()
        }
        return {name: bar for name, bar in large.items() if bar}

    def _plots(self) -> list[str]:
        """The differences with their intervals, in all and by segment, and what the judge prefers."""
        parts = ["<h2>Differences</h2>", plots.differences(_bars(self.pairs))]
        for segment, found in self._segments().items():
            bars = {value: _bars(pairs) for value, pairs in found.items()}
            rows = {f"{value}: {name}": bar for value, named in bars.items() for name, bar in named.items()}
            parts += [f"<h3>By {escape(segment)}</h3>", plots.differences(rows)]
        if judged := preferences(self.pairs, self.judgements):
            parts += ["<h2>Judge</h2>", judge_html(judged)]
        return parts

    def _times(self) -> dict[str, list[float]]:
        return {
            self.live: [pair.live.elapsed_ms for pair in self.pairs],
            self.candidate: [pair.shadow.elapsed_ms for pair in self.pairs],
        }

    def _costs(self) -> dict[str, float]:
        """US dollars of both sides."""
        return {
            "live": round(sum(pair.live.cost_usd for pair in self.pairs), 6),
            "shadow": round(sum(pair.shadow.cost_usd for pair in self.pairs), 6),
        }

    def _examples(self, sign: int) -> list[Pair]:
        """The pairs with a better (1) or worse (-1) answer of the candidate, the largest difference first."""
        scored = [(sign * _gain(pair), at) for at, pair in enumerate(self.pairs)]
        return [
            self.pairs[at]
            for gain, at in sorted(scored, key=lambda example: (-example[0], example[1]))[:EXAMPLES]
            if gain > 0
        ]


def judged_rows(judged: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the judge prefers, of all pairs and of each segment, by name."""
    segments = judged["segments"]
    by_name = {
        f"{segment}: {name}": comparison for segment, found in segments.items() for name, comparison in found.items()
    }
    return {"all": judged, **by_name}


def judge_html(judged: Mapping[str, Any]) -> str:
    """A bar of wins, ties and losses for all pairs and for each segment."""
    names = ("candidate", "tie", "live")
    rows = {
        row: {name: judged_row[name] / judged_row["pairs"] for name in names}
        for row, judged_row in judged_rows(judged).items()
    }
    text = (
        f"{judged['pairs']} pairs, each read twice with the answers in either place; {judged['swayed']} of them were "
        f"judged by the place, and count as ties. {judged['cost_usd']:.4f} USD."
    )
    return f"<p>{text}</p>{plots.shares(rows, names)}"


def _bars(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """The measures between 0 and 1 that have an interval, as `plots.differences` takes them."""
    return {
        name: {"difference": measure["difference"], "low": measure["low"], "high": measure["high"]}
        for name, measure in _measures(pairs).items()
        if measure["low"] is not None and name in ("answered", "failed", "overall", "confidence")
    }


def _gain(pair: Pair) -> float:
    """How much better the candidate's answer is: an answer instead of none counts 1, else the overall scores."""
    gained = float(pair.shadow.answered) - float(pair.live.answered)
    if gained or pair.shadow.overall is None or pair.live.overall is None:
        return gained
    return pair.shadow.overall - pair.live.overall


def _measures(pairs: Sequence[Pair]) -> dict[str, dict[str, Any]]:
    return {name: _told(name, estimated) for name, estimated in compared(pairs).items()}


def _told(name: str, estimated: Estimate) -> dict[str, Any]:
    bounded = estimated.count >= LEAST
    return {
        "pairs": estimated.count,
        "difference": round(estimated.mean, 6),
        "low": round(estimated.low, 6) if bounded else None,
        "high": round(estimated.high, 6) if bounded else None,
        "says": verdict(name, estimated),
        "detectable": round(detectable(estimated.count, estimated.deviation), 6) if bounded else None,
    }


def _example(pair: Pair) -> str:
    answers = "".join(
        f'<p class="by">{escape(side.pipeline)}: {escape(side.outcome)}, question {escape(side.id)}</p>'
        f'<div class="answer">{escape(visible(clipped(side.answer, ANSWER_CHARS)))}</div>'
        for side in (pair.live, pair.shadow)
    )
    return f"<details><summary>{escape(visible(pair.question))}</summary>{answers}</details>"


def _cell(cell: Any) -> str:
    return "–" if cell is None else f"{cell:+.4f}" if isinstance(cell, float) else str(cell)
