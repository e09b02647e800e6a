"""Signs answers that may be given again (persistence), and checks the signatures (persistence and gateways).

The key is an Ed25519 key of persistence alone, in a bucket that only it may read; the public keys are in a bucket that
only it may write, so that a platform which has lost the first continues with a new key, and old answers stay valid.
"""

from __future__ import annotations

import base64
import functools
import os
from collections.abc import Sequence

from nacl.exceptions import CryptoError
from nacl.signing import SigningKey, VerifyKey

from shared.contracts.answer_signature import signed_bytes
from shared.contracts.domain import Answer, Citation
from shared.contracts.errors import UnavailableError
from shared.contracts.facts import AnswerReused, Fact, QuestionAbandoned
from shared.stores.ports import KeyValue

#: The keys of the two buckets.
SEED, PUBLIC = "seed", "public"
#: The kind of an ending that was not what it said.
FORGED = "forged"
MESSAGE = "This answer could not be confirmed as one that was given before. Please ask your question again."


class AnswerSigner:
    """Signs with the platform's key, which it makes when it first needs one."""

    def __init__(self, private: KeyValue, public: KeyValue) -> None:
        self._private = private
        self._public = public
        self._key: SigningKey | None = None

    async def sign(
        self, tenant: str, origin: str, answer: Answer, citations: Sequence[Citation], followups: Sequence[str]
    ) -> str:
        """The signature of an answer to the question `origin`.

        Raises:
            UnavailableError: the key can be neither read nor stored.
        """
        if self._key is None:
            self._key = await self._stored_key()
        signed = self._key.sign(signed_bytes(tenant, origin, answer, citations, followups))
        return base64.b64encode(signed.signature).decode("ascii")

    async def _stored_key(self) -> SigningKey:
        """The key in the store; its public half is published before anything is signed."""
        made = base64.b64encode(os.urandom(32))
        await self._private.update(SEED, lambda stored: stored or made)
        seed = await self._private.get(SEED)
        if not seed:
            raise UnavailableError("the key that signs answers could not be stored; try again")
        key = SigningKey(base64.b64decode(seed))
        own = base64.b64encode(bytes(key.verify_key))
        await self._public.update(PUBLIC, lambda stored: _with(stored, own))
        return key


class AnswerSignatures:
    """Checks reused answers by the public keys."""

    def __init__(self, public: KeyValue) -> None:
        self._public = public
        self._keys: tuple[bytes, ...] = ()

    def known_genuine(self, ending: Fact, tenant: str) -> bool:
        """Whether the ending is not a reused answer, or one that was signed with a key that is known already."""
        if not isinstance(ending, AnswerReused):
            return True
        content = signed_bytes(tenant, ending.origin, ending.answer, ending.citations, ending.followups)
        return any(_verified(key, content, ending.signature) for key in self._keys)

    async def genuine(self, ending: Fact, tenant: str) -> bool:
        """As `known_genuine`, after reading the keys again if it is not.

        Raises:
            UnavailableError: the keys cannot be read, so that it is not known.
        """
        if self.known_genuine(ending, tenant):
            return True
        self._keys = tuple((await self._public.get(PUBLIC) or b"").split())
        return self.known_genuine(ending, tenant)


def unconfirmed() -> QuestionAbandoned:
    """The ending in place of a reused answer that nobody signed."""
    return QuestionAbandoned(stage="persistence", kind=FORGED, message=MESSAGE)


def _with(keys: bytes | None, key: bytes) -> bytes:
    known = (keys or b"").split()
    return b"\n".join(known if key in known else [*known, key])


@functools.lru_cache(maxsize=4096)
def _verified(public_key: bytes, content: bytes, signature: str) -> bool:
    try:
        VerifyKey(base64.b64decode(public_key)).verify(content, base64.b64decode(signature, validate=True))
    except (CryptoError, ValueError, TypeError):  # also where it is not a signature
        return False
    return True
