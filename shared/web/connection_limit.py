"""Limits the open connections of a server, in total and from one address; idle ones make room for new ones."""

from __future__ import annotations

import ipaddress
import resource
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

#: Descriptors of the process that are left for everything but clients' connections: a share, and at least that many.
OTHER_SHARE, OTHER_LEAST = 0.2, 64
#: Most connections where the process has no limit of open files.
UNLIMITED = 100_000
#: Which limit is reached: that of an address, or of all together.
Reason = Literal["address", "total"]


class ClientConnection(Protocol):
    """One connection of a client."""

    def drop(self) -> None:
        """Close it at once; it waits for no response."""


def most_connections() -> int:
    """Connections that the limit of open files of this process leaves room for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return UNLIMITED
    return max(16, files - max(OTHER_LEAST, int(files * OTHER_SHARE)))


class ConnectionLimit:
    """Admits at most `most` connections, and half of them from one address unless that is a proxy's.

    A connection is idle while it waits for a request: that which has been idle for longest is dropped first.
    """

    def __init__(self, most: int = 0, proxies: str = "", on_full: Callable[[Reason], None] = lambda _: None) -> None:
        """`most` 0: as the limit of open files allows. `on_full` is called when one has to be dropped or refused."""
        self.most = most or most_connections()
        self.of_address = max(1, self.most // 2)
        self._proxies = tuple(_networks(proxies))
        self._on_full = on_full
        self._addresses: dict[ClientConnection, str] = {}
        self._counts: Counter[str] = Counter()
        #: Idle ones, all and by address, that which has been idle for longest first.
        self._idle: OrderedDict[ClientConnection, None] = OrderedDict()
        self._idle_of: defaultdict[str, OrderedDict[ClientConnection, None]] = defaultdict(OrderedDict)

    def admit(self, connection: ClientConnection, address: str) -> bool:
        """Count a new connection, which is idle, and drop another one where there are too many.

        False: all others are busy, so it must be closed.
        """
        address = "" if self._is_proxy(address) else address
        if address and self._counts[address] >= self.of_address:
            admitted = self._make_room("address", self._idle_of[address])
        else:
            admitted = len(self._addresses) < self.most or self._make_room("total", self._idle)
        if admitted:
            self._addresses[connection] = address
            self._counts[address] += 1
            self.idle(connection)
        return admitted

    def busy(self, connection: ClientConnection) -> None:
        """A request has begun."""
        if connection in self._idle:
            del self._idle[connection]
            address = self._addresses[connection]
            del self._idle_of[address][connection]
            if not self._idle_of[address]:
                del self._idle_of[address]

    def idle(self, connection: ClientConnection) -> None:
        """Its requests are answered."""
        if connection in self._addresses:
            self._idle[connection] = None
            self._idle_of[self._addresses[connection]][connection] = None

    def ended(self, connection: ClientConnection) -> None:
        """It is closed; harmless for one that was not admitted."""
        self.busy(connection)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def _make_room(self, reason: Reason, idle: OrderedDict[ClientConnection, None]) -> bool:
        """Drop that which has been idle for longest; False where none is."""
        self._on_full(reason)
        if not idle:
            return False
        longest = next(iter(idle))
        self.ended(longest)
        longest.drop()
        return True

    def _is_proxy(self, address: str) -> bool:
        try:
            return bool(self._proxies) and any(ipaddress.ip_address(address) in proxy for proxy in self._proxies)
        except ValueError:
            return False


def _networks(addresses: str) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks of trusted proxies, separated by commas; `*` is all, anything but an address is ignored."""
    for part in addresses.split(","):
        for network in ("0.0.0.0/0", "::/0") if part.strip() == "*" else (part.strip(),):
            try:
                yield ipaddress.ip_network(network, strict=False)
            except ValueError:
                continue
