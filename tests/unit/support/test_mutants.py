"""Mutants are programs that differ from the source in one expression of a function."""

from __future__ import annotations

import ast

from tests.mutants.mutate import mutants
from tests.support.table import table


@table(
    ("body", "mutated"),
    [
        ("return a < b", ["return (a <= b)"]),
        ("return a in b", ["return (a not in b)"]),
        ("return a and b", ["return ((a) or (b))"]),
        ("return not a", ["return (a)"]),
        ("return True", ["return False"]),
        ("return 'é' + f(3)", ["return 'é' + f(4)"]),
        ("return (a ==\n            b)", ["return ((a != b))"]),
        ("return 'text'", []),
        ("return a < b < c", []),
    ],
)
def test_one_expression_is_the_other_way_round(body: str, mutated: list[str]) -> None:
    found = mutants("a.py", f"LIMIT = 5\n\ndef f(a, b=7):\n    {body}\n")

    assert [mutant.text.split("\n    ", 1)[1].strip() for mutant in found] == mutated
    for mutant in found:
        ast.parse(mutant.text)
