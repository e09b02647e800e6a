"""The report of a batch run: JSON for programs, and one HTML page that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from answerbus_lab.evaluation import plots
from answerbus_lab.evaluation.answer_metrics import (
    HIGHER_IS_BETTER,
    REPORTED,
    Measures,
    against,
    changed_most,
    metrics,
    outcome_word,
    spreads,
    table,
)
from answerbus_lab.evaluation.questions_file import QuestionItem
from shared.text.excerpts import clipped
from shared.text.sanitizer import visible

#: Questions in the list of those that changed most.
CHANGED = 20
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}svg{width:100%;height:auto;font-size:11px}
details{border:1px solid #ddd;border-radius:4px;margin:.3rem 0;padding:.3rem .7rem}summary{cursor:pointer}
.answer{white-space:pre-wrap;background:#f6f6f6;padding:.4rem .7rem}.by{color:#666}.s0{background:#f7d5d5}
.s80{background:#fbf1cf}.s100{background:#ddf0dd}nav a{margin-right:1rem}
"""


@dataclass(frozen=True)
class EvaluationReport:
    """Questions and answers of one pipeline, or of two that are compared; `rows` are the answers by line."""

    file: str
    items: Sequence[QuestionItem]
    labels: Sequence[str]
    rows: Sequence[Mapping[int, Mapping[str, Any]]]

    @property
    def measured(self) -> list[dict[int, Measures]]:
        return [table(self.items, rows) for rows in self.rows]

    def as_json(self) -> dict[str, Any]:
        """`metrics` and `intervals` of the first pipeline, and its comparison with the second one."""
        measured = self.measured
        document: dict[str, Any] = {
            "metrics": metrics(measured[0]),
            "intervals": spreads(measured[0]),
            "figures": {"file": self.file, "pipeline": self.labels[0], "asked": len(measured[0])},
        }
        document["figures"]["evaluated"] = sum("sentence_score" in measures for measures in measured[0].values())
        if len(measured) > 1:
            document["against"] = {
                "pipeline": self.labels[1],
                "metrics": metrics(measured[1]),
                "intervals": spreads(measured[1]),
                "comparison": against(measured[0], measured[1]),
                "changed": [
                    {"line": line, "change": change} for line, change in changed_most(measured[0], measured[1], CHANGED)
                ],
            }
        return document

    def as_html(self) -> str:
        """The HTML page."""
        measured, document = self.measured, self.as_json()
        title = f"{self.file}: {' against '.join(self.labels)}"
        parts = [f"<h1>{escape(title)}</h1>", f"<p>{len(measured[0])} of {len(self.items)} questions asked.</p>"]
        parts += ["<h2>Figures</h2>", _figures(self.labels, document), "<h2>Outcomes</h2>"]
        rates = {
            label: {name: measures[f"{name}_rate"] for name in REPORTED}
            for label, measures in zip(self.labels, _both(document), strict=True)
        }
        parts += [plots.shares(rates, REPORTED), "<h2>Overall scores</h2>"]
        parts += [plots.histogram(self._columns(measured, "overall"))]
        parts += ["<h2>Latency</h2>", plots.distribution(self._columns(measured, "latency_ms"), "ms")]
        if len(measured) > 1:
            parts += self._comparison(document["against"])
        parts += ["<h2>Questions</h2>", *(self._question(item, measured) for item in self.items)]
        return page(title, "\n".join(parts))

    def _columns(self, measured: Sequence[Mapping[int, Measures]], name: str) -> dict[str, list[float]]:
        return {
            label: [measures[name] for measures in side.values() if name in measures]
            for label, side in zip(self.labels, measured, strict=True)
        }

    def _comparison(self, document: Mapping[str, Any]) -> list[str]:
        compared: dict[str, dict[str, float]] = document["comparison"]
        rows = [
            [name, *(f"{measure[key]:+.4f}" for key in ("difference", "low", "high")), f"{measure['p']:.3f}"]
            + [f"{measure[key]:.0f}" for key in ("wins", "losses", "ties")]
            for name, measure in compared.items()
        ]
        heads = ["measure", "difference", "95 % from", "to", "p", "wins", "losses", "ties"]
        by_line = {item.line: item for item in self.items}
        changed = [
            [f'<a href="#q{case["line"]}">{_short(by_line[case["line"]].question)}</a>', f"{case['change']:+.3f}"]
            for case in document["changed"]
        ]
        better = {name: compared[name] for name in HIGHER_IS_BETTER if name in compared}
        first, second = (escape(label) for label in self.labels)
        return [
            f"<h2>{first} minus {second}</h2>",
            "<p>Mean differences on the questions that both were asked, with the 95 % interval of a paired bootstrap; "
            f"wins are questions where {first} is better.</p>",
            plots.differences(better),
            table_html(heads, [[escape(cell) for cell in row] for row in rows]),
            "<h2>Largest changes</h2>",
            table_html(["question", "change"], changed) if changed else "<p>Nothing changed.</p>",
        ]

    def _question(self, item: QuestionItem, measured: Sequence[Mapping[int, Measures]]) -> str:
        parts = [f"<p class=by>line {item.line}</p>", f"<p>{_escaped(item.question)}</p>"]
        if item.expected_answer:
            parts.append(f"<p><b>Expected</b></p><div class=answer>{_escaped(item.expected_answer)}</div>")
        if item.expected_sources:
            parts.append(f"<p class=by>expected sources: {_escaped(', '.join(item.expected_sources))}</p>")
        heads = []
        for label, rows, measures in zip(self.labels, self.rows, measured, strict=True):
            row = rows.get(item.line)
            if row is None:
                parts.append(f"<p><b>{escape(label)}</b>: not asked</p>")
                continue
            heads.append(_head(row, measures[item.line]))
            parts += _answer(label, row, measures[item.line])
        summary = f"{_short(item.question)} <span class=by>{escape(' | '.join(heads))}</span>"
        return f'<details id="q{item.line}"><summary>{summary}</summary>{"".join(parts)}</details>'


