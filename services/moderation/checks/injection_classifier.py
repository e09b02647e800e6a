"""The trained classifier of injections, where the pipeline names one."""

from __future__ import annotations

from services.moderation.checks.verdict import FINE, Look, Opinion
from services.moderation.classifier import classifier_of
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding


def classified(look: Look, settings: ModerationSettings) -> Opinion:
    """Objects when the model is sure enough that this is an injection."""
    if not settings.injection_model or settings.outcome("jailbreak") == "off":
        return FINE
    model = classifier_of(settings.injection_model)
    if model is None or model.probability(look.text) < settings.injection_threshold:
        return FINE
    return Opinion(objection="jailbreak", findings=(Finding(kind="jailbreak", count=1),))
