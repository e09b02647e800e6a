"""Withdrawn questions: known by id, their running work cancelled."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from nats.aio.client import Client

from shared.bus import withdrawals as module
from shared.bus.withdrawals import Withdrawals


class Running:
    """Work on a question that goes on until it is cancelled or let go."""

    def __init__(self, withdrawals: Withdrawals, cid: str) -> None:
        self.entered = asyncio.Event()
        self.let_go = asyncio.Event()
        self.task = asyncio.create_task(self._work(withdrawals, cid))

    async def _work(self, withdrawals: Withdrawals, cid: str) -> None:
        withdrawals.enter(cid)
        self.entered.set()
        try:
            await self.let_go.wait()
        finally:
            withdrawals.leave(cid)


async def test_a_withdrawal_cancels_all_running_work_of_its_question_and_no_other() -> None:
    withdrawals = Withdrawals()
    one, same, other = (Running(withdrawals, cid) for cid in ("a", "a", "b"))
    for work in (one, same, other):
        await work.entered.wait()

    withdrawals.withdraw("a")
    await asyncio.gather(one.task, same.task, return_exceptions=True)
    other.let_go.set()
    await other.task

    assert (one.task.cancelled(), same.task.cancelled(), other.task.cancelled()) == (True, True, False)
    assert "a" in withdrawals
    assert "b" not in withdrawals


async def test_work_that_is_done_is_not_cancelled_any_more() -> None:
    withdrawals = Withdrawals()
    work = Running(withdrawals, "a")
    await work.entered.wait()
    work.let_go.set()
    await work.task

    withdrawals.withdraw("a")

    assert not work.task.cancelled()


async def test_leaving_twice_or_never_having_entered_is_no_error() -> None:
    withdrawals = Withdrawals()
    withdrawals.leave("a")
    withdrawals.enter("a")
    withdrawals.leave("a")
    withdrawals.leave("a")


def test_only_so_many_withdrawals_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    withdrawals = Withdrawals()

    for cid in "abcde":
        withdrawals.withdraw(cid)

    assert [cid for cid in "abcde" if cid in withdrawals] == ["c", "d", "e"]


async def test_withdrawals_of_both_lanes_are_heard_on_the_live_republish() -> None:
    subjects: list[str] = []

    class Listener:
        async def subscribe(self, subject: str, cb: object) -> None:
            subjects.append(subject)

    await Withdrawals().listen(cast("Client", Listener()))

    assert subjects == ["live.qa.question.withdrawn.*.*", "live.bg.question.withdrawn.*.*"]
