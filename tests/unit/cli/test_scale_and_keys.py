"""How `--scale` and the API keys are read."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cli.host.catalogue import STAGES
from cli.host.up import parse_scale
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings


def test_scale_is_one_worker_of_each_stage_unless_told_otherwise() -> None:
    assert parse_scale([], Settings()) == dict.fromkeys(STAGES, 1)


def test_scale_takes_several_stages() -> None:
    scale = parse_scale(["answer=3", "gateway=2"], Settings())

    assert (scale["answer"], scale["gateway"], scale["verifier"]) == (3, 2, 1)


@pytest.mark.parametrize(
    "value", ["answer", "answer=", "answer=0", "answer=65", "answer=-1", "answer=two", "=2", "bus=2"]
)
def test_scale_refuses_what_is_no_number_of_workers(value: str) -> None:
    with pytest.raises(ConfigurationError, match="STAGE=N"):
        parse_scale([value], Settings())


def test_scale_of_retrieval_needs_a_vector_server() -> None:
    with pytest.raises(ConfigurationError, match="ANSWERBUS_VECTOR_URL"):
        parse_scale(["retrieval=2"], Settings())

    assert parse_scale(["retrieval=2"], Settings(vector_url="http://127.0.0.1:6333"))["retrieval"] == 2


def test_api_keys_are_read_with_name_and_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", "web:client:0123456789abcdef, ops:operator:with:colons:0123456789,")

    keys = {label: key.get_secret_value() for label, (key,) in Settings().api_keys.items()}

    assert keys == {"web:client": "0123456789abcdef", "ops:operator": "with:colons:0123456789"}


@pytest.mark.parametrize(
    "value", ["0123456789abcdef", "web:0123456789abcdef", "web:admin:0123456789abcdef", "web:client:short"]
)
def test_api_keys_without_a_role_or_too_short_are_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", value)

    with pytest.raises(ValidationError) as refused:
        Settings()

    assert "name:role:key" in refused.value.errors()[0]["msg"]


def test_api_keys_do_not_show_when_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", "web:client:0123456789abcdef")

    assert "0123456789abcdef" not in repr(Settings())


def test_settings_of_the_environment_win_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("settings") / "answerbus.yaml"
    file.write_text("retention_hours: 24\ntenant: from-file\n")
    monkeypatch.setenv("ANSWERBUS_CONFIG", str(file))
    monkeypatch.setenv("ANSWERBUS_TENANT", "from-environment")

    settings = Settings()

    assert (settings.retention_hours, settings.tenant) == (24, "from-environment")
