"""Three nodes: whatever is killed, no question that was acknowledged is lost.

The leader is killed only once here, as each election takes seconds; `tests.bench --only cluster` does it twice.
"""

from __future__ import annotations

from pathlib import Path

from tests.bench.cluster import STEADY, killed


async def test_killing_the_leader_a_follower_and_all_at_once_loses_no_acknowledged_question(
    tmp_path: Path,
) -> None:
    outcome = await killed(tmp_path, ("leader", "follower"))

    assert outcome.acknowledged > 4 * STEADY
    assert outcome.lost == 0
    assert list(outcome.outages) == ["leader", "follower", "all three"]
    # A worker tries for 30 s before it gives up.
    assert max(outcome.outages.values()) < 30
