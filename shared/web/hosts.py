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
        ValueError: an entry has another form; the text names it.
    """
    parts = entries.split(",") if isinstance(entries, str) else entries
    hosts = tuple(part.strip().lower() for part in parts if part.strip())
    for host in hosts:
        if "/" in host:
            try:
                ip_network(host)
            except ValueError:
                raise ValueError(f"{host}: write a network as 10.1.0.0/16, with no host bits set") from None
        elif not _HOST.fullmatch(host):
            raise ValueError(
                f"{host}: write a host as example.org, *.example.org or an address, without scheme or port"
            )
    return hosts


def origin_list(entries: str | Iterable[str]) -> tuple[str, ...]:
    """Validates the origins of web pages (or a text of origins separated by commas), as browsers send them.

    Raises:
        ValueError: an entry is not exactly `scheme://host` or `scheme://host:port`; the text names it.
    """
    parts = entries.split(",") if isinstance(entries, str) else entries
    origins = tuple(part.strip().lower() for part in parts if part.strip())
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(f"{origin}: write an origin as https://app.example.org or http://localhost:3000")
        for scheme, port in _DEFAULT_PORTS:
            if origin.startswith(scheme) and origin.endswith(port):
                raise ValueError(f"{origin}: leave out {port}; browsers send the origin without it")
    return origins


def matches(host: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches the host name; networks match addresses only (`within`)."""
    return any(host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern for pattern in patterns)


def within(address: IPv4Address | IPv6Address, patterns: Iterable[str]) -> bool:
    """Whether the address is a pattern, or lies in a network among them."""
    return any(address in ip_network(pattern) if "/" in pattern else str(address) == pattern for pattern in patterns)
