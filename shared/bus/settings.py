"""The process settings that `shared.bus` needs; `shared.runtime.settings.Settings` has and describes them all."""

from __future__ import annotations

from typing import Protocol

from pydantic import SecretStr

#: Extension of the files with the seeds of users.
SEED_SUFFIX = ".nk"


class BusSettings(Protocol):
    """How to connect to NATS, and how events are consumed. Read only."""

    @property
    def nats_servers(self) -> list[str]: ...

    @property
    def nats_seed(self) -> SecretStr: ...

    @property
    def nats_user(self) -> str: ...

    @property
    def nats_password(self) -> SecretStr: ...

    @property
    def nats_tls_ca(self) -> str: ...

    @property
    def nats_tls_cert(self) -> str: ...

    @property
    def nats_tls_key(self) -> str: ...

    @property
    def key_value_url(self) -> str: ...

    @property
    def graceful_seconds(self) -> float: ...

    @property
    def publish_budget_seconds(self) -> float: ...

    @property
    def raw_ttl_seconds(self) -> int: ...

    @property
    def max_deliveries(self) -> int: ...

    @property
    def default_pipeline(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    @property
    def lanes(self) -> str: ...

    @property
    def background_per_second(self) -> float: ...

    @property
    def ack_wait_seconds(self) -> float: ...
