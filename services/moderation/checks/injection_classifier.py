"""The trained injection classifier, where the pipeline configures one."""

from __future__ import annotations

from services.moderation.checks.verdict import NO_OBJECTION, CheckInput, CheckResult
from services.moderation.classifier import classifier_of
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding

#: The probability from which a question is rejected.
THRESHOLD = 0.5


def injection_classifier(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
    """Rejects the text when its probability of being an injection reaches the threshold."""
    if not settings.injection_model or settings.outcome("jailbreak") == "off":
        return NO_OBJECTION
    model = classifier_of(settings.injection_model)
    if model is None or model.probability(check_input.text) < THRESHOLD:
        return NO_OBJECTION
    return CheckResult(rejection="jailbreak", findings=(Finding(kind="jailbreak", count=1),))
