"""Figures and their ratios: medians over the rounds, as a table on the screen, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.table import Table


@dataclass
class Section:
    """One comparison: the same measures for every variant, each set against the baselines named.

    `runs` holds, per variant and measure, one value per round. A ratio is between medians of the same section, hence
    of the same minutes on the same machine.
    """

    name: str
    title: str
    measures: tuple[str, ...]
    baselines: tuple[str, ...]
    runs: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, variant: str, values: Mapping[str, float]) -> None:
        measures = self.runs.setdefault(variant, {measure: [] for measure in self.measures})
        for measure in self.measures:
            measures[measure].append(values[measure])

    def value(self, variant: str, measure: str) -> float:
        return median(self.runs[variant][measure])

    def ratios(self, variant: str, measure: str) -> dict[str, float]:
        """Times the value of each other variant that is a baseline."""
        others = [name for name in self.baselines if name in self.runs and name != variant]
        return {name: self.value(variant, measure) / self.value(name, measure) for name in others}

    def cell(self, variant: str, measure: str) -> str:
        """`6.50 (1.43× raw, 0.95× plain)`."""
        value = self.value(variant, measure)
        figure = f"{value:,.{0 if value >= 100 else 2}f}"
        ratios = ", ".join(f"{ratio:.2f}× {name}" for name, ratio in self.ratios(variant, measure).items())
        return f"{figure} ({ratios})" if ratios else figure

    def rows(self) -> list[list[str]]:
        return [[variant, *(self.cell(variant, measure) for measure in self.measures)] for variant in self.runs]


def rich_table(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left")
    table.add_column("")
    for measure in section.measures:
        table.add_column(measure, justify="right")
    for row in section.rows():
        table.add_row(*(cell.replace(" (", "\n").replace(", ", "\n").rstrip(")") for cell in row), end_section=True)
    return table


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others figures."""
    lines = [f"| {' | '.join(header)} |", f"|---|{'---:|' * (len(header) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def markdown(section: Section, environment: Mapping[str, str]) -> str:
    """A section of the benchmark page: the table, then where it was measured."""
    rounds = max(len(values) for measures in section.runs.values() for values in measures.values())
    where = " · ".join(f"{key} {value}" for key, value in environment.items())
    table = markdown_table(["", *section.measures], section.rows())
    return f"### {section.title}\n\n{table}\n\nMedian of {rounds} alternating rounds. {where}.\n"


def replace_section(page: str, name: str, body: str) -> str:
    """Put `body` between the markers of `name` in a Markdown page; a page without them gets them at its end."""
    start, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    block = f"{start}\n{body.strip()}\n{end}"
    if start not in page or end not in page:
        return f"{page.rstrip()}\n\n{block}\n".lstrip()
    before, _, rest = page.partition(start)
    return before + block + rest.partition(end)[2]


def as_json(sections: Sequence[Section], environment: Mapping[str, str]) -> dict[str, Any]:
    """Everything measured: medians, ratios and the single runs."""
    return {
        "environment": dict(environment),
        "sections": {
            section.name: {
                "title": section.title,
                "baselines": list(section.baselines),
                "variants": {
                    variant: {
                        measure: {
                            "median": section.value(variant, measure),
                            "ratios": section.ratios(variant, measure),
                            "runs": values,
                        }
                        for measure, values in measures.items()
                    }
                    for variant, measures in section.runs.items()
                },
            }
            for section in sections
        },
    }
