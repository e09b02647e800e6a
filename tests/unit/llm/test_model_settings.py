"""The endpoints of each role are read from the environment; errors never contain keys."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from shared.contracts.domain import Usage
from shared.contracts.errors import ConfigurationError
from shared.llm.settings import DEFAULT_MODEL, ModelsSettings, Price, read_models
from shared.runtime.settings import Settings

TWO = """
endpoints:
  - {name: groq, base_url: "https://api.groq.example/openai/v1", model: llama, api_key: gsk-secret}
  - {name: openai, kind: openai, model: gpt, api_key_env: MY_KEY, price: {input: 2, output: 8}}
roles: {fast: [groq, openai], main: [openai]}
"""


def test_key_alone_configures_one_endpoint_for_every_role() -> None:
    settings = read_models("", environment={"OPENAI_API_KEY": "sk-1"})

    for role in ("fast", "main", "judge"):
        (endpoint,) = settings.of(role)
        assert (endpoint.kind, endpoint.model, endpoint.key) == ("openai", DEFAULT_MODEL, "sk-1")
    assert settings.of("embed") == ()


def test_address_alone_configures_a_compatible_endpoint_without_a_key() -> None:
    settings = read_models("", "qwen", {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"})

    (endpoint,) = settings.of("main")
    assert (endpoint.kind, endpoint.model, endpoint.key) == ("openai-compatible", "qwen", "none")


@pytest.mark.parametrize(("text", "environment"), [("", {}), ("off", {"OPENAI_API_KEY": "sk-1"}), ("  ", {})])
def test_none_is_configured_without_either_or_when_it_is_off(text: str, environment: dict[str, str]) -> None:
    assert read_models(text, environment=environment) == ModelsSettings()


def test_roles_are_cascades_in_the_order_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-2")
    settings = read_models(TWO)

    assert [one.name for one in settings.of("fast")] == ["groq", "openai"]
    assert [one.key for one in settings.of("fast")] == ["gsk-secret", "sk-2"]
    assert settings.of("judge") == ()


def test_same_settings_may_stand_in_a_file_or_in_the_yaml_of_all_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models.yaml").write_text(TWO)
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump({"models": yaml.safe_load(TWO)}))

    assert read_models(str(tmp_path / "models.yaml")) == read_models(TWO)
    monkeypatch.delenv("ANSWERBUS_MODELS", raising=False)
    monkeypatch.setenv("ANSWERBUS_CONFIG", str(tmp_path / "settings.yaml"))
    assert Settings().model_endpoints == read_models(TWO)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "expected a mapping"),
        ("{endpoints: [", "not YAML"),
        ("/no/such/file.yaml", "cannot be read"),
        ("{endpoints: [{name: a, model: m, api_key: gsk-secret}]}", "needs a base_url"),
        ("{endpoints: [{name: a, kind: azure, base_url: 'http://x', model: m}]}", "api_version"),
        ("{endpoints: [{name: a, kind: openai, model: m, api_kye: gsk-secret}]}", "endpoints.0.api_kye"),
        ("{endpoints: [{name: a, kind: openai, model: m}], roles: {main: [b]}}", "no endpoint is called b"),
        ("{endpoints: [{name: a, kind: openai, model: m}], roles: {chief: [a]}}", "roles.chief"),
        ("{endpoints: [{name: a, kind: openai, model: m}, {name: a, kind: openai, model: n}]}", "same name"),
        (TWO.replace("main: [openai]", "embed: [openai, openai]"), "role embed: two endpoints serve the same model"),
    ],
)
def test_errors_name_the_setting_without_its_keys(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as raised:
        read_models(text)
    with pytest.raises(ValidationError) as refused:
        Settings(models=text)

    assert "gsk-secret" not in str(raised.value) + str(refused.value.errors(include_input=False)[0]["msg"])


def test_keys_are_in_no_printed_form_of_the_settings() -> None:
    settings = Settings(models=TWO)

    assert "gsk-secret" not in repr(settings) + repr(settings.model_endpoints) + str(settings.model_endpoints)


def test_cached_tokens_cost_as_input_where_no_other_price_is_given() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=500_000, cached_tokens=400_000)

    assert Price(input=2, output=8).of(usage) == 2 + 4
    assert Price(input=2, output=8, cached=0.5).of(usage) == pytest.approx(1.2 + 0.2 + 4)
    assert Price().of(usage) == 0
