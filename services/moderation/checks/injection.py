"""Prompt injections recognised by their form: paired tags, chat templates, made-up contexts, personas, shouted
commands.

Every pattern runs in linear time: repetitions are bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.moderation.checks.verdict import NO_OBJECTION, CheckInput, CheckResult
from services.moderation.settings import ModerationSettings
from shared.contracts.domain import Finding
from shared.language.packs import either, once, phrase
from shared.language.rules.instructions.cues import WORDS
from shared.language.rules.instructions.injections import attacks

#: HTML tags: people ask questions about these.
_PLAIN_TAGS_TEXT = """a b i u p s em strong code pre br hr ul ol li span div table tr td th h1 h2 h3 h4 h5 h6 img small
    sub sup html body head title form input button label select option textarea nav main section article
    footer header nowiki ref math"""
_PLAIN_TAGS = frozenset(_PLAIN_TAGS_TEXT.split())
_TAG = re.compile(r"<([a-z][\w-]{0,40})(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"""<\|[a-z_]{2,24}\|> | \[/?INST\] | <</?SYS>> | (?<!\#)\#{2,}+[ ]?(?:instruction|system|response|input)s?\b
      | (?:\\n[ ]?){3} | (?:\\\ n[ ]?){3}
      | \b(?:begin|end)[ ](?:of[ ])?(?:system[ ])?prompt\b
      | (?:^|[\s"'.])(?:system|assistant|developer|human)[ ]?:[ ]?(?:you|ignore|human|from|now|assistant|act)\b""",
    re.VERBOSE | re.IGNORECASE,
)
#: Every match of `_TEMPLATE` contains any of these; searching for them first is much faster.
_TEMPLATE_SIGNS = ("<", "[", "#", "\\", ":", "prompt", "PROMPT", "Prompt")
_WORDS = tuple(WORDS.values())
_HEADINGS, _ARTICLES = phrase(w.context_headings for w in _WORDS), phrase(w.article_headings for w in _WORDS)
_QUESTIONS = phrase(words.questions for words in _WORDS)
_CONTEXT = re.compile(
    rf"""^\W{{0,3}}(?:document[ ])?(?:{_HEADINGS}|documents?)[ ]?[:{{"“$]
      | \b{_HEADINGS}[ ]?:[ ]?[^?]{{1,400}}\b{_QUESTIONS}[ ]?:
      | ^{_ARTICLES}[ ][^?]{{1,300}}[ ]{_QUESTIONS}[ ]
      | \$(?:documents?|term\d?|context)[ ]?[:=]
      | \binstructions?[ ]?:[ ]""",
    re.VERBOSE | re.IGNORECASE,
)
#: At the beginning of a sentence: "You are" and a name, as a statement. Roles ("you are a gardener") are harmless.
_PERSONA = re.compile(
    rf"(?:^|[.!?:\"] )(?:[A-Z][\w-]{{0,20}}, )?{phrase(words.persona for words in _WORDS)} "
    rf"(?:{phrase(words.persona_now for words in _WORDS)} )?"
    r"(?-i:[A-Z])[\w-]{1,30}(?: [\w-]{1,30}){0,3}[.,:!]",
)
#: A role, right after the words of a search: an order appended to what somebody else typed.
_APPENDED = re.compile(
    rf"(?:^|[.?!] )(?:[A-ZÄÖÜÉ][\w-]{{1,40}} ){{2,6}}{either(once(words.appended_orders for words in _WORDS))} "
)
#: Consecutive words in capitals with a command among them, in a text that is not all in capitals.
_SHOUTED_WORDS = 5
_COMMANDS = frozenset(once(words.commands for words in _WORDS))


def injection(check_input: CheckInput, settings: ModerationSettings) -> CheckResult:
    """Objects to a question that has the form of instructions for a model."""
    if settings.outcome("jailbreak") == "off" or not _suspicious(check_input.text):
        return NO_OBJECTION
    return CheckResult(rejection="jailbreak", findings=(Finding(kind="jailbreak", count=1),))


def injection_forms(text: str) -> Iterator[tuple[str, int, int]]:
    """Each reason why the text has that form: its name, and the characters from start to end."""
    for part in attacks(text):
        yield f"cues: {', '.join(part.cues)}", part.start, part.end
    if any(sign in text for sign in _TEMPLATE_SIGNS) and (found := _TEMPLATE.search(text)):
        yield "form: template", *found.span()
    for name, pattern in (("context", _CONTEXT), ("persona", _PERSONA), ("appended order", _APPENDED)):
        if found := pattern.search(text):
            yield f"form: {name}", *found.span()
    if "<" in text and _paired_tag(text):
        yield "form: paired tags", 0, len(text)
    if _shouts_a_command(text):
        yield "form: shouted command", 0, len(text)


def _suspicious(text: str) -> bool:
    return next(injection_forms(text), None) is not None


def _paired_tag(text: str) -> bool:
    """Whether the text has an opening and closing tag that is not HTML, as prompts use them."""
    seen = set()
    for found in _TAG.finditer(text):
        name = found[1].casefold()
        if name not in _PLAIN_TAGS and name not in seen:
            seen.add(name)
            if f"</{name}>" in text[found.end() :].casefold():
                return True
        if len(seen) > 50:  # no honest question has this many tags
            return True
    return False


def _shouts_a_command(text: str) -> bool:
    if sum(map(str.islower, text)) <= 10:
        return False
    run: set[str] = set()
    length = 0
    for word in text.replace(",", " ").replace('"', " ").split():
        if not word.isupper():
            run, length = set(), 0
            continue
        length += 1
        run.add(word.strip(".:;!?"))
        if length >= _SHOUTED_WORDS and run & _COMMANDS:
            return True
    return False
