"""What pages may be fetched for the index."""

from __future__ import annotations

from shared.runtime.settings import Settings
from shared.web.policy import Policy


def crawl_policy(settings: Settings, inside: tuple[str, ...] = (), *, max_bytes: int = 64 * 2**20) -> Policy:
    """The operator's lists of hosts, with more private hosts that may be fetched from (`inside`)."""
    return Policy(
        allow=settings.web_allow,
        deny=settings.web_deny,
        inside=(*settings.web_inside, *inside),
        total_seconds=60,
        max_bytes=max_bytes,
    )
