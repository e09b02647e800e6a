"""What instructions to a language model look like: cues with weights, of every language (`instructions.yaml`).

A cue is patterns over one normalized sentence (`shared.text.normalizer`). No single word is one: a cue needs a verb
and what it is applied to, such as *ignore* and *previous instructions*. What honest texts also say, such as *you are
a …*, has a small weight, and counts only together with other cues. The classes follow those that surveys of prompt
injection distinguish (Perez and Ribeiro 2022, "Ignore previous prompt"; Greshake et al. 2023, "Not what you've signed
up for"; Liu et al. 2024, "Formalizing and benchmarking prompt injection attacks"). Every pattern runs in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from shared.contracts.errors import ConfigurationError
from shared.language.packs import Lines, PackFile, Pattern, Patterns, Phrases, Words, either, languages, read

#: Macros of every language: up to three, five or eight words in between.
_GAPS = {f"gap{most}": rf"(?:[^ ]++ ){{0,{most}}}?" for most in (3, 5, 8)}
_MACRO = re.compile(r"\{([a-z]\w*)\}")


class CueWords(BaseModel):
    """A cue as it is written: `patterns`, one to a line, in which `{name}` is replaced by a macro.

    Each match has a word that begins like any of `signs`. `[ ]` is a space at the end of a line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    weight: float
    signs: Phrases
    patterns: Lines
    directed: bool = False
    documents: bool = False


class InstructionWords(PackFile):
    """How a language gives instructions to a model.

    `models` and `short_models` are names of models, as which the macros `{model}` and `{short_model}` stand for those
    of all languages; `macros` are the language's own. A sentence that begins, after `openers`, with any of `asking`
    directs nobody, unless any of `wanting` follows. `tasks` and `orders` are verbs of orders, `please` precedes
    them, and `selves` are forms in which somebody speaks of themselves. `naming` and `surely_naming` come before a
    name that the reader is given, unless it begins with any of `not_names`. `after_stop` are orders after *stop*;
    `spelled_orders` with `spelled_objects` are looked for in letters that are spelled one by one; `contexts` and
    `questions` are headings of a context that is made up together with its question, as are `context_headings` and
    `article_headings` in a question. `persona`, with `persona_now`, gives a model a name, `appended_orders` follow the
    words of a search, and `commands` are written in capitals.
    """

    file = "instructions"
    models: Patterns = ()
    short_models: Patterns = ()
    macros: dict[str, Pattern] = {}
    cues: tuple[CueWords, ...] = ()
    openers: Words = ()
    asking: Patterns = ()
    wanting: Patterns = ()
    tasks: Words = ()
    orders: Words = ()
    please: Words = ()
    selves: Patterns = ()
    naming: Phrases = ()
    surely_naming: Patterns = ()
    naming_openers: Words = ()
    not_names: Phrases = ()
    after_stop: Words = ()
    spelled_orders: Words = ()
    spelled_objects: Words = ()
    contexts: Phrases = ()
    questions: Phrases = ()
    context_headings: Words = ()
    article_headings: Words = ()
    persona: Phrases = ()
    persona_now: Words = ()
    appended_orders: Patterns = ()
    commands: Words = ()


class Cue(NamedTuple):
    """A sign of an instruction to a model.

    `kind` is its class: of each class only the heaviest cue of a text counts. `directed`: it counts only where the
    sentence gives its reader an order, not where somebody asks about it. `documents`: it counts only in texts
    that were not written to a model, such as pages, where nobody has a reason to speak to one.
    """

    kind: str
    weight: float
    pattern: re.Pattern[str]
    signs: tuple[str, ...]
    directed: bool = False
    documents: bool = False


WORDS = read(InstructionWords)
_SHARED = {
    **_GAPS,
    "model": either(names for words in WORDS.values() for names in words.models) + " ",
    "short_model": either(names for words in WORDS.values() for names in words.short_models),
}


def compiled(words: InstructionWords, language: str) -> Iterator[Cue]:
    """The cues of a language.

    Raises:
        ConfigurationError: a pattern is not a regular expression, or has a macro that is not defined.
    """
    macros: Mapping[str, str] = {**_SHARED, **words.macros}
    for number, cue in enumerate(words.cues):
        try:
            parts = (_MACRO.sub(lambda match: macros[match[1]], part) for part in cue.patterns)
            pattern = re.compile(rf"(?<= ){either(parts)}")
        except (re.error, KeyError) as error:
            file = languages()[language] / f"{words.file}.yaml"
            raise ConfigurationError(f"{file}: cues.{number}.patterns: {error}") from error
        yield Cue(cue.kind, cue.weight, pattern, cue.signs, cue.directed, cue.documents)


CUES = tuple(cue for language, words in WORDS.items() for cue in compiled(words, language))
