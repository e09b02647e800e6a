"""Results of evaluations as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cli.output import print_json, table
from shared.text.sanitizer import visible


def show_measures(title: str, result: dict[str, Any], *, as_json: bool) -> None:
    """Print the `metrics` and `figures` of an evaluation."""
    if as_json:
        print_json(result)
        return
    table(title, ["measure", "value"], [[name, str(value)] for name, value in result["metrics"].items()])
    show_figures(result["figures"])


def show_intervals(title: str, result: dict[str, Any]) -> None:
    """Print the `metrics` of an evaluation with their 95 % intervals."""
    rows = [[name, value, *result["intervals"][name]] for name, value in result["metrics"].items()]
    table(title, ["measure", "mean", "95 % from", "to"], rows)


def show_figures(figures: dict[str, Any]) -> None:
    """Print counts, times and the like."""
    table("figures", ["figure", "value"], [[name, str(value)] for name, value in figures.items()])


def show_texts(texts: Sequence[Mapping[str, Any]]) -> None:
    """Print texts with what was found in each: the rules and the spans they matched, or the language it was taken for.

    Nothing that a text contains reaches the terminal as a control sequence.
    """
    for text in texts:
        detected = f"{text['language']} taken for {text['detected']}" if "detected" in text else text["outcome"]
        print(visible(f"{detected}: {text['text']}"))
        for match in text.get("matches", ()):
            print(visible(f"    {match['kind']}  «{match['span']}»  {match['rule']}"))
