"""The faults of a stage, from its reports, and what an operator does about them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shared.contracts.domain import Lane
from shared.observability.worker_status import StageReport

#: Seconds that the oldest event of a lane may wait: live ones are questions of people, others ingestion and feedback.
OLDEST_SECONDS = {Lane.LIVE: 20.0, Lane.BACKGROUND: 300.0}
#: Why a stage is not ready when no worker has replied.
SILENT = "no worker replies"


@dataclass(frozen=True)
class StageFault:
    """One thing that is wrong with a stage. `serious`: events are not processed; else they are processed late."""

    stage: str
    serious: bool
    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.reason} ({self.advice})"


def stage_faults(reports: Iterable[StageReport]) -> list[StageFault]:
    """The faults of all stages, by name; at most one for each stage, the most serious one."""
    faults: dict[str, StageFault] = {}
    for report in reports:
        fault = _fault(report)
        known = faults.get(report.stage)
        if fault is not None and (known is None or (fault.serious and not known.serious)):
            faults[report.stage] = fault
    return [faults[stage] for stage in sorted(faults)]


def _fault(report: StageReport) -> StageFault | None:
    stage = report.stage
    if not report.workers:
        return StageFault(stage, True, SILENT, "start one, or see whether it hangs: its log, /readyz of its probe port")
    if report.not_ready:
        return StageFault(stage, True, report.not_ready, "its workers wait for that")
    if report.paused_seconds is not None:
        paused = f"the {report.lane} lane is paused for {report.paused_seconds:,.0f} s more"
        return StageFault(stage, True, paused, f"answerbus stages resume {stage}")
    if report.oldest_seconds > OLDEST_SECONDS[report.lane]:
        late = (
            f"an event of the {report.lane} lane waits since {report.oldest_seconds:,.0f} s, {report.pending:,} behind"
        )
        return StageFault(stage, False, late, f"answerbus stages; answerbus stages scale {stage}=N")
    return None
