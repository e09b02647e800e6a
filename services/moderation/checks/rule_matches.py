"""Names the rules that stop a text and where they apply, for operators who mend a list."""

from __future__ import annotations

from collections.abc import Iterator

from services.moderation.checks.injection import injection_forms
from services.moderation.checks.private_data import private_spans
from services.moderation.checks.scanner import scanner_forms
from services.moderation.checks.verdict import CheckInput
from services.moderation.settings import ModerationSettings
from shared.contracts.requests.moderation import RuleMatch

#: Kinds of entries that stop a text or change what becomes of it.
_KINDS = frozenset(["crisis", "distress", "threat", "manipulation", "jailbreak", "profanity", "off_topic"])


def rule_matches(check_input: CheckInput, settings: ModerationSettings) -> tuple[RuleMatch, ...]:
    """Every entry, form and kind of private data in the text, also where another check decided."""
    return tuple(_matches(check_input, settings))


def _matches(check_input: CheckInput, settings: ModerationSettings) -> Iterator[RuleMatch]:
    text = check_input.text
    for hit in check_input.hits(settings.lexicon):
        if hit.kind in _KINDS:
            yield RuleMatch(kind=hit.kind, rule=hit.rule, start=hit.start, end=hit.end)
    for rule, start, end in injection_forms(text):
        yield RuleMatch(kind="jailbreak", rule=rule, start=start, end=end)
    for rule, start, end in scanner_forms(text):
        yield RuleMatch(kind="manipulation", rule=rule, start=start, end=end)
    for span in private_spans(check_input, settings):
        yield RuleMatch(kind="pii", rule=f"{span.kind}: {settings.policy(span.kind)}", start=span.start, end=span.end)
