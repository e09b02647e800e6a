"""Which addresses may be fetched: judged as they are written, and again when it is known what they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import idna

from shared.contracts.errors import RefusedError
from shared.web.hosts import matches, within
from shared.web.ranges import Address, is_public, parse_address

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
#: What a browser would drop or turn into something else, and so might be read differently by two programs.
_CONFUSING = re.compile(r"[\x00-\x20\x7f-\xa0\\\u200b-\u200f\u2028\u2029\ufeff]")
#: Names of networks and machines, never of sites.
_INWARD = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".private", ".home.arpa")


class AddressRefusedError(RefusedError):
    """An address that must not be fetched."""

    kind = "address"


class AddressUnreadableError(AddressRefusedError):
    """No program could fetch it: it names no host."""


class AddressLeadsAwayError(AddressRefusedError):
    """The address itself may be fetched, but it redirects to one that must not be."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be tried: `host` in ASCII, lower case and without brackets; `url` spelled with it."""

    url: str
    scheme: str
    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be fetched, and how much.

    `allow`, `only`, `deny` and `inside` list hosts: `example.org` is that host, `*.example.org` those below it; in
    `deny` and `inside` there can be networks too (`10.1.0.0/16`). With `allow` nothing else is fetched, and with `only`
    besides (a pipeline's own list) what both name; `deny` wins over them. `inside` names what may be fetched although
    it is not on the public internet: a search engine of one's own, a server of a test.
    Times are in seconds: of each step (resolving, connecting, each read), and of the whole fetch with its redirects.
    `per_second` limits the requests to one host (0: no limit); hosts that `inside` names are not limited.
    """

    allow: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443, 8080, 8443)
    max_redirects: int = 10
    step_seconds: float = 10.0
    total_seconds: float = 10.0
    max_bytes: int = 8 * 2**20
    per_second: float = 10.0

    def target(self, url: str) -> Target:
        """The URL, read strictly.

        Raises:
            AddressRefusedError: it is not a plain http(s) address of a site on the public internet; the text
                says why, without repeating it.
        """
        if len(url) > 8192 or _CONFUSING.search(url):
            raise AddressRefusedError("the address is too long, or holds spaces, control characters or backslashes")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise AddressUnreadableError("the address cannot be read") from None
        if parts.scheme in _PORTS and not parts.netloc:
            raise AddressUnreadableError("the address names no host")
        if parts.scheme not in _PORTS or url[len(parts.scheme) : len(parts.scheme) + 3] != "://":
            raise AddressRefusedError("only addresses that begin with http:// or https:// are fetched")
        if "@" in parts.netloc:
            raise AddressRefusedError("addresses with a user name or password are not fetched")
        literal = parts.netloc.startswith("[")
        host = self._host(parts.hostname or "", literal=literal)
        self._listed(host)
        port = _PORTS[parts.scheme] if port is None else port
        inside = matches(host, self.inside)
        if port not in self.ports and not inside:
            raise AddressRefusedError(f"port {port} is not one of the web")
        shown = f"[{host}]" if ":" in host else host
        netloc = shown if port == _PORTS[parts.scheme] else f"{shown}:{port}"
        path = _quoted(urlunsplit(("", "", parts.path or "/", parts.query, "")))
        return Target(f"{parts.scheme}://{netloc}{path}", parts.scheme, host, port, path)

    def check_resolved(self, host: str, addresses: list[str]) -> None:
        """Judge what the host's name stands for: a single address that is not public refuses them all.

        Raises:
            AddressRefusedError: one leads elsewhere than to the public internet.
        """
        if not addresses:
            raise AddressRefusedError(f"{host} has no address")
        for text in addresses:
            try:
                address = parse_address(text)
            except ValueError:
                raise AddressRefusedError(f"{host} stands for something that is no address") from None
            if within(address, self.deny):
                raise AddressRefusedError(f"{host} is on the list of hosts that are not fetched")
            if not is_public(address) and not self._is_inside(host, address):
                raise AddressRefusedError(f"{host} is not on the public internet")

    def _host(self, host: str, *, literal: bool) -> str:
        if literal:
            try:
                address = parse_address(host)
            except ValueError:
                raise AddressRefusedError("the address holds something in brackets that is no IPv6 address") from None
            self.check_resolved(host, [str(address)])
            return host
        name = _ascii(host)
        labels = name.split(".")
        if labels[-1].isdigit() or re.fullmatch(r"0x[0-9a-f]*", labels[-1]):
            # By the URL standard a host that ends in a number is an IPv4 address, in whatever form.
            try:
                address = parse_address(name)
            except ValueError:
                raise AddressRefusedError("write IPv4 addresses as four decimal numbers") from None
            self.check_resolved(name, [str(address)])
            return name
        if not matches(name, self.inside) and (len(labels) == 1 or f".{name}".endswith(_INWARD)):
            raise AddressRefusedError("the host is a name of an inner network")
        return name

    def _listed(self, host: str) -> None:
        if matches(host, self.deny):
            raise AddressRefusedError(f"{host} is on the list of hosts that are not fetched")
        if any(listed and not matches(host, listed) for listed in (self.allow, self.only)):
            raise AddressRefusedError(f"{host} is not on the list of hosts that are fetched")

    def _is_inside(self, host: str, address: Address) -> bool:
        return matches(host, self.inside) or within(address, self.inside)


class WebSettings(Protocol):
    """The process settings of outgoing requests; `shared.runtime.settings.Settings` has them. Read only."""

    @property
    def web_allow(self) -> tuple[str, ...]: ...

    @property
    def web_deny(self) -> tuple[str, ...]: ...

    @property
    def web_inside(self) -> tuple[str, ...]: ...

    @property
    def web_per_second(self) -> float: ...


def policy_of(
    settings: WebSettings, *, only: tuple[str, ...] = (), deny: tuple[str, ...] = (), **limits: Any
) -> Policy:
    """The operator's lists and pace, narrowed by a pipeline's `only` and `deny`; `limits` are fields of `Policy`."""
    return Policy(
        allow=settings.web_allow,
        only=only,
        deny=(*settings.web_deny, *deny),
        inside=settings.web_inside,
        per_second=settings.web_per_second,
        **limits,
    )


def _ascii(host: str) -> str:
    """The name as it is looked up; international names in their ASCII form.

    Raises:
        AddressRefusedError: it is not the name of a host.
    """
    name = host.removesuffix(".")
    try:
        if not name.isascii():
            name = idna.encode(name, uts46=True, transitional=False).decode()
    except (idna.IDNAError, UnicodeError):
        raise AddressUnreadableError("the host is no name that could be looked up") from None
    name = name.lower()
    if not name or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise AddressUnreadableError("the host is no name that could be looked up")
    return name


def _quoted(path: str) -> str:
    """In ASCII: other characters as percent escapes of their UTF-8."""
    return (
        path
        if path.isascii()
        else "".join(c if c.isascii() else "".join(f"%{b:02X}" for b in c.encode()) for c in path)
    )
