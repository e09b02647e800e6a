"""`answerbus evaluate NOUN`: one module per subcommand."""

from __future__ import annotations

import typer

from answerbus_lab.commands.evaluate import (
    answers,
    followups,
    injections,
    language,
    moderation,
    questions,
    replay,
    retrieval,
    routing,
    similar,
    suite,
    urls,
)

app = typer.Typer(help="Measure quality on test collections and recorded questions.", no_args_is_help=True)

COMMANDS = (
    answers.answers,
    retrieval.retrieval,
    followups.followups,
    urls.urls,
    questions.questions,
    moderation.moderation,
    injections.injections,
    replay.replay,
    language.language,
    routing.routing,
    similar.similar,
    suite.suite,
)
for command in COMMANDS:
    app.command()(command)