def _answer(label: str, row: Mapping[str, Any], measured: Measures) -> list[str]:
    """One pipeline's answer: sentences coloured by score, citations with scores, measures."""
    evaluation = row.get("evaluation") or {}
    outcome = ", ".join(filter(None, (outcome_word(row), str(row.get("kind", "")), str(row.get("error", "")))))
    parts = [
        f"<p><b>{escape(label)}</b>: {_escaped(outcome)} <span class=by>{escape(str(row.get('id', '')))}</span></p>"
    ]
    if sentences := evaluation.get("sentences"):
        text = " ".join(
            f'<span class="s{int(sentence["score"])}">{_escaped(sentence["text"])}</span>' for sentence in sentences
        )
        parts.append(f"<div class=answer>{text}</div>")
    else:
        parts.append(f"<div class=answer>{_escaped(str(row.get('answer', '')))}</div>")
    scores = {citation["number"]: citation["score"] for citation in evaluation.get("citations", ())}
    for citation in row.get("citations", ()):
        score = f", {scores[citation['number']]} of 25" if citation["number"] in scores else ""
        parts.append(
            f"<p class=by>[{citation['number']}] {_escaped(citation['title'] or citation['source'])}{score}</p>"
        )
    figures = ", ".join(f"{name} {value:.4g}" for name, value in measured.items() if name not in REPORTED)
    return [*parts, f"<p class=by>{escape(figures)}</p>"]


def _head(row: Mapping[str, Any], measured: Measures) -> str:
    outcome = outcome_word(row)
    return f"{outcome} {measured['overall']:.2f}" if "overall" in measured else outcome


def _both(document: Mapping[str, Any]) -> list[dict[str, float]]:
    return [document["metrics"], *([document["against"]["metrics"]] if "against" in document else [])]


def _figures(labels: Sequence[str], document: Mapping[str, Any]) -> str:
    both = _both(document)
    spread = [document["intervals"], *([document["against"]["intervals"]] if "against" in document else [])]
    rows = []
    for name in dict.fromkeys(name for measures in both for name in measures):
        cells = []
        for values, ranges in zip(both, spread, strict=True):
            value = f"{values[name]:.4g}" if name in values else "–"
            low_high = f" ({ranges[name][0]:.3f} to {ranges[name][1]:.3f})" if name in ranges else ""
            cells.append(escape(value + low_high))
        rows.append([escape(name), *cells])
    return table_html(["measure", *map(escape, labels)], rows)


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are HTML."""
    head = "".join(f"<th{' class=n' if at else ''}>{head}</th>" for at, head in enumerate(heads))
    body = "".join(f"<tr>{''.join(map(_cell, row, range(len(row))))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(cell: str, at: int) -> str:
    return f"<td{' class=n' if at else ''}>{cell}</td>"


def page(title: str, body: str) -> str:
    """An HTML page that loads nothing; `body` is HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _escaped(text: str) -> str:
    """Text of users: without markup and invisible characters."""
    return escape(visible(text))


def _short(text: str) -> str:
    return _escaped(clipped(" ".join(text.split()), 110))
