"""One connection to NATS per worker, that comes back for ever and never turns into a zombie."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import structlog
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.errors import ConnectionClosedError, ConnectionReconnectingError
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError as NatsNotFoundError

from shared.bus.credentials import LoginMonitor, broker_options, read_credentials, unknown_user
from shared.bus.permission_errors import PermissionErrors
from shared.bus.request_client import ask_over
from shared.bus.settings import BusSettings
from shared.contracts import subjects
from shared.contracts.errors import ConfigurationError, NotPermittedError, UnavailableError
from shared.contracts.requests.request import R, Request
from shared.contracts.signals import Signal
from shared.stores.degradable import DegradableKeyValue, Reachability
from shared.stores.keyvalue_nats import NatsKeyValue
from shared.stores.keyvalue_redis import RedisKeyValue
from shared.stores.objects_nats import NatsObjects
from shared.stores.ports import KeyValue, ObjectStore

log = structlog.get_logger()

#: A lost connection that nats-py gave up on leaves a process that cannot work; it ends with this code instead.
EXIT_CONNECTION_CLOSED = 70
#: Seconds between pings; two unanswered ones mean that the server is frozen or gone.
PING_INTERVAL = 5
#: Seconds between two tries at a server that is away: seven workers that try take 1.3 % of a core.
RECONNECT_WAIT = 0.5
#: The longest pause between two looks for a bucket of the bus that does not answer, in seconds.
BUCKET_PAUSE = 2.0


class Connection:
    """The broker of one worker, and the ports that need nothing but a connection (`Stores`, `SignalPublisher`, `RequestClient`)."""

    def __init__(self, settings: BusSettings, name: str, user: str = "") -> None:
        """`user` is whose seed is taken where `ANSWERBUS_NATS_SEED` is a folder.

        Raises:
            ConfigurationError: the seed or the TLS files cannot be used.
        """
        self.settings = settings
        self.name = name
        self.closing = False
        login = read_credentials(settings, user)
        self.permission_errors = PermissionErrors(login.user if login else settings.nats_user)
        self._welcome = LoginMonitor(self.permission_errors.user)
        self._welcomed = False
        self._redis: Reachability | None = None
        self._on_reconnect: list[Callable[[], Awaitable[None]]] = []
        self.broker = NatsBroker(
            settings.nats_servers,
            name=f"answerbus-{name}",
            logger=None,
            apply_types=False,
            graceful_timeout=settings.graceful_seconds,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT,  # type: ignore[arg-type]
            ping_interval=PING_INTERVAL,
            max_outstanding_pings=2,
            pending_size=32 * 2**20,
            disconnected_cb=self._disconnected,
            reconnected_cb=self._reconnected,
            closed_cb=self._closed,
            error_cb=self._error,
            **broker_options(settings, login),
        )

    @property
    def client(self) -> Client:
        return self.broker.connection

    @property
    def jetstream(self) -> JetStreamContext:
        return self.client.jetstream(timeout=5)

    @property
    def is_connected(self) -> bool:
        try:
            return self.client.is_connected
        except Exception:  # FastStream raises when there has never been a connection
            return False

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Call back each time the connection came back."""
        self._on_reconnect.append(callback)

    async def open(self) -> None:
        """Connect; a bus that is away is waited for.

        Raises:
            ConfigurationError: the bus does not know this process's user or certificate.
        """
        await self._welcome.of(self.broker.connect())
        self._welcomed = True

    async def close(self) -> None:
        """Let go of the bus, also while it is away."""
        self.closing = True
        try:
            await self.broker.stop()
        except (ConnectionReconnectingError, ConnectionClosedError):
            # It cannot be drained: what was not acknowledged is delivered again when the bus is back.
            await self.client.close()

    async def has_durable(self, name: str, stream: str = subjects.STREAM) -> bool:
        """Whether the bus has that durable.

        Raises:
            ConfigurationError: this process's user may not know.
            UnavailableError: the bus does not say.
        """
        try:
            with self.permission_errors.told(f"$JS.API.CONSUMER.INFO.{stream}.{name}"):
                await self.jetstream.consumer_info(stream, name)
        except NotPermittedError as error:
            raise ConfigurationError(str(error)) from None
        except NatsNotFoundError:
            return False
        except NatsTimeoutError:
            raise UnavailableError(f"the bus does not say whether it has the durable {name}") from None
        return True

    # Stores
    def key_value(self, bucket: str) -> KeyValue:
        if self.settings.key_value_url.startswith(("redis://", "rediss://")):
            store = RedisKeyValue(self.settings.key_value_url, prefix=f"answerbus:{bucket}:")
            if self._redis is None:  # one for all buckets: one warning, one probe
                self._redis = Reachability("redis", lambda: store.get("probe"))
            return DegradableKeyValue(store, self._redis)
        kept = NatsKeyValue(lambda: self.jetstream, bucket)
        # The bus comes back by itself, and is needed at once then.
        return DegradableKeyValue(
            kept, Reachability(f"bucket {bucket}", lambda: kept.get("probe"), longest=BUCKET_PAUSE)
        )

    def objects(self, bucket: str) -> ObjectStore:
        return NatsObjects(lambda: self.jetstream, bucket)

    # Speaker
    async def publish_signal(self, correlation_id: str, signal: Signal) -> None:
        """Say a signal; while the server is away it is forgotten rather than queued."""
        if self.is_connected:
            await self.client.publish(subjects.signal(signal.kind, correlation_id), signal.model_dump_json().encode())

    # Asker
    async def ask(self, request: Request[R], timeout: float = 5.0) -> R:
        return await ask_over(self.client, request, timeout)

    async def _disconnected(self) -> None:
        if not self.closing:
            log.warning("bus disconnected")

    async def _reconnected(self) -> None:
        log.warning("bus reconnected")
        for callback in self._on_reconnect:
            await callback()

    async def _closed(self) -> None:
        if not self.closing:
            log.error("bus connection closed for good; this worker ends so that a new one can start")
            os._exit(EXIT_CONNECTION_CLOSED)

    async def _error(self, error: Exception) -> None:
        self._welcome.heard(error)
        if self._welcomed and not self.closing and "authorization" in str(error).lower():
            # Its key was changed; nats-py would neither come back nor give up. Whoever starts anew reads the new one.
            log.error(
                "the bus takes this login no more; this worker ends", advice=unknown_user(self.permission_errors.user)
            )
            os._exit(EXIT_CONNECTION_CLOSED)
        if not self.permission_errors.heard(error):
            log.error("bus error", error=type(error).__name__, detail=str(error)[:200])
