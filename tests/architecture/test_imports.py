"""Who may import what: stages know `shared` and themselves, brokers and clients stay behind their doors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shared.ops.catalogue import STAGES
from tests.architecture.source import ROOT, Module, imports_any, modules, within

BROKER = ("faststream", "nats")
#: The doors to the broker; everything else gets ports.
BROKER_DOORS = ("shared/delivery/", "shared/worker.py", "shared/testing.py", "shared/stores/", "shared/ops/")

#: Libraries that any file may use.
EVERYWHERE = {"pydantic", "structlog", "orjson"}
#: Every other library, and the only places that may import it. A new library needs a line here, and so a decision.
PLACES: dict[str, tuple[str, ...]] = {
    "faststream": BROKER_DOORS,
    "nats": BROKER_DOORS,
    "nkeys": ("shared/ops/credentials.py",),
    "redis": ("shared/stores/keyvalue_redis.py",),
    "sqlalchemy": (
        "services/persistence/models.py",
        "services/persistence/sql.py",
        "services/persistence/sql_reading.py",
        "services/persistence/sql_writing.py",
        "services/persistence/adapters.py",
        "services/persistence/directory_sql.py",
        "services/persistence/forgetting_sql.py",
        "services/persistence/watch_adapter.py",
        "services/persistence/migrations/",
    ),
    "alembic": ("services/persistence/migrations/",),
    "qdrant_edge": ("services/retrieval/index/",),
    "neo4j": ("services/retrieval/graph/neo4j.py",),
    "qdrant_client": ("services/retrieval/index/server.py",),
    "markdown_it": ("services/retrieval/ingest/markdown.py",),
    "pypdf": ("services/retrieval/ingest/pdf.py",),
    "selectolax": ("services/retrieval/ingest/html.py", "shared/web/page.py"),
    "ahocorasick": ("services/moderation/lexicon.py",),
    "presidio_analyzer": ("services/moderation/adapters.py",),
    "spacy": ("services/moderation/adapters.py",),
    "tldextract": ("services/moderation/adapters.py",),
    "sklearn": ("services/moderation/training.py",),
    "nemoguardrails": ("services/moderation/guardrails.py",),
    "sacrebleu": ("shared/ops/evaluate_followups.py",),
    "lingua": ("services/translation/adapters.py",),
    "fastapi": ("services/gateway/",),
    "starlette": ("services/gateway/",),
    "uvicorn": ("services/gateway/face.py", "shared/probes.py"),
    "uvloop": ("shared/worker.py", "shared/ops/output.py"),
    "fastembed": ("services/retrieval/embed/local.py",),
    "docx": ("services/retrieval/ingest/office.py",),
    "pptx": ("services/retrieval/ingest/office.py",),
    "openpyxl": ("services/retrieval/ingest/office.py",),
    "langchain_openai": ("shared/models/chats.py",),
    "langchain_anthropic": ("shared/models/anthropic.py",),
    "httpx2": ("shared/models/chats.py",),
    "httpcore": ("shared/web/client.py",),
    "idna": ("shared/web/policy.py",),
    "httpx": ("services/retrieval/embed/endpoint.py", "shared/ops/"),
    "typer": ("shared/ops/",),
    "rich": ("shared/ops/",),
    "yaml": (
        "shared/pipelines.py",
        "shared/ops/directory.py",
        "shared/models/settings.py",
        "shared/ops/pipelines_cli.py",
        "services/retrieval/ingest/markdown.py",
    ),
    "pydantic_settings": ("shared/settings.py",),
    "prometheus_client": ("shared/telemetry.py", "shared/probes.py", "services/gateway/routes/operations.py"),
    "opentelemetry": ("shared/telemetry.py",),
    "Stemmer": ("shared/text.py",),
}


def offenders(
    names: tuple[str, ...], *, allowed: tuple[str, ...], among: tuple[str, ...] = ("",)
) -> dict[str, set[str]]:
    """Files outside `allowed` that import one of the names, with what they import."""
    found = {
        module.path: imports_any(module, names)
        for module in modules()
        if module.path.startswith(among) and not within(module.path, allowed)
    }
    return {path: imports for path, imports in found.items() if imports}


@pytest.mark.parametrize("stage", STAGES)
def test_stage_imports_no_other_stage(stage: str) -> None:
    others = tuple(f"services.{other}" for other in STAGES if other != stage)

    assert offenders(others, allowed=(), among=(f"services/{stage}/",)) == {}


def test_shared_imports_no_stage() -> None:
    """Only the commands that run whole platforms know stages, and only to build them."""
    assert offenders(("services",), allowed=("shared/ops/",), among=("shared/",)) == {}


def test_commands_import_no_more_of_a_stage_than_running_it_needs() -> None:
    assert offenders(("services",), allowed=("shared/ops/in_process.py",), among=("shared/ops/",)) == {}


def test_stages_are_named_as_modules_by_the_catalogue_and_the_supervisor_only() -> None:
    naming = {module.path for module in modules() if re.search("""["']services\\.""", module.text)}

    assert {path for path in naming if path.startswith("shared/")} == {"shared/ops/catalogue.py", "shared/ops/up.py"}


