"""Sessions of clients of versions before 2026-07-28, which any gateway can go on with.

What the protocol keeps in a session is its version and that it was opened, so nothing is lost with the gateway that
opened it: the id is signed for its caller by a secret that all gateways share, and a gateway that does not have the
session opens it anew for itself. Stored, for a day at most, are the sessions that clients have ended, and which
question a call waits for, as its cancellation may come to another gateway.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import orjson

from services.gateway.access.caller import Caller
from services.gateway.access.shared_secret import SharedSecret
from shared.stores.ports import KeyValue

#: The name under which the secret is stored.
NAME = "mcp-sessions"
#: Seconds for which an ended session stays refused, and in which a call can be cancelled at another gateway.
ENDED_SECONDS, CALL_SECONDS = 86_400, 3_600


class McpSessions:
    """Signs and verifies the ids of sessions, and remembers what other gateways must know of them."""

    def __init__(self, secrets: KeyValue, notes: KeyValue) -> None:
        self._secret = SharedSecret(NAME, secrets)
        self._notes = notes

    async def signed(self, session: str, caller: Caller) -> str:
        """The id that this caller is given for a session.

        Raises:
            UnavailableError: the secret cannot be read.
        """
        return f"{session}.{await self._signature(session, caller)}"

    async def known(self, signed: str, caller: Caller) -> bool:
        """Whether it is the id of a session of this caller that was not ended.

        Raises:
            UnavailableError: the secret, or the store, cannot be read.
        """
        session, _, signature = signed.partition(".")
        right = await self._signature(session, caller)
        if not hmac.compare_digest(right.encode(), signature.encode("utf-8", "surrogatepass")):
            return False
        return await self._notes.get(_key("ended", signed)) is None

    async def end(self, signed: str) -> None:
        """Refuse the session at every gateway from now on.

        Raises:
            UnavailableError: it cannot be stored.
        """
        await self._notes.put(_key("ended", signed), b"1", ttl=ENDED_SECONDS)

    async def note_call(self, signed: str, request_id: object, question_id: str) -> None:
        """Remember the question for which a call of the session waits.

        Raises:
            UnavailableError: it cannot be stored.
        """
        await self._notes.put(_key("call", signed, request_id), question_id.encode(), ttl=CALL_SECONDS)

    async def question_of(self, signed: str, request_id: object) -> str:
        """The question for which this call waits; empty where none is known.

        Raises:
            UnavailableError: the store cannot be read.
        """
        return (await self._notes.get(_key("call", signed, request_id)) or b"").decode()

    async def _signature(self, session: str, caller: Caller) -> str:
        signed = "\x1f".join((NAME, caller.account, session)).encode("utf-8", "surrogatepass")
        digest = hmac.digest(await self._secret.get(), signed, "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _key(*parts: object) -> str:
    """A key of the store, which no part can make to be another's."""
    return hashlib.sha256(orjson.dumps([NAME, *parts])).hexdigest()
