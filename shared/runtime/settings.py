"""Process settings: environment (`ANSWERBUS_...`) over the YAML file over the defaults.

What a pipeline does is not here but in its document (`deploy/pipelines/<name>/pipeline.yaml`).
"""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)

from shared.contracts.errors import ConfigurationError
from shared.llm.settings import ModelsSettings, read_models
from shared.web.hosts import host_list

CONFIG_VARIABLE = "ANSWERBUS_CONFIG"


class Settings(BaseSettings):
    """Where things are and how much of them; one object per process."""

    model_config = SettingsConfigDict(env_prefix="ANSWERBUS_", extra="forbid", frozen=False)

    data_dir: Path = Field(default=Path("data"), description="Everything the embedded platform keeps.")
    tenant: str = Field(default="default", description="Written into every event.")

    nats_url: str = Field(default="nats://127.0.0.1:4222", description="Servers, separated by commas.")
    nats_user: str = Field(default="", description="User name, where the server asks for one.")
    nats_password: SecretStr = Field(default=SecretStr(""), description="Its password.")
    nats_seed: SecretStr = Field(
        default=SecretStr(""),
        description="Instead of a password: the seed of the user's key, a file with it, or a folder of such files.",
    )
    nats_tls_ca: str = Field(
        default="", description="Authorities that the servers' certificates are checked against; empty: the system's."
    )
    nats_tls_cert: str = Field(default="", description="Certificate of this process, if the servers ask.")
    nats_tls_key: str = Field(default="", description="Its key; empty: in the same file.")
    replicas: int = Field(default=1, ge=1, le=5, description="Copies of the stream: 3 in a cluster.")
    retention_hours: float = Field(default=72, gt=0, description="How long the log is kept.")
    max_log_bytes: int = Field(default=16 * 2**30, gt=0, description="Upper limit of the log on disk, in bytes.")
    raw_ttl_seconds: int = Field(default=3600, ge=1, description="privacy.raw_ttl: how long unmoderated text stays.")
    raw_erase_share: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description="Share of the time that may be spent on erasing it from the disk; 0: none.",
    )
    ack_wait_seconds: float = Field(
        default=6,
        ge=1,
        description="Silence after which work is given to another worker; heartbeats come thrice as often.",
    )
    max_deliveries: int = Field(default=8, ge=1, description="Tries before an event goes to dead letters.")
    publish_budget_seconds: float = Field(default=30, ge=1, description="How long a worker retries a publish.")
    graceful_seconds: float = Field(default=20, ge=0, description="How long running work may finish at shutdown.")

    concurrency: int = Field(
        default=0, ge=0, description="Questions a worker holds at once; 0: the stage's own figure."
    )
    background_per_second: float = Field(
        default=10,
        ge=0,
        description="Background events a second that a worker takes per kind while live questions are about; 0: all.",
    )
    probe_host: str = Field(default="127.0.0.1", description="Where /livez, /readyz and /metrics are served.")
    probe_port: int = Field(default=0, ge=0, le=65535, description="0: any free port (written to the log).")

    key_value_url: str = Field(default="nats", description="`nats`, or redis://host:port/db.")
    record_url: SecretStr = Field(default=SecretStr(""), description="SQLAlchemy URL; empty: SQLite in data_dir.")
    record_days: float = Field(
        default=0, ge=0, description="Age at which exchanges are deleted from the record; 0: they are kept."
    )
    vector_url: str = Field(default="", description="Qdrant server; empty: Qdrant Edge in data_dir.")
    vector_api_key: SecretStr = Field(default=SecretStr(""), description="Its key.")
    graph_url: str = Field(default="", description="Neo4j server, bolt:// or neo4j://; empty: SQLite in data_dir.")
    graph_user: str = Field(default="", description="User name, where the server asks for one.")
    graph_password: SecretStr = Field(default=SecretStr(""), description="Its password.")
    embed_url: str = Field(
        default="",
        description="OpenAI-compatible embeddings, e.g. http://127.0.0.1:11434/v1; empty: none, or in process.",
    )
    embed_model: str = Field(
        default="", description="Its model; without a URL a model of fastembed or a folder; empty: no dense search."
    )
    embed_api_key: SecretStr = Field(default=SecretStr(""), description="The endpoint's key.")
    web_search_url: str = Field(
        default="", description="SearXNG instance for pipelines with the retriever `web`, e.g. http://127.0.0.1:8888."
    )
    google_search_engine: str = Field(
        default="", description="Without an instance: the id of a Programmable Search Engine of Google."
    )
    google_search_key: SecretStr = Field(default=SecretStr(""), description="Its API key.")

    web_allow: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that may be fetched (example.org, *.example.org), separated by commas; empty: any.",
    )
    web_deny: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Hosts and networks that are never fetched."
    )
    web_inside: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts and networks that may be fetched although they are not on the public internet.",
    )
    web_per_second: float = Field(default=10, ge=0, description="Requests to one host of the web; 0: no limit.")

    models: SecretStr = Field(
        default=SecretStr(""),
        description="Model endpoints and roles as YAML or JSON, or such a file; `off`: none, whatever else is set.",
    )
    model: str = Field(default="", description="Model of the one endpoint that OPENAI_API_KEY alone configures.")

    host: str = Field(default="127.0.0.1", description="Where the gateway listens; beyond loopback only with API keys.")
    port: int = Field(default=8080, ge=0, le=65535)
    api_keys: Annotated[dict[str, SecretStr], NoDecode] = Field(
        default_factory=dict, description="name:role:key, separated by commas; roles client, editor, operator."
    )
    default_pipeline: str = Field(default="default", description="The pipeline of questions that name none.")
    admission_seconds: float = Field(
        default=15, ge=0, description="Questions are refused while the oldest waits longer than this; 0: never."
    )
    max_body_bytes: int = Field(default=1_000_000, gt=0, description="Largest request, documents aside.")
    max_document_bytes: int = Field(default=64 * 2**20, gt=0, description="Largest document handed in over HTTP.")

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    otlp_endpoint: str = Field(default="", description="OpenTelemetry collector (OTLP over HTTP); empty: no traces.")

    @field_validator("api_keys", mode="before")
    @classmethod
    def _read_keys(cls, value: object) -> object:
        """`alice:operator:s3cret,web:client:t0ken` -> {"alice:operator": "s3cret", ...}."""
        if not isinstance(value, str):
            return value
        keys: dict[str, SecretStr] = {}
        for entry in filter(None, (part.strip() for part in value.split(","))):
            name, _, rest = entry.partition(":")
            role, _, key = rest.partition(":")
            if role not in ("client", "editor", "operator") or len(key) < 16:
                raise ValueError(
                    "each API key is name:role:key with role client, editor or operator and 16+ characters"
                )
            keys[f"{name}:{role}"] = SecretStr(key)
        return keys

    @field_validator("web_allow", "web_deny", "web_inside", mode="before")
    @classmethod
    def _read_hosts(cls, value: object) -> object:
        """`example.org, *.example.org` -> ("example.org", "*.example.org")."""
        return host_list(value) if isinstance(value, str | list | tuple) else value

    @field_validator("models", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        """A mapping out of the YAML file is kept as text, because there are keys in it."""
        return json.dumps(value) if isinstance(value, dict) else value

    @field_validator("models")
    @classmethod
    def _models_fit(cls, value: SecretStr) -> SecretStr:
        try:
            read_models(value.get_secret_value())
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
        return value

    @cached_property
    def model_endpoints(self) -> ModelsSettings:
        """The endpoints of the model roles; see `shared.llm.settings`."""
        return read_models(self.models.get_secret_value(), self.model)

    @cached_property
    def nats_servers(self) -> list[str]:
        return [url.strip() for url in self.nats_url.split(",") if url.strip()]

    @property
    def database_url(self) -> str:
        """The record's SQLAlchemy URL, with an async driver."""
        return self.record_url.get_secret_value() or f"sqlite+aiosqlite:///{self.data_dir / 'record' / 'record.db'}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over YAML file over defaults."""
        path = os.environ.get(CONFIG_VARIABLE)
        file = (YamlConfigSettingsSource(settings_cls, yaml_file=Path(path)),) if path else ()
        return init_settings, env_settings, *file
