"""A change runs the tests that it can break."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.changes import (
    ALWAYS,
    EVERYTHING,
    affected_tests,
    importers,
    is_test,
    modules_of,
    project_imports,
)

IMPORTS = {
    "shared/a.py": set[str](),
    "services/b.py": {"shared/a.py"},
    "services/c.py": {"services/b.py"},
    "tests/test_c.py": {"services/c.py"},
    "tests/test_other.py": set[str](),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imports") / "imports.json"


def test_whoever_imports_a_changed_module_through_others_is_reached() -> None:
    assert importers(IMPORTS, {"shared/a.py"}) == {"shared/a.py", "services/b.py", "services/c.py", "tests/test_c.py"}
    assert importers(IMPORTS, {"tests/test_other.py"}) == {"tests/test_other.py"}


def test_what_leads_to_a_module_only_through_a_given_one_is_not_reached() -> None:
    assert importers(IMPORTS, {"shared/a.py"}, ["services/c.py"]) == {"shared/a.py", "services/b.py", "services/c.py"}
    assert "tests/test_c.py" in importers(IMPORTS, {"services/c.py"}, ["services/c.py"])


def test_modules_that_import_each_other_end_the_search() -> None:
    assert importers({"a.py": {"b.py"}, "b.py": {"a.py"}}, {"a.py"}) == {"a.py", "b.py"}


@pytest.mark.parametrize(
    ("changed", "modules"),
    [
        ("shared/a.py", {"shared/a.py"}),
        ("shared/gone.py", {"shared/gone.py"}),
        ("shared/words.txt", {"shared/a.py"}),
        ("shared/lists/en/words.txt", {"shared/a.py"}),
        ("README.md", set()),
        ("docs/tracing.md", set()),
    ],
)
def test_a_file_that_is_not_python_stands_for_the_modules_beside_or_above_it(changed: str, modules: set[str]) -> None:
    assert modules_of({changed}, IMPORTS) == modules


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("shared/language/rules/grounding/groundedness.py", "tests/unit/verifier/test_verdict.py"),
        ("shared/language/quantities.py", "tests/unit/language/test_quantities.py"),
        ("services/answer/engines/chat.py", "tests/unit/answer/test_chat.py"),
        ("services/gateway/routes/questions.py", "tests/unit/gateway/test_question_routes.py"),
        ("services/answer/app.py", "tests/e2e/test_kill.py"),
        ("tests/support/platform.py", "tests/e2e/test_kill.py"),
        ("tests/integration/conftest.py", "tests/integration/test_lanes.py"),
        ("lab/answerbus_lab/tuning/__init__.py", "tests/lab/test_tuning.py"),
        ("docs/code-map.md", "tests/architecture/test_code_map.py"),
        ("clients/python/src/answerbus_client/__init__.py", "tests/pipeline/test_python_client.py"),
    ],
)
def test_a_change_reaches_the_tests_of_what_uses_the_file(changed: str, reached: str, cache: Path) -> None:
    found = affected_tests({changed}, cache)

    assert {reached, *ALWAYS} <= found
    assert all(Path(path).exists() for path in ALWAYS)


def test_a_change_of_a_stage_leaves_what_starts_a_whole_platform_alone(cache: Path) -> None:
    found = affected_tests({"services/answer/handler.py"}, cache)

    assert not [path for path in found if path.startswith(("tests/e2e/", "tests/acceptance/", "tests/integration/"))]


def test_a_change_of_a_stage_leaves_the_unit_tests_of_another_alone(cache: Path) -> None:
    found = affected_tests({"services/translation/handler.py"}, cache)

    assert not [path for path in found if path.startswith(("tests/unit/answer/", "tests/unit/moderation/"))]


@pytest.mark.parametrize("changed", EVERYTHING)
def test_a_change_of_what_everything_rests_on_runs_everything(changed: str, cache: Path) -> None:
    assert affected_tests({changed}, cache) == {path for path in project_imports(cache) if is_test(path)}


def test_imports_that_are_kept_are_those_of_the_files(cache: Path) -> None:
    affected_tests(set(), cache)

    assert project_imports(cache) == project_imports()
