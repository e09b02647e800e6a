"""docs/flow.md: the stages and facts as charts and tables, from the stages' own declarations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared import subjects
from shared.domain import Lane
from shared.facts import Fact
from shared.ops.contract import Contract, durables
from shared.stage import ENDING, Hearing

_HEAD = """\
# The flow

This page is written from the stages' own declarations (`make docs`); every arrow is a handler's annotation. The fields
of each fact are in [facts.md](facts.md), the same for programs in [asyncapi.json](asyncapi.json).

A box is a stage, a rounded node is a fact. A fact with a thick border ends its question: every question gets exactly
one of these. What is dashed is part of the contract, but no stage says or hears it yet.
"""
_CLASSES = (
    "  classDef stage fill:#e8eef7,stroke:#3b5b8c,color:#111",
    "  classDef fact fill:#ffffff,stroke:#888888,color:#111",
    "  classDef terminal fill:#fff4e0,stroke:#b36b00,stroke-width:3px,color:#111",
    "  classDef factReserved fill:#ffffff,stroke:#888888,stroke-dasharray:4 3,color:#555",
    "  classDef terminalReserved fill:#fff4e0,stroke:#b36b00,stroke-width:3px,stroke-dasharray:4 3,color:#555",
)


def flow_page(contract: Contract) -> str:
    """The whole page as Markdown."""
    steps = [fact for fact in contract.facts if not fact.aside]
    asides = [fact for fact in contract.facts if fact.aside]
    parts = [
        _HEAD,
        "## A question's way\n",
        chart(contract, steps),
        "## Beside it\n\nWhat is said about a finished question, and about documents.\n",
        chart(contract, asides),
        "## Stages\n",
        _stage_table(contract),
        "Every durable has a twin on the background lane, named with `-background` behind it, so that replays and "
        "evaluations\nnever delay a question that somebody waits for.\n",
        _endings(),
        "## What stages may be asked\n\nBy request and reply, as JSON both ways; any free worker of the stage "
        "replies.\n",
        _ask_table(contract),
        "## Reserved\n\nIn the contract (`said_by` and `heard_by` of the fact), and not declared by the stage yet.\n",
        _reserved_table(contract),
    ]
    return "\n".join(parts).rstrip() + "\n"


def chart(contract: Contract, facts: list[type[Fact]]) -> str:
    """A mermaid flow chart of these facts and the stages around them."""
    lines = ["```mermaid", "flowchart LR"]
    around: list[str] = []
    edges: list[str] = []
    for fact in facts:
        says, hears = contract.sayers(fact), contract.hearers(fact)
        later_says, later_hears = contract.later_sayers(fact), contract.later_hearers(fact)
        around += says + hears + later_says + later_hears
        edges += [f"  {stage} --> {fact.__name__}" for stage in says]
        edges += [f"  {stage} -.-> {fact.__name__}" for stage in later_says]
        edges += [f"  {fact.__name__} --> {stage}" for stage in hears]
        edges += [f"  {fact.__name__} -.-> {stage}" for stage in later_hears]
    lines += [f"  {stage.name}[{stage.name}]:::stage" for stage in contract.stages if stage.name in around]
    lines += [f"  {fact.__name__}([{fact.__name__}]):::{_look(contract, fact)}" for fact in facts]
    return "\n".join([*lines, *edges, *_CLASSES, "```", ""])


def _look(contract: Contract, fact: type[Fact]) -> str:
    look = "terminal" if fact.terminal else "fact"
    return look if contract.sayers(fact) else f"{look}Reserved"


def _stage_table(contract: Contract) -> str:
    rows = [
        (
            f"**{stage.name}**",
            _listed(_heard(hearing) for hearing in stage.hearings),
            _listed(_fact(fact) for fact in stage.said),
            _listed(f"`{answering.verb}`" for answering in stage.answerings),
            _listed(f"`{durables(hearing)[0]}`" for hearing in stage.hearings),
        )
        for stage in contract.stages
    ]
    return _table(("stage", "hears", "says", "answers", "durables"), rows)


def _heard(hearing: Hearing) -> str:
    return "every ending" if hearing.word == ENDING else _fact(hearing.facts[0])


def _endings() -> str:
    return (
        f"Every ending is heard through one filter, `{subjects.endings(Lane.LIVE)}`, because a terminal fact's subject "
        f"ends in\n`{subjects.END}` rather than in the number of the attempt. A stage that hears steps of a question "
        "may always say\n`QuestionAbandoned`.\n"
    )


def _ask_table(contract: Contract) -> str:
    rows = [
        (f"`{subjects.ask(stage.name, ask.verb)}`", f"`{ask.request.__name__}`", f"`{ask.reply.__name__}`")
        for stage in contract.stages
        for ask in stage.answerings
    ]
    return _table(("subject", "request", "reply"), rows)


def _reserved_table(contract: Contract) -> str:
    rows = [
        (_fact(fact), _names(contract.later_sayers(fact)), _names(contract.later_hearers(fact)))
        for fact in contract.facts
        if contract.later_sayers(fact) or contract.later_hearers(fact)
    ]
    return _table(("fact", "to be said by", "to be heard by"), rows) if rows else "Nothing.\n"


def _fact(fact: type[Fact]) -> str:
    link = f"[{fact.__name__}](facts.md#{fact.__name__.lower()})"
    return f"**{link}**" if fact.terminal else link


def _names(stages: Iterable[str]) -> str:
    return ", ".join(stages) or "–"


def _listed(items: Iterable[str]) -> str:
    return "<br>".join(items) or "–"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines: list[tuple[str, ...]] = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
