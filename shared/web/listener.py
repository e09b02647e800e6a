"""Listening sockets with clear errors; without API keys only loopback addresses are allowed."""

from __future__ import annotations

import ipaddress
import socket

from shared.contracts.errors import ConfigurationError


def listen(host: str, port: int) -> socket.socket:
    """Opens a listening TCP socket.

    Raises:
        ConfigurationError: the port is in use, or the address does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends what it is given at once (TCP_NODELAY) on the accepted connections, too.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror}; choose another port") from None
    sock.listen(1024)
    sock.set_inheritable(True)
    return sock


def check_address(host: str, *, has_keys: bool) -> None:
    """Checks that a server without API keys and issuer of tokens listens on a loopback address only.

    Raises:
        ConfigurationError: `host` is another address and there are neither.
    """
    if has_keys or host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ConfigurationError(
            f"refusing to listen on {host} without API keys; set ANSWERBUS_API_KEYS=name:role:key, or "
            "ANSWERBUS_OIDC_ISSUER and ANSWERBUS_OIDC_AUDIENCE, or use 127.0.0.1"
        )
