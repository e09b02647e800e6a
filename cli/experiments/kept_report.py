"""The report of a shadow run as the platform keeps it: figures, segments and ids, without a text of anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.client import GatewayClient
from cli.experiments.report import ExperimentReport
from cli.experiments.run_folder import RunState
from shared.contracts.tenants import TENANT_HEADER

KIND = "shadow"
#: Values of each kind of segment, the most frequent.
MOST_VALUES = 10


def kept_document(report: ExperimentReport, state: RunState, review: str) -> dict[str, Any]:
    """What is sent: no question, no answer, and no comment of an expert, so that nothing has to be erased from it.

    Examples are ids, by which an operator reads what is on record. `review` is the id of the pairs' review (empty:
    there is none), where each expert's judgements are. The cited sources belong to a tenant: segments by source are
    left out unless all pairs are of one.
    """
    told = report.as_json()
    by_source = bool(_tenant(report))
    experts = {name: one for name, one in told["experts"].items() if name in _OF_EXPERTS}
    if experts:
        large = [one for one in experts.get("segments", ()) if by_source or one["segment"] != "source"]
        experts = {**experts, "segments": large, "review": review}
    judge = dict(told["judge"])
    if judge:
        judge["segments"] = _most_frequent(judge["segments"], by_source=by_source)
    names = ("name", "live", "candidate", "pairs", "ended", "halted_by_guard")
    return {
        **{name: told[name] for name in names},
        "started_at": state.started_at.isoformat(),
        "measures": told["measures"],
        "judge": judge,
        "experts": experts,
        "cost_usd": told["cost_usd"],
        "segments": _most_frequent(told["segments"], by_source=by_source),
        "examples": {way: [_ids(one) for one in told[way]] for way in ("better", "worse")},
    }


async def keep_report(client: GatewayClient, report: ExperimentReport, state: RunState, review: str) -> None:
    """Keep the report on the platform, in place of the one that was sent of this run before.

    Raises:
        RefusedError: the caller is no operator, or the platform refuses the report.
        UnavailableError: the platform cannot be reached.
    """
    tenant = _tenant(report)
    body = {"kind": KIND, "name": report.name[:200], "report": kept_document(report, state, review)}
    headers = {TENANT_HEADER: tenant} if tenant else {}
    await client.call("PUT", f"/api/v1/evaluations/{state.id}", json=body, headers=headers)


_OF_EXPERTS = frozenset({"pairs", "together", "agreement", "shared", "segments"})


def _tenant(report: ExperimentReport) -> str:
    """The tenant of all pairs; empty: they are of several, or of none that is known."""
    tenants = {pair.tenant for pair in report.pairs}
    return tenants.pop() if len(tenants) == 1 else ""


def _most_frequent(segments: Mapping[str, Mapping[str, Any]], *, by_source: bool) -> dict[str, dict[str, Any]]:
    return {
        segment: dict(list(found.items())[:MOST_VALUES])
        for segment, found in segments.items()
        if by_source or segment != "source"
    }


def _ids(example: Mapping[str, Any]) -> dict[str, str]:
    return {"live": example["live"]["id"], "candidate": example["shadow"]["id"]}
