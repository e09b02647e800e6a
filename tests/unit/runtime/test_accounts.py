"""Accounts: what a user may publish and hear reaches the account that has it, once, and nothing else does."""

from __future__ import annotations

import pytest

from cli.host.catalogue import STAGES, stages
from shared.contracts import subjects
from shared.runtime.accounts import API, BUS, Account, account_of, accounts
from shared.runtime.permissions import INJECTOR, OPERATOR, users

PERMITTED = users(stages())
ACCOUNTS: dict[str, Account] = {account.name: account for account in accounts(PERMITTED)}


def matches(filter_subject: str, subject: str) -> bool:
    """Whether some subject is under both filters."""
    left, right = filter_subject.split("."), subject.split(".")
    for one, other in zip(left, right, strict=False):
        if ">" in (one, other):
            return True
        if "*" not in (one, other) and one != other:
            return False
    return len(left) == len(right)


def test_every_service_and_the_injector_are_alone_in_their_account() -> None:
    assert ACCOUNTS[BUS].users == [OPERATOR]
    assert all(ACCOUNTS[account_of(user)].users == [user] for user in (*STAGES, INJECTOR))


@pytest.mark.parametrize("user", [*STAGES, INJECTOR])
def test_all_that_a_user_may_publish_is_taken_over_once(user: str) -> None:
    """What two accounts or two overlapping subjects took over would be stored twice."""
    account = ACCOUNTS[account_of(user)]
    for subject in PERMITTED[user].publish:
        taken = [one for one in account.uses if matches(one[1], subject)]
        if subject == subjects.REPLIES or subject.startswith("live."):
            assert not taken
        elif subject != subjects.ROLL_CALL:
            assert len(taken) == 1, subject


@pytest.mark.parametrize("user", [*STAGES, INJECTOR])
def test_an_account_takes_over_nothing_that_its_user_may_not_publish_but_the_api(user: str) -> None:
    taken = {subject for _, subject in ACCOUNTS[account_of(user)].uses}

    assert taken - set(PERMITTED[user].publish) <= {API}


def test_every_subject_that_is_taken_over_is_let_go_by_its_owner_to_that_account() -> None:
    for account in ACCOUNTS.values():
        for owner, subject in account.uses:
            assert account.name in ACCOUNTS[owner].services[subject]
        for owner, subject in account.hears:
            assert account.name in ACCOUNTS[owner].streams[subject]


def test_a_request_to_a_stage_is_taken_over_from_its_account() -> None:
    asked = {owner: subject for owner, subject in ACCOUNTS["ANSWER"].uses if subject.startswith("ask.")}

    assert set(asked) == {"PERSISTENCE", "RETRIEVAL"}


def test_the_state_of_all_workers_is_requested_from_every_service_that_replies() -> None:
    """Not from the gateway's account, which would request it from the others once more."""
    wanted = {account_of(stage) for stage in STAGES} - {"GATEWAY"}
    for account in (ACCOUNTS["GATEWAY"], ACCOUNTS[BUS]):
        asked = {owner for owner, subject in account.uses if subject == subjects.ROLL_CALL}
        assert asked == wanted
