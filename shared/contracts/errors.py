"""Errors, by who can act.

AnswerbusError
├── TransientError          the same work may succeed later: the message is handed back with a growing delay
├── PermanentError          it never will: the question is abandoned, the event goes to dead letters
│   ├── InvalidEventError   the bytes are not an event of this fact
│   ├── ExpiredError        the deadline has passed
│   └── NotPermittedError   the bus refuses what this service's user wants to say
├── ConfigurationError      the operator must change a setting
│   └── PipelineError       ... or a pipeline document
├── RefusedError            the caller must send something else
│   ├── DocumentError       a document that cannot be read
│   └── NotFoundError       nothing is known under that id
├── UnavailableError        a server is away; try again later
└── ModelError              no model gave a usable reply; the step's rule takes over
"""

from __future__ import annotations


class AnswerbusError(Exception):
    """Base of all; `str(error)` is one sentence fit for a log line, without personal text."""

    kind = "error"


class TransientError(AnswerbusError):
    """The same work may succeed later."""

    kind = "transient"


class PermanentError(AnswerbusError):
    """The same work never will succeed; `message` is for the asker."""

    kind = "permanent"

    def __init__(self, reason: str, *, message: str = "", kind: str = "") -> None:
        super().__init__(reason)
        self.message = message
        if kind:
            self.kind = kind


class InvalidEventError(PermanentError):
    """The bytes are not an event of the fact its subject names."""

    kind = "invalid_event"


class ExpiredError(PermanentError):
    """The question's deadline passed before this stage came to it."""

    kind = "expired"


class NotPermittedError(PermanentError):
    """The bus does not let this process's user say that; the text names the user and what an operator can do."""

    kind = "not_permitted"


class ConfigurationError(AnswerbusError):
    """A setting must be changed; the message names it."""

    kind = "configuration"


class PipelineError(ConfigurationError):
    """A pipeline document does not hold; the message names the place."""

    kind = "pipeline"


class RefusedError(AnswerbusError):
    """The caller must send something else; the message says what."""

    kind = "refused"


class DocumentError(RefusedError):
    """A document that cannot be read."""

    kind = "document"


class NotFoundError(RefusedError):
    """Nothing is known under that id."""

    kind = "not_found"


class UnavailableError(AnswerbusError):
    """A server this needs is away."""

    kind = "unavailable"


class ModelError(AnswerbusError):
    """No model gave a usable reply in the time left; the text names the role and the reason, never what was said."""

    kind = "model"
