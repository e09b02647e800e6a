"""What the section of a pipeline needs of the machine of its workers: installed extras, files they can read."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from services.moderation.classifier import read_classifier
from services.moderation.settings import ModerationSettings
from shared.contracts.errors import ConfigurationError

#: What is needed; how it stands: ok, warn (the rest works without) or fail (questions do not get through); what to do.
Need = tuple[str, Literal["ok", "warn", "fail"], str]


def needs(settings: ModerationSettings) -> list[Need]:
    """One entry for everything that the section asks for beyond the stage itself; empty when that is nothing."""
    told: list[Need] = []
    if settings.injection_model:
        told.append(_classifier(settings.injection_model))
    if settings.pii_engine == "presidio":
        told.append(_extra("pii_engine: presidio", "pii", ("presidio_analyzer", "spacy"), "fail", "its questions fail"))
    if settings.guardrails_colang:
        closed = settings.guardrails_fail == "closed"
        so = "its questions are all rejected" if closed else "its questions go on without"
        told.append(_extra("guardrails_colang", "guardrails", ("nemoguardrails",), "fail" if closed else "warn", so))
    return told


def _classifier(path: str) -> Need:
    try:
        read_classifier(Path(path))
    except ConfigurationError as error:
        mend = "give its workers a file that they can read, made by: answerbus train injections"
        return "injection_model", "warn", f"{error}; moderation goes by rules alone: {mend}"
    return "injection_model", "ok", path


def _extra(what: str, extra: str, packages: tuple[str, ...], verdict: Literal["warn", "fail"], otherwise: str) -> Need:
    if all(find_spec(package) for package in packages):
        return what, "ok", f"the extra {extra} is installed"
    return what, verdict, f"not installed, so {otherwise}: pip install 'answerbus[{extra}]'"
