"""Plots as inline SVG, without a library: shares, distributions and differences.

Colours differ in lightness too, and every figure is also given as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

WIDTH = 760
SIDES = ("#1f5fa8", "#e08214")
SHARES = ("#2c7a4b", "#8fbf7f", "#c9b037", "#b5651d", "#a03050", "#777777", "#b0b0c0")


def shares(rows: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """A stacked bar per row; the values are the shares of the names, 0 to 1."""
    parts, bar = [], WIDTH - 170
    for index, (label, values) in enumerate(rows.items()):
        y, x = 8 + 34 * index, 160.0
        parts.append(_text(152, y + 17, label, anchor="end"))
        for name, colour in zip(names, cycle(SHARES), strict=False):
            width = bar * values.get(name, 0.0)
            if width <= 0:
                continue
            parts.append(_box(x, y, width, 24, colour, f"{label}: {name} {100 * values[name]:.1f} %"))
            if width > 44:
                parts.append(_text(x + width / 2, y + 17, f"{100 * values[name]:.0f} %", fill="#fff", anchor="middle"))
            x += width
    y = 22 + 34 * len(rows)
    for index, (name, colour) in enumerate(zip(names, cycle(SHARES), strict=False)):
        x = 160 + (WIDTH - 160) / len(names) * index
        parts += [_box(x, y, 10, 10, colour), _text(x + 14, y + 10, name)]
    return _svg(parts, y + 18)


def histogram(rows: Mapping[str, Sequence[float]], *, bins: int = 10) -> str:
    """The share of values (0 to 1) in each bin, for all rows side by side."""
    counts = {label: _counts(values, bins) for label, values in rows.items()}
    highest = max((max(column) for column in counts.values()), default=0.0) or 1.0
    parts, step, height = [], (WIDTH - 60) / bins, 160
    for side, (label, column) in enumerate(counts.items()):
        width = (step - 6) / max(1, len(counts))
        for index, value in enumerate(column):
            bar_height = height * value / highest
            x = 50 + index * step + side * width
            label_text = f"{label}: {100 * value:.1f} % from {index / bins:.1f} to {(index + 1) / bins:.1f}"
            parts.append(_box(x, 20 + height - bar_height, width - 1, bar_height, SIDES[side % 2], label_text))
    parts += [_text(50 + index * step, height + 36, f"{index / bins:.1f}") for index in range(bins + 1)]
    parts += [_line(50, 20 + height, WIDTH - 10, 20 + height), _text(44, 28, f"{100 * highest:.0f} %", anchor="end")]
    return _svg([*parts, *_legend(list(rows))], height + 46)


def distribution(rows: Mapping[str, Sequence[float]], unit: str) -> str:
    """The cumulative distribution of the values, on a logarithmic axis."""
    values = [max(value, 0.1) for column in rows.values() for value in column]
    if not values:
        return ""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    wide, height = WIDTH - 70, 180

    def across(value: float) -> float:
        return 50 + wide * (math.log10(max(value, 0.1)) - low) / (high - low)

    parts = []
    for power in range(low, high + 1):
        x = across(10.0**power)
        parts += [
            _line(x, 20, x, 20 + height, "#ddd"),
            _text(x, height + 36, f"{10.0**power:g} {unit}", anchor="middle"),
        ]
    for share in (0, 50, 95, 100):
        y = 20 + height * (1 - share / 100)
        parts += [_line(50, y, WIDTH - 20, y, "#ddd"), _text(44, y + 4, f"{share} %", anchor="end")]
    for side, column in enumerate(rows.values()):
        ordered = sorted(column)
        points = (
            f"{across(value):.1f},{20 + height * (1 - at / len(ordered)):.1f}"
            for at, value in enumerate(ordered, start=1)
        )
        line = " ".join(points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{SIDES[side % 2]}" stroke-width="2"/>')
    return _svg([*parts, *_legend(list(rows))], height + 46)


def differences(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Each difference with its interval; positive ones are to the right of the axis."""
    reach = max((abs(row[key]) for row in rows.values() for key in ("low", "high")), default=0.0) or 0.01
    middle, scale = WIDTH / 2 + 60, (WIDTH / 2 - 160) / reach
    bottom = 22 + 26 * len(rows)
    parts = [_line(middle, 10, middle, bottom, "#999"), _text(middle, bottom + 14, "0", anchor="middle")]
    for at in (-reach, reach):
        parts.append(_text(middle + at * scale, bottom + 14, f"{at:+.3f}", anchor="middle"))
    for index, (name, row) in enumerate(rows.items()):
        y = 26 + 26 * index
        significant = row["low"] > 0 or row["high"] < 0
        colour = SIDES[0] if significant else "#888888"
        label_text = f"{row['difference']:+.3f}"
        parts += [
            _text(140, y + 4, name, anchor="end"),
            _line(middle + row["low"] * scale, y, middle + row["high"] * scale, y, colour, 3),
            f'<circle cx="{middle + row["difference"] * scale:.1f}" cy="{y}" r="5" fill="{colour}"/>',
            _text(WIDTH - 8, y + 4, label_text, anchor="end"),
        ]
    return _svg(parts, bottom + 22)


def _counts(values: Sequence[float], bins: int) -> list[float]:
    counts = [0.0] * bins
    for value in values:
        counts[min(bins - 1, max(0, int(value * bins)))] += 1 / len(values)
    return counts


def _legend(labels: Sequence[str]) -> list[str]:
    parts: list[str] = []
    for side, label in enumerate(labels):
        parts += [_box(60 + 220 * side, 2, 10, 10, SIDES[side % 2]), _text(74 + 220 * side, 12, label)]
    return parts


def _svg(parts: Sequence[str], height: float) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img">{"".join(parts)}</svg>'


def _box(x: float, y: float, width: float, height: float, fill: str, label_text: str = "") -> str:
    title = f"<title>{escape(label_text)}</title>" if label_text else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{max(0.0, height):.1f}"'
    return f'<rect {place} fill="{fill}">{title}</rect>'


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str = "#333", width: int = 1) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{stroke}" stroke-width="{width}"/>'


def _text(x: float, y: float, label_text: str, *, fill: str = "#333", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}">{escape(label_text)}</text>'
