"""Which streams may be compressed: compression with replicas damages a log on some versions of nats-server.

On nats-server 2.15.1, a node that is killed and started again can append raw records to a compressed file. That copy
then cannot be read, and the stream may never elect a leader again. `python -m tests.chaos.log_crashes --compressed`
shows it. A stream with one replica is not affected (same test with `--nodes 1`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nats.aio.client import Client
from nats.js.api import StorageType, StoreCompression, StreamConfig

Version = tuple[int, int, int]

#: Versions that compress with replicas and survive crashes: from the first up to, but not including, the second.
#: 2.12.8 and 2.14.6 were tested; 2.15.1 loses data. A version outside the table counts as damaging until it is tested.
SAFE_WITH_REPLICAS: tuple[tuple[Version, Version], ...] = (((2, 12, 8), (2, 15, 0)),)


def compression_for(replicas: int, version: Version | None) -> StoreCompression:
    """The compression of a file stream with that many replicas on this version of nats-server (None: unknown)."""
    safe = version is not None and any(first <= version < end for first, end in SAFE_WITH_REPLICAS)
    return StoreCompression.S2 if replicas == 1 or safe else StoreCompression.NONE


def server_version(client: Client) -> Version | None:
    """The version of the connected server, None if it reports none."""
    try:
        version = client.connected_server_version
        return version.major, version.minor, version.patch
    except ValueError:
        return None


def is_at_risk(config: StreamConfig, version: Version | None) -> bool:
    """Whether a crash of a node may damage this stream."""
    if config.storage == StorageType.MEMORY or config.compression in (None, StoreCompression.NONE):
        return False
    return compression_for(config.num_replicas or 1, version) is StoreCompression.NONE


def risk_warning(configs: Sequence[StreamConfig], version: Version | None) -> str:
    """One line for operators that names the streams that a crash may damage; empty if there are none."""
    names = sorted(config.name or "" for config in configs if is_at_risk(config, version))
    if not names:
        return ""
    shown = ".".join(map(str, version)) if version else "of unknown version"
    return (
        f"{', '.join(names)}: compressed and replicated on nats-server {shown}, which can lose data when a node "
        "crashes; run: answerbus bus provision"
    )
