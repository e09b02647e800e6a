"""How a process logs in to the bus: a user with a key (or a password), over TLS where that is configured.

`ANSWERBUS_NATS_SEED` is the seed of an nkey, a file with it, or a folder with one file per user (`operator.nk`).
The files are those of `answerbus bus credentials`: a comment names the user, the other line is the seed.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from faststream.nats.security import NatsNKey, NatsSecurity, NatsUserPassword
from nats.errors import Error as NatsError

from shared.bus.settings import BusSettings
from shared.contracts.errors import ConfigurationError
from shared.contracts.subjects import inbox

T = TypeVar("T")

#: What the files of seeds end in.
SUFFIX = ".nk"
_SEED = re.compile(r"^SU[A-Z2-7]{56}$", re.MULTILINE)
_USER = re.compile(r"^# user: ([a-z][a-z0-9_-]*)$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Credentials:
    """A user and the seed of its key."""

    user: str
    seed: str


def read_credentials(settings: BusSettings, user: str = "") -> Credentials | None:
    """Who this process is on the bus; `user` names the file where the setting is a folder.

    Raises:
        ConfigurationError: there is no seed where the setting says, or nothing names its user.
    """
    given = settings.nats_seed.get_secret_value().strip()
    if not given:
        return None
    text = given if _SEED.search(given) else _read(Path(given), user or settings.nats_user)
    seed, named = _SEED.search(text), _USER.search(text)
    if seed is None:
        raise ConfigurationError("ANSWERBUS_NATS_SEED holds no seed; make one with: answerbus bus credentials")
    name = named[1] if named else settings.nats_user or user
    if not name:
        raise ConfigurationError("ANSWERBUS_NATS_SEED is a seed without its user; name it with ANSWERBUS_NATS_USER")
    return Credentials(name, seed[0])


def connect_options(settings: BusSettings, login: Credentials | None) -> dict[str, Any]:
    """Arguments of `nats.connect` that log in."""
    options: dict[str, Any] = {}
    if context := tls_context(settings):
        options["tls"] = context
    if login:
        options |= {"nkeys_seed_str": login.seed, "inbox_prefix": inbox(login.user)}
    elif settings.nats_user:
        options |= {"user": settings.nats_user, "password": settings.nats_password.get_secret_value()}
    return options


def broker_options(settings: BusSettings, login: Credentials | None) -> dict[str, Any]:
    """The same for FastStream's broker."""
    context = tls_context(settings)
    if login:
        security: NatsSecurity = NatsNKey.from_seed(login.seed, ssl_context=context)
        return {"security": security, "inbox_prefix": inbox(login.user)}
    if settings.nats_user:
        password = settings.nats_password.get_secret_value()
        return {"security": NatsUserPassword(settings.nats_user, password, ssl_context=context)}
    return {"security": NatsSecurity(ssl_context=context)} if context else {}


def tls_context(settings: BusSettings) -> ssl.SSLContext | None:
    """TLS as configured: the server's certificate is always checked, against `nats_tls_ca` or the system's list.

    Raises:
        ConfigurationError: a file is missing or is no certificate or key.
    """
    wanted = settings.nats_tls_ca or settings.nats_tls_cert
    if not wanted and not any(url.startswith("tls://") for url in settings.nats_servers):
        return None
    try:
        context = ssl.create_default_context(cafile=settings.nats_tls_ca or None)
        if settings.nats_tls_cert:
            context.load_cert_chain(settings.nats_tls_cert, settings.nats_tls_key or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"ANSWERBUS_NATS_TLS_CA, _CERT or _KEY cannot be used: {error.strerror or type(error).__name__}"
        ) from None
    return context


def unknown_user(user: str) -> str:
    """What is to be done when the server does not take a login."""
    return (
        f"the NATS server does not take the login of {user}; make its users and their seeds with: answerbus bus "
        "credentials, reload the server, and give ANSWERBUS_NATS_SEED"
    )


class LoginMonitor:
    """Waits for a connection to be made, and says why when no waiting will make it.

    nats-py tells some errors only beside the call, and after a bad certificate it waits for ever.
    """

    def __init__(self, user: str) -> None:
        self._user = user or "nobody"
        self._distrust = asyncio.Event()

    def heard(self, error: Exception) -> None:
        """To be called with every error of the connection."""
        if "certificate" in str(error).lower():
            self._distrust.set()

    async def of(self, connecting: Coroutine[Any, Any, T]) -> T:
        """The connection.

        Raises:
            ConfigurationError: the server does not know the user, or one side not the other's certificate.
        """
        task, distrust = asyncio.ensure_future(connecting), asyncio.ensure_future(self._distrust.wait())
        try:
            await asyncio.wait((task, distrust), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ConfigurationError(
                    "the NATS server and this process do not trust each other's certificates; see ANSWERBUS_NATS_TLS_CA"
                )
            return task.result()
        except NatsError as error:
            if "authorization" not in str(error).lower():
                raise
            raise ConfigurationError(unknown_user(self._user)) from None
        finally:
            task.cancel()
            distrust.cancel()


def _read(path: Path, user: str) -> str:
    if path.is_dir():
        path = path / f"{user}{SUFFIX}"
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        # Not the value itself: it may be a seed with a slip of the pen.
        reason = getattr(error, "strerror", None) or "not text"
        raise ConfigurationError(f"ANSWERBUS_NATS_SEED is no seed and no file that can be read: {reason}") from None
