"""Process settings: environment variables (`ANSWERBUS_...`) override the YAML file, which overrides the defaults.

What a pipeline does is set in its own document (`deploy/pipelines/<name>/pipeline.yaml`).
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
    """The settings of one process: addresses, credentials, limits."""

    model_config = SettingsConfigDict(env_prefix="ANSWERBUS_", extra="forbid", frozen=False)

    data_dir: Path = Field(default=Path("data"), description="Folder for all data of the embedded platform.")
    tenant: str = Field(default="default", description="Name of the tenant, written into every event.")

    nats_url: str = Field(default="nats://127.0.0.1:4222", description="URLs of the NATS servers, separated by commas.")
    nats_user: str = Field(default="", description="NATS user name, if the server requires a login.")
    nats_password: SecretStr = Field(default=SecretStr(""), description="Password of the NATS user.")
    nats_seed: SecretStr = Field(
        default=SecretStr(""),
        description="Instead of a password: the nkey seed of the user, a file with it, or a folder of such files.",
    )
    nats_tls_ca: str = Field(
        default="", description="CA file to verify the NATS servers' certificates; empty: the CAs of the system."
    )
    nats_tls_cert: str = Field(default="", description="Client certificate file, if the NATS servers require one.")
    nats_tls_key: str = Field(default="", description="Key file of the client certificate; empty: in the same file.")
    replicas: int = Field(default=1, ge=1, le=5, description="Replicas of each stream and bucket; 3 in a cluster.")
    retention_hours: float = Field(default=72, gt=0, description="Hours for which the log keeps events.")
    max_log_bytes: int = Field(default=16 * 2**30, gt=0, description="Maximum size of the log on disk, in bytes.")
    raw_ttl_seconds: int = Field(default=3600, ge=1, description="Seconds for which unmoderated text is kept.")
    raw_erase_share: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description="Share of the time that may be spent on erasing unmoderated text from the disk; 0: only expiry.",
    )
    ack_wait_seconds: float = Field(
        default=6,
        ge=1,
        description="Seconds without a heartbeat after which an event is redelivered; workers send three in that time.",
    )
    max_deliveries: int = Field(
        default=8, ge=1, description="Deliveries of an event before it is moved to the dead letters."
    )
    publish_budget_seconds: float = Field(
        default=30, ge=1, description="Seconds for which a worker retries to publish a fact."
    )
    graceful_seconds: float = Field(
        default=20, ge=0, description="Seconds that running handlers may take to finish at shutdown."
    )

    concurrency: int = Field(
        default=0,
        ge=0,
        description="Events of one subscription that a worker processes at once; 0: the default of the stage.",
    )
    background_per_second: float = Field(
        default=10,
        ge=0,
        description="Background events per second and subscription that a worker takes beside live ones; 0: no limit.",
    )
    probe_host: str = Field(
        default="127.0.0.1", description="Address on which /livez, /readyz and /metrics are served."
    )
    probe_port: int = Field(
        default=0, ge=0, le=65535, description="Port for them; 0: any free port (written to the log)."
    )

    key_value_url: str = Field(default="nats", description="Key-value store: `nats`, or redis://host:port/db.")
    record_url: SecretStr = Field(
        default=SecretStr(""), description="SQLAlchemy URL of the record; empty: SQLite in data_dir."
    )
    record_days: float = Field(
        default=0, ge=0, description="Age in days at which exchanges are deleted from the record; 0: never."
    )
    vector_url: str = Field(default="", description="URL of a Qdrant server; empty: Qdrant Edge in data_dir.")
    vector_api_key: SecretStr = Field(default=SecretStr(""), description="API key of the Qdrant server.")
    graph_url: str = Field(
        default="", description="URL of a Neo4j server, bolt:// or neo4j://; empty: SQLite in data_dir."
    )
    graph_user: str = Field(default="", description="Neo4j user name, if the server requires a login.")
    graph_password: SecretStr = Field(default=SecretStr(""), description="Password of the Neo4j user.")
    reader_processes: int = Field(default=2, ge=1, le=64, description="Processes that read documents at once.")
    reader_seconds: float = Field(
        default=8,
        ge=1,
        description="Seconds of work that reading a megabyte may take; any document gets a quarter more.",
    )
    reader_text_ratio: float = Field(
        default=20, ge=1, description="Characters of text that may come out of a document for each of its bytes."
    )
    reader_memory_mb: int = Field(
        default=512, ge=64, description="Memory in megabytes that reading a document may take."
    )
    embed_url: str = Field(
        default="",
        description="OpenAI-compatible embeddings endpoint, e.g. http://127.0.0.1:11434/v1; empty: in process or none.",
    )
    embed_model: str = Field(
        default="",
        description="Embedding model; without a URL, a fastembed model or a folder; empty: no dense retriever.",
    )
    embed_api_key: SecretStr = Field(default=SecretStr(""), description="API key of the embeddings endpoint.")
    cross_encoder: str = Field(
        default="",
        description="Cross-encoder that reads question and sentence together when sentences are quoted: a fastembed "
        "reranker or a folder; empty: none.",
    )
    web_search_url: str = Field(
        default="", description="SearXNG instance for pipelines with the retriever `web`, e.g. http://127.0.0.1:8888."
    )
    google_search_engine: str = Field(
        default="", description="Without a SearXNG instance: the id of a Google Programmable Search Engine."
    )
    google_search_key: SecretStr = Field(default=SecretStr(""), description="API key of the Google search engine.")

    web_allow: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts that pages may be fetched from (example.org, *.example.org), by commas; empty: any.",
    )
    web_deny: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Hosts and networks from which nothing is fetched."
    )
    web_inside: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Hosts and networks outside the public internet that pages may be fetched from.",
    )
    web_per_second: float = Field(
        default=10, ge=0, description="Requests per second to one host on the web; 0: no limit."
    )

    models: SecretStr = Field(
        default=SecretStr(""),
        description="Model endpoints and roles as YAML or JSON, or a file of that; `off`: no models at all.",
    )
    model: str = Field(default="", description="Model name, if the endpoint is configured by OPENAI_API_KEY alone.")

    host: str = Field(
        default="127.0.0.1", description="Address on which the gateway listens; beyond loopback, API keys are required."
    )
    port: int = Field(default=8080, ge=0, le=65535, description="Port on which the gateway listens.")
    api_keys: Annotated[dict[str, tuple[SecretStr, ...]], NoDecode] = Field(
        default_factory=dict,
        description="API keys as name:role:key, separated by commas; roles are client, editor and operator. A name may "
        "have several keys, all of which are valid.",
    )
    idempotency_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Secret (16+ characters) from which an Idempotency-Key's question id is derived, the same for all "
        "gateways; empty: one that the first gateway makes and keeps in NATS.",
    )
    openai_sources: bool = Field(
        default=False,
        description="List the numbered sources below the text in replies of the OpenAI API, for clients that show no "
        "annotations.",
    )
    default_pipeline: str = Field(default="default", description="Pipeline of questions that name none.")
    admission_seconds: float = Field(
        default=15,
        ge=0,
        description="Questions are refused while the oldest waiting one is older than this, in seconds; 0: never.",
    )
    streams_per_key: int = Field(
        default=200,
        ge=0,
        description="Streams (SSE, NDJSON) that one API key may have open at a gateway; 0: no limit.",
    )
    max_body_bytes: int = Field(
        default=1_000_000, gt=0, description="Largest HTTP request body in bytes, except for documents."
    )
    max_document_bytes: int = Field(
        default=64 * 2**20, gt=0, description="Largest document that may be uploaded, in bytes."
    )

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    otlp_endpoint: str = Field(
        default="", description="URL of an OpenTelemetry collector (OTLP over HTTP); empty: no traces."
    )

    @field_validator("api_keys", mode="before")
    @classmethod
    def _read_keys(cls, value: object) -> object:
        """`alice:operator:s3cret,web:client:t0ken,web:client:n3w` -> {"web:client": ("t0ken", "n3w"), ...}."""
        if isinstance(value, dict):
            return {label: (key,) if isinstance(key, str | SecretStr) else key for label, key in value.items()}
        if not isinstance(value, str):
            return value
        keys: dict[str, tuple[SecretStr, ...]] = {}
        for entry in filter(None, (part.strip() for part in value.split(","))):
            name, _, rest = entry.partition(":")
            role, _, key = rest.partition(":")
            if role not in ("client", "editor", "operator") or len(key) < 16:
                raise ValueError(
                    "each API key is name:role:key with role client, editor or operator and 16+ characters"
                )
            label = f"{name}:{role}"
            keys[label] = (*keys.get(label, ()), SecretStr(key))
        return keys

    @field_validator("idempotency_secret")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < 16:
            raise ValueError("must have at least 16 characters, or be empty")
        return value

    @field_validator("web_allow", "web_deny", "web_inside", mode="before")
    @classmethod
    def _read_hosts(cls, value: object) -> object:
        """`example.org, *.example.org` -> ("example.org", "*.example.org")."""
        return host_list(value) if isinstance(value, str | list | tuple) else value

    @field_validator("models", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        """Keep a mapping from the YAML file as (secret) text, because it contains API keys."""
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
