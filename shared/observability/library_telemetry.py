"""Turns off what libraries would send to others by themselves, whatever the environment says.

Text of people leaves by the exporter of `shared.observability.traces` alone. Tracers of LangChain start as soon as a
variable of the environment says so, and take prompts and replies with them; other libraries report their use to their
makers unless a variable says no. Keys and addresses of such services stay, because without these switches nothing uses
them. `OTEL_*` stays, because it configures our exporter: no library creates one by itself.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

#: Variables that make LangChain send or print what it is asked, in every spelling that its versions have read.
_TRACED = ("LANGSMITH", "LANGCHAIN")
_SWITCHES = ("HANDLER", "DEBUG", "VERBOSE")
#: Environment variables that stop libraries from reporting their use.
OPT_OUTS = {
    "DO_NOT_TRACK": "1",
    "DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "NEMO_GUARDRAILS_NO_USAGE_STATS": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "POSTHOG_DISABLED": "true",
    "SCARF_NO_ANALYTICS": "true",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "TRACELOOP_TELEMETRY": "false",
}


def turn_off(environment: MutableMapping[str, str] = os.environ) -> None:
    """Remove the switches from the environment and set the opt-outs, for this process and those that it starts."""
    for name in [name for name in environment if _is_switch(name)]:
        del environment[name]
    environment.update(OPT_OUTS)


def _is_switch(name: str) -> bool:
    maker, _, switch = name.upper().partition("_")
    return maker in _TRACED and (switch in _SWITCHES or switch.startswith("OTEL") or "TRACING" in switch)
