"""Lists of hosts, as operators and pipelines write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_network

_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|[0-9a-f:.]{2,45}")


def host_list(entries: str | Iterable[str]) -> tuple[str, ...]:
    """The entries (or a text of them, separated by commas) in lower case, each checked.

    `example.org` is that host, `*.example.org` those below it, `10.1.0.0/16` a network.

    Raises:
        ValueError: one is none of these; the text shows it.
    """
    parts = entries.split(",") if isinstance(entries, str) else entries
    read = tuple(part.strip().lower() for part in parts if part.strip())
    for one in read:
        if "/" in one:
            try:
                ip_network(one)
            except ValueError:
                raise ValueError(f"{one}: write a network as 10.1.0.0/16, with no bits set behind its length") from None
        elif not _HOST.fullmatch(one):
            raise ValueError(f"{one}: write a host as example.org, *.example.org or an address, without scheme or port")
    return read


def matches(host: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern names the host; networks name addresses only."""
    return any(host.endswith(one[1:]) if one.startswith("*.") else host == one for one in patterns)


def within(address: IPv4Address | IPv6Address, patterns: Iterable[str]) -> bool:
    """Whether the address lies in one of the networks among the patterns, or is one of the addresses."""
    return any(address in ip_network(one) if "/" in one else str(address) == one for one in patterns)
