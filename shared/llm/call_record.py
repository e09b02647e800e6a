"""Tokens, cost and time of one model call over all its tries, for the metrics and the envelope of the next fact."""

from __future__ import annotations

import time
from collections.abc import Sequence

from shared.contracts.domain import ModelCall, Usage
from shared.llm import call_context
from shared.llm.ports import Message, Reply
from shared.llm.prompts import revision
from shared.llm.settings import EndpointSettings
from shared.observability import telemetry, traces

#: Characters per token, for the estimate where a provider reports no usage.
_CHARS_PER_TOKEN = 4


class CallRecorder:
    """One call of `invoke` or `converse`; `close` records it, once."""

    def __init__(self, role: str, step: str, system: str) -> None:
        self.role = role
        self.step = step
        self.tries = 0
        self._prompt = revision(system)
        self._began = time.monotonic()
        self._usage = Usage()
        self._first_token = 0.0
        self._endpoint = ""
        self._model = ""

    def start_try(self, endpoint: EndpointSettings) -> None:
        """Count a try at this endpoint."""
        self.tries += 1
        self._endpoint, self._model = endpoint.name, endpoint.model

    def first_token(self, endpoint: str, seconds: float) -> None:
        """The first token of a try arrived `seconds` after its request."""
        self._first_token = time.monotonic() - self._began
        telemetry.MODEL_FIRST_TOKEN.labels(self.role, self.step, endpoint).observe(seconds)
        traces.current_span().set_first_token()

    @property
    def usage(self) -> Usage:
        """The tokens and cost of all tries so far."""
        return self._usage

    def add_usage(self, endpoint: EndpointSettings, messages: Sequence[Message], reply: Reply) -> Reply:
        """Add a reply's tokens and their cost; returns the reply with both.

        The tokens are estimated from the lengths of the texts where the provider reports none.
        """
        usage = reply.usage
        if not (usage.input_tokens or usage.output_tokens):
            output = len(reply.text) + sum(len(str(call.arguments)) for call in reply.calls)
            prompt = sum(len(message.text) for message in messages)
            usage = Usage(input_tokens=prompt // _CHARS_PER_TOKEN + 1, output_tokens=output // _CHARS_PER_TOKEN + 1)
        usage = usage.model_copy(update={"cost_usd": endpoint.price.of(usage)})
        self._usage = self._usage.plus(usage)
        self._model = reply.model or endpoint.model
        kinds = (("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens))
        for kind, tokens in kinds:
            telemetry.MODEL_TOKENS.labels(kind).inc(tokens)
        telemetry.MODEL_COST.inc(usage.cost_usd)
        return reply.model_copy(update={"usage": usage, "model": self._model})

    def close(self, outcome: str) -> None:
        """Record the call in the current `CallLedger`; `outcome` is `ok`, `cut`, `repaired` or the failure."""
        ledger = call_context.current_ledger()
        call_context.record(
            ModelCall(
                stage=ledger.stage if ledger else "",
                step=self.step,
                role=self.role,
                endpoint=self._endpoint,
                model=self._model,
                prompt=self._prompt,
                usage=self._usage,
                milliseconds=round((time.monotonic() - self._began) * 1e3, 1),
                first_token_ms=round(self._first_token * 1e3, 1),
                tries=self.tries,
                outcome=outcome,
            )
        )
