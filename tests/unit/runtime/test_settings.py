"""Process settings: environment over file over defaults, and secrets that stay secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shared.runtime.settings import Settings


def test_defaults_work_without_anything_configured() -> None:
    settings = Settings()

    assert settings.nats_servers == ["nats://127.0.0.1:4222"]
    assert settings.database_url == "sqlite+aiosqlite:///data/record/record.db"
    assert settings.host == "127.0.0.1"
    assert settings.api_keys == {}


def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "answerbus.yaml"
    file.write_text("tenant: from-file\nport: 9000\n")
    monkeypatch.setenv("ANSWERBUS_CONFIG", str(file))
    monkeypatch.setenv("ANSWERBUS_PORT", "9001")

    settings = Settings()

    assert (settings.tenant, settings.port, settings.default_pipeline) == ("from-file", 9001, "default")
    assert Settings(port=9002).port == 9002


def test_a_key_in_the_file_that_is_no_setting_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "answerbus.yaml"
    file.write_text("prot: 9000\n")
    monkeypatch.setenv("ANSWERBUS_CONFIG", str(file))

    with pytest.raises(ValidationError, match="prot"):
        Settings()


def test_several_servers_are_separated_by_commas() -> None:
    settings = Settings(nats_url="nats://a:4222, nats://b:4222,")

    assert settings.nats_servers == ["nats://a:4222", "nats://b:4222"]


def test_keys_are_read_as_name_role_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", "web:client:0123456789abcdef, ops:operator:key:with:colons-16")

    keys = {label: secret.get_secret_value() for label, (secret,) in Settings().api_keys.items()}

    assert keys == {"web:client": "0123456789abcdef", "ops:operator": "key:with:colons-16"}


def test_a_name_may_have_several_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", "web:client:0123456789abcdef,web:client:fedcba9876543210")

    (keys,) = Settings().api_keys.values()

    assert [key.get_secret_value() for key in keys] == ["0123456789abcdef", "fedcba9876543210"]


@pytest.mark.parametrize("text", ["web:client:short", "web:admin:0123456789abcdef", "0123456789abcdef", "web:client"])
def test_a_key_that_is_too_short_or_has_no_known_role_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", text)

    with pytest.raises(ValidationError, match="name:role:key"):
        Settings()


def test_secrets_are_not_shown_when_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_API_KEYS", "web:client:zanzibar-zanzibar")
    settings = Settings.model_validate(
        {"nats_password": "zanzibar", "record_url": "postgresql://u:zanzibar@h/d", "vector_api_key": "zanzibar"}
    )

    assert "zanzibar" not in f"{settings!r} {settings} {settings.model_dump_json()}"
    assert settings.database_url == "postgresql://u:zanzibar@h/d"


@pytest.mark.parametrize(
    ("name", "value"),
    [("replicas", 0), ("raw_ttl_seconds", 0), ("ack_wait_seconds", 0.5), ("port", 70_000), ("retention_hours", 0)],
)
def test_values_that_cannot_work_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({name: value})


def test_every_setting_of_the_process_can_be_given_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    #: A reader cannot work with less.
    least = {"reader_memory_mb": 64}
    given = {name: least.get(name, 3) for name, field in Settings.model_fields.items() if field.annotation is int}
    for name, value in given.items():
        monkeypatch.setenv(f"ANSWERBUS_{name.upper()}", str(value))

    settings = Settings()

    assert {name: getattr(settings, name) for name in given} == given


def test_groups_of_keys_are_read_from_the_environment_and_from_a_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_KEY_GROUPS", "web:staff, web:hr:pay,shop:sales,")
    assert Settings().key_groups == {"web": ("hr:pay", "staff"), "shop": ("sales",)}
    monkeypatch.delenv("ANSWERBUS_KEY_GROUPS")
    assert Settings().key_groups == {}
    given: Any = {"web": ["a, b", "c"], "shop": "one"}
    assert Settings(key_groups=given).key_groups == {"web": ("a, b", "c"), "shop": ("one",)}


@pytest.mark.parametrize("text", ["web", "web:", ":staff", "web:\x07"])
def test_groups_without_a_key_or_a_name_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_KEY_GROUPS", text)

    with pytest.raises(ValidationError, match="group"):
        Settings()


def test_tenants_keys_and_pipelines_of_tenants_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBUS_TENANTS", "acme, beta-2,acme,")
    monkeypatch.setenv("ANSWERBUS_KEY_TENANTS", "shop:acme,app:acme, app:beta-2,ops:*")
    monkeypatch.setenv("ANSWERBUS_TENANT_PIPELINES", "acme:support")

    settings = Settings()

    assert settings.every_tenant == ("default", "acme", "beta-2")
    assert settings.key_tenants == {"shop": ("acme",), "app": ("acme", "beta-2"), "ops": ("*",)}
    assert [settings.pipeline_of(tenant) for tenant in settings.every_tenant] == ["default", "support", "default"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TENANT", "Acme"),
        ("TENANT", ""),
        ("TENANTS", "acme,.."),
        ("TENANTS", "a/b"),
        ("TENANTS", "*"),
        ("TENANTS", "acme-asked"),
        ("TENANTS", "a" * 64),
        ("KEY_TENANTS", "shop"),
        ("KEY_TENANTS", "shop:nobody"),
        ("TENANT_PIPELINES", "nobody:support"),
        ("TENANT_PIPELINES", "default:"),
    ],
)
def test_name_of_no_tenant_is_refused(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ANSWERBUS_{name}", text)

    with pytest.raises(ValidationError, match="tenant"):
        Settings()


def test_a_secret_is_read_from_the_file_of_its_setting_unless_the_environment_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answerbus_record_url").write_text("postgresql://a:b@of-the-file/x\n", "utf-8")
    (tmp_path / "nats_seed").write_text("not a setting", "utf-8")
    monkeypatch.setattr("shared.runtime.settings.SECRETS", tmp_path)

    assert Settings().database_url == "postgresql://a:b@of-the-file/x"

    monkeypatch.setenv("ANSWERBUS_RECORD_URL", "postgresql://a:b@of-the-environment/x")
    assert Settings().database_url == "postgresql://a:b@of-the-environment/x"
