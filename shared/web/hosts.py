"""Lists of hosts and networks, as operators and pipelines write them in settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_network

_ORIGIN = re.compile(r"https?://(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
_DEFAULT_PORTS = (("https://", ":443"), ("http://", ":80"))
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|[0-9a-f:.]{2,45}")


def host_list(entries: str | Iterable[str]) -> tuple[str, ...]:
    """Validates the entries (or a text of entries separated by commas) and returns them in lower case.

    `example.org` is that host, `*.example.org` those below it, `10.1.0.0/16` a network.

    Raises:
        ValueError: an entry is none of these; the text names it.
    """
    parts = entries.split(",") if isinstance(entries, str) else entries
    hosts = tuple(part.strip().lower() for part in parts if part.strip())
    for one in hosts:
        if "/" in one:
            try:
                ip_network(one)
            except ValueError:
                raise ValueError(f"{one}: write a network as 10.1.0.0/16, with no host bits set") from None
        elif not _HOST.fullmatch(one):
            raise ValueError(f"{one}: write a host as example.org, *.example.org or an address, without scheme or port")
    return hosts


def origin_list(entries: str | Iterable[str]) -> tuple[str, ...]:
    """Validates the origins of web pages (or a text of origins separated by commas), as browsers send them.

    Raises:
        ValueError: an entry is not exactly `scheme://host` or `scheme://host:port`; the text names it.
    """
    parts = entries.split(",") if isinstance(entries, str) else entries
    origins = tuple(part.strip().lower() for part in parts if part.strip())
    for one in origins:
        if not _ORIGIN.fullmatch(one):
            raise ValueError(f"{one}: write an origin as https://app.example.org or http://localhost:3000")
        for scheme, port in _DEFAULT_PORTS:
            if one.startswith(scheme) and one.endswith(port):
                raise ValueError(f"{one}: leave out {port}; browsers send the origin without it")
    return origins


def matches(host: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns matches the host name; networks match addresses only (`within`)."""
    return any(host.endswith(one[1:]) if one.startswith("*.") else host == one for one in patterns)


def within(address: IPv4Address | IPv6Address, patterns: Iterable[str]) -> bool:
    """Whether the address is one of the patterns, or lies in one of the networks among them."""
    return any(address in ip_network(one) if "/" in one else str(address) == one for one in patterns)
