"""The NATS accounts of a platform: one for the bus, one for each service, and what each takes over from another. Pure.

Permissions cover what a user publishes, not the reply subject that it names: the server would send its reply, also the
bytes of a stored message, under the subject of any fact. Between accounts it cannot: a reply comes back into the
account of the request and goes no further. So the streams are in one account, where no service has a user, and each
service works in an account that takes over (imports) only what its user may publish and subscribe to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.contracts import subjects
from shared.runtime.permissions import OPERATOR, Permissions

#: The account of the streams, and of the operator.
BUS = "BUS"
#: The JetStream API is taken over as a whole: a server adds its own to an account that has a part of it, and answers
#: twice. What a user may request of it is up to the user's permissions.
API = "$JS.API.>"
#: Requests with several replies, and how long the server waits for the next one: longer than a pull request.
STREAMED = {API: "45s", subjects.ROLL_CALL: "10s"}

_ASK = "ask."


@dataclass
class Account:
    """One account: its users, and by subject the accounts it exports to, and what it imports from others."""

    name: str
    users: list[str] = field(default_factory=list)
    services: dict[str, list[str]] = field(default_factory=dict)
    streams: dict[str, list[str]] = field(default_factory=dict)
    #: (account, subject)
    uses: list[tuple[str, str]] = field(default_factory=list)
    hears: list[tuple[str, str]] = field(default_factory=list)


def account_of(user: str) -> str:
    """The account in which a user works."""
    return BUS if user == OPERATOR else user.upper()


def accounts(permitted: Mapping[str, Permissions]) -> list[Account]:
    """The accounts of these users, that of the bus first."""
    made = {name: Account(name) for name in (BUS, *map(account_of, permitted))}
    signals = {
        subject: account_of(user)
        for user, permissions in permitted.items()
        for subject in permissions.publish
        if subject.startswith(f"{subjects.LIVE_PREFIX}.")
    }
    for user, permissions in permitted.items():
        account = made[account_of(user)]
        account.users.append(user)
        for subject in permissions.publish:
            for owner in _owners(subject, permitted):
                if owner == account.name:
                    continue
                taken = API if subject.startswith(API[:-1]) else subject
                _share(made[owner].services, account.uses, owner, account.name, taken)
        for subject in permissions.subscribe:
            if account.name != BUS and not subject.startswith((_ASK, subjects.INBOX)):
                owner = signals.get(subject, BUS)
                _share(made[owner].streams, account.hears, owner, account.name, subject)
    for subject, owner in signals.items():
        _share(made[owner].streams, made[BUS].hears, owner, BUS, subject)
    return list(made.values())


def _owners(subject: str, permitted: Mapping[str, Permissions]) -> list[str]:
    """The accounts that receive messages of this subject."""
    if subject == subjects.REPLIES or subject.startswith(f"{subjects.LIVE_PREFIX}."):
        return []  # the server routes replies itself; signals are imported as streams
    if subject == subjects.ROLL_CALL:  # not from who only asks: that account would ask the others once more
        return [account_of(user) for user, permissions in permitted.items() if subject in permissions.subscribe]
    if subject.startswith(_ASK):
        return [account_of(subject.split(".")[1])]
    return [BUS]


def _share(
    exports: dict[str, list[str]], imports: list[tuple[str, str]], owner: str, account: str, subject: str
) -> None:
    if (owner, subject) not in imports:
        imports.append((owner, subject))
        exports.setdefault(subject, []).append(account)
