"""Where the platform listens: sockets with clear errors, and no address beyond loopback without keys."""

from __future__ import annotations

import ipaddress
import socket

from shared.contracts.errors import ConfigurationError


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        ConfigurationError: the port is taken or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
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
    """Refuse to listen beyond loopback without keys.

    Raises:
        ConfigurationError: naming both ways out.
    """
    if has_keys or host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ConfigurationError(
            f"will not listen on {host} without API keys; set ANSWERBUS_API_KEYS=name:role:key, or use 127.0.0.1"
        )
