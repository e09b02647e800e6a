"""The chain parts: every chain in turn, round after round, with and without fsync."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import plain_faststream_chain, raw_chain, stage_chain
from .chain import HOPS, Chain, Figures, Load, measure
from .report import Section

CHAINS: tuple[Chain, ...] = (raw_chain.CHAIN, plain_faststream_chain.CHAIN, stage_chain.CHAIN)
BASELINES = (raw_chain.CHAIN.name, plain_faststream_chain.CHAIN.name)

QUICK = Load(warm_up=100, serial=100, parallel=1000)

Say = Callable[[str], None]


async def compare(*, fsync: bool, rounds: int, load: Load, say: Say, chains: Sequence[Chain] = CHAINS) -> Section:
    """Run the chains A B C A B C ..., so that a noisy minute falls on all of them, and collect their figures."""
    p50, p95 = "1 in flight: p50 ms", "p95 ms"
    rate, cpu = f"{load.in_flight} in flight: questions/s", "CPU ms per question"
    section = Section(
        name="chains-fsync" if fsync else "chains",
        title=f"{HOPS} durable hops of 4 KB events, {'every write fsynced' if fsync else 'without fsync'}",
        measures=(p50, p95, rate, cpu),
        baselines=BASELINES,
    )
    for number in range(rounds):
        for chain in chains:
            figures = await measure(chain, load, fsync=fsync)
            section.add(
                chain.name, {p50: figures.p50_ms, p95: figures.p95_ms, rate: figures.per_second, cpu: figures.cpu_ms}
            )
            say(_line(number, chain, figures, fsync=fsync))
    return section


def _line(number: int, chain: Chain, figures: Figures, *, fsync: bool) -> str:
    kind = "fsync" if fsync else "no fsync"
    return f"round {number + 1}, {kind}: {chain.name} {figures.p50_ms:.2f} ms, {figures.per_second:,.0f}/s"
