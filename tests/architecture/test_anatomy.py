"""Every stage is built alike, so that who knows one knows all."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from importlib.util import find_spec

from cli.host.catalogue import STAGES, section_kinds, stages
from shared.contracts.facts import FACTS
from shared.contracts.pipelines import Section
from shared.contracts.stage import Stage
from tests.architecture.source import ROOT, Module, modules
from tests.support.table import table

FILES = ("__init__.py", "app.py", "settings.py", "README.md")
APP_LINES = 85

every_stage = table("stage", STAGES)
every_built_stage = table("stage", stages())


def test_every_folder_of_services_is_a_stage_of_the_catalogue() -> None:
    folders = {path.parent.name for path in (ROOT / "services").glob("*/*.py")}

    assert folders == set(STAGES)


@every_stage
@table("name", FILES)
def test_stage_has_the_file(stage: str, name: str) -> None:
    assert (ROOT / "services" / stage / name).is_file()


@every_built_stage
def test_stage_that_consumes_facts_has_a_handler(stage: Stage) -> None:
    handler = ROOT / "services" / stage.name / "handler.py"

    assert handler.is_file() or not stage.subscriptions


@every_stage
def test_contract_of_a_stage_is_its_docstring(stage: str) -> None:
    tree = Module(f"services/{stage}/__init__.py").tree

    assert len(tree.body) == 1  # the docstring, and no code that every import would run
    assert ast.get_docstring(tree)


@every_built_stage
def test_readme_of_a_stage_names_no_fact_that_is_not_one(stage: Stage) -> None:
    participles = {re.findall(r"[A-Z][a-z]+", name)[1] for name in FACTS}

    for path in (ROOT / "services" / stage.name).glob("*.md"):
        words = set(re.findall(r"\b[A-Z][a-z]+[A-Z][a-z]+\b", path.read_text("utf-8")))
        assert {word for word in words if re.findall(r"[A-Z][a-z]+", word)[1] in participles} <= set(FACTS)


@every_built_stage
def test_docstring_of_a_stage_or_of_its_handler_names_what_it_consumes(stage: Stage) -> None:
    packages = (f"services.{stage.name}", f"services.{stage.name}.handler")
    modules = [import_module(name) for name in packages if find_spec(name)]
    docstring = "".join(module.__doc__ or "" for module in modules)
    single = [subscription.facts[0].__name__ for subscription in stage.subscriptions if len(subscription.facts) == 1]

    assert [name for name in single if name not in docstring] == []


@every_stage
def test_wiring_is_short_and_can_be_run(stage: str) -> None:
    app = Module(f"services/{stage}/app.py")

    assert app.lines <= APP_LINES
    assert app.text.endswith(
        'if __name__ == "__main__":\n    from shared.runtime.worker import run\n\n    run(build)\n'
    )


@every_stage
def test_wiring_declares_one_stage_named_like_its_folder(stage: str) -> None:
    built = [one for one in stages() if one.name == stage]

    assert len(built) == 1
    assert built[0].subscriptions or built[0].also_publishes


@every_built_stage
def test_handlers_of_a_stage_are_async(stage: Stage) -> None:
    handlers = [subscription.handler for subscription in stage.subscriptions] + [
        ask.handler for ask in stage.request_handlers
    ]

    assert [handler for handler in handlers if not inspect.iscoroutinefunction(handler)] == []


def test_handlers_know_only_python_pydantic_the_log_and_our_own() -> None:
    """Also the use cases of the gateway, which has no handlers."""
    handlers = [
        module for module in modules() if re.match(r"services/(\w+/handler|gateway/asking/\w+)\.py", module.path)
    ]

    assert {module.path.split("/")[1] for module in handlers} == set(STAGES)
    assert {module.path for module in handlers if not module.libraries <= {"pydantic", "structlog"}} == set()


@every_stage
def test_settings_of_a_stage_are_a_section_whose_fields_are_all_described_and_have_defaults(stage: str) -> None:
    kind = section_kinds()[stage]

    assert kind is not None
    assert issubclass(kind, Section)
    assert kind.__module__ == f"services.{stage}.settings"
    assert [name for name, field in kind.model_fields.items() if not field.description] == []
    kind()


def test_ports_are_protocols() -> None:
    for module in modules():
        if module.path.endswith("/ports.py"):
            classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
            assert any("Protocol" in map(ast.unparse, node.bases) for node in classes), module.path