def test_broker_is_imported_behind_its_doors_only() -> None:
    assert offenders(BROKER, allowed=BROKER_DOORS) == {}


def test_delivery_is_known_to_the_worker_and_the_commands_only() -> None:
    assert offenders(("shared.delivery",), allowed=BROKER_DOORS) == {}


def test_stages_know_stores_by_their_roles_only() -> None:
    stores = tuple(
        f"shared.stores.{module.path.split('/')[-1].removesuffix('.py')}"
        for module in modules()
        if module.path.startswith("shared/stores/") and not module.path.endswith(("__init__.py", "ports.py"))
    )

    assert stores
    assert offenders(stores, allowed=BROKER_DOORS) == {}


def test_commands_are_imported_by_commands_only() -> None:
    assert offenders(("shared.ops",), allowed=("shared/ops/",)) == {}


def test_worker_is_imported_by_the_wiring_and_the_commands_only() -> None:
    wiring = tuple(f"services/{stage}/app.py" for stage in STAGES)

    assert offenders(("shared.worker",), allowed=("shared/ops/", "shared/testing.py", *wiring)) == {}


def test_tests_are_imported_by_no_part_of_the_program() -> None:
    assert offenders(("tests", "pytest", "hypothesis"), allowed=()) == {}


@pytest.mark.parametrize("library", PLACES)
def test_library_is_imported_in_its_places_only(library: str) -> None:
    assert offenders((library,), allowed=PLACES[library]) == {}


def test_every_library_has_its_places() -> None:
    unplaced = {name: module.path for module in modules() for name in module.libraries - EVERYWHERE - set(PLACES)}

    assert unplaced == {}


def test_every_place_is_used() -> None:
    used = {name for module in modules() for name in module.libraries}

    assert set(PLACES) <= used


def test_stage_and_facts_know_no_library_but_pydantic() -> None:
    pure = {
        "shared/domain.py",
        "shared/fact.py",
        "shared/facts.py",
        "shared/subjects.py",
        "shared/envelope.py",
        "shared/stage.py",
    }

    assert {name for module in modules() if module.path in pure for name in module.libraries} == {"pydantic"}


def test_heavy_libraries_are_not_loaded_by_the_help_text() -> None:
    program = (
        "import sys\n"
        "from shared.ops.cli import main\n"
        "sys.argv = ['answerbus', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        "print('LOADED', *sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )

    help_text, _, loaded = done.stdout.rpartition("LOADED ")
    assert "Usage" in help_text
    tops = {name.split(".")[0] for name in loaded.split()}
    assert "typer" in tops
    assert not tops & {
        *BROKER,
        "sqlalchemy",
        "fastapi",
        "starlette",
        "uvicorn",
        "services",
        "qdrant_edge",
        "lingua",
        "httpx",
    }


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("import nats.aio", {"nats.aio"}),
        ("from nats import errors", {"nats.errors"}),
        ("from nats.errors import Error as E", {"nats.errors.Error"}),
        ("def f():\n    import nats", {"nats"}),
        ("from natsort import x", set()),
    ],
)
def test_imports_are_found_however_they_are_written(line: str, names: set[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(line)

    assert imports_any(Module(str(path)), ("nats",)) == names
