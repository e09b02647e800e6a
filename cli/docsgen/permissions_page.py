"""docs/permissions.md: who may say, hear and ask what on the bus, as the server is told."""

from __future__ import annotations

from collections.abc import Iterable

from cli.docsgen.contract import Contract
from shared.runtime.permissions import INJECTOR, OPERATOR, Permissions, users

HEAD = """\
# Permissions

Written from the stages' declarations, as `answerbus bus credentials` gives them to the server; see
[security](security.md). Subjects of the background lane (`bg.`) are left out where the same is there under `qa.`,
and so is what every service may do: read pipelines, answer the roll call, hear its own replies.
"""


def permissions_page(contract: Contract) -> str:
    """A table of the services, then every user in full."""
    permitted = users(contract.stages)
    common = set.intersection(*({*one.publish, *one.subscribe} for one in (permitted[s.name] for s in contract.stages)))
    rows = [
        f"| `{stage.name}` | {_names(fact.__name__ for fact in stage.published)} | {_names(f'{one.stage}.{one.verb}' for one in stage.access.asks)} "
        f"| {_names((*stage.access.keeps, *stage.access.objects))} | {_names(stage.access.reads)} |"
        for stage in contract.stages
    ]
    head = ["| user | may say | may ask | writes | reads only |", "|---|---|---|---|---|"]
    parts = [HEAD, "\n".join([*head, *rows]) + "\n"]
    parts += [_user(name, permitted[name], common) for name in permitted]
    return "\n".join(parts)


def _user(name: str, permissions: Permissions, common: set[str]) -> str:
    what = {OPERATOR: "The commands of operators.", INJECTOR: "Replays, injections, retries of dead letters."}
    lines = [f"## {name}\n"]
    if name in what:
        lines.append(f"{what[name]}\n")
    for verb, subjects in (("publish", permissions.publish), ("subscribe", permissions.subscribe)):
        own = [one for one in subjects if name in what or one not in common]
        shown = [one for one in own if not (_live(one) != one and _live(one) in own)]
        lines.append(f"{verb.capitalize()}:\n\n" + "\n".join(f"- `{one}`" for one in shown) + "\n")
    return "\n".join(lines)


def _live(subject: str) -> str:
    """The same on the live lane."""
    return subject.replace("bg.", "qa.", 1).replace("-background", "", 1)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"
