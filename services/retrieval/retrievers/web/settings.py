"""The search engines of the web that a platform has: `ANSWERBUS_SEARCH_ENGINES` (YAML, JSON, or a path)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError, model_validator

from shared.contracts.errors import ConfigurationError, first_fault
from shared.text.urls import well_formed

VARIABLE = "ANSWERBUS_SEARCH_ENGINES"
#: The parts of a result, and what a result calls them unless the settings say otherwise.
FIELDS = {"url": "url", "title": "title", "text": "text", "date": "date"}


class SearchEngineSettings(BaseModel):
    """One search engine, by the name under which pipelines and requests know it.

    `searxng` is an instance at `url`. `google` is the Programmable Search Engine `engine` with its key. `json` is any
    other that answers GET with JSON: `url` has `{query}`, and where wanted `{language}` (two letters), `{limit}` and
    `{key}` (else a key is sent as a bearer token); `results` is the path to the list of results (`data.items`), and
    `result_fields` says what a result calls its `url`, `title`, `text` and `date`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=40, pattern=r"^[\w.-]+$")
    kind: Literal["searxng", "google", "json"]
    url: str = ""
    engine: str = ""
    key: SecretStr = SecretStr("")
    key_env: str = ""
    results: str = "results"
    result_fields: dict[str, str] = {}

    @property
    def secret(self) -> str:
        """The API key: `key`, else the environment variable `key_env`."""
        return self.key.get_secret_value() or os.environ.get(self.key_env, "")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind == "google":
            if not self.engine or not (self.key.get_secret_value() or self.key_env):
                raise ValueError(f"search engine {self.name}: kind google needs an engine and a key (or key_env)")
        elif not well_formed(self.url.replace("{", "").replace("}", "")):
            raise ValueError(f"search engine {self.name}: kind {self.kind} needs a url that begins with https://")
        unknown = sorted(set(self.result_fields) - set(FIELDS))
        if unknown:
            raise ValueError(f"search engine {self.name}: result_fields: {unknown[0]} is none of {', '.join(FIELDS)}")
        if self.kind == "json" and "{query}" not in self.url:
            raise ValueError(f"search engine {self.name}: its url must contain {{query}}, which the question replaces")
        return self


_ENGINES = TypeAdapter(tuple[SearchEngineSettings, ...])


def read_engines(text: str) -> tuple[SearchEngineSettings, ...]:
    """The engines in their order; none for an empty text.

    Raises:
        ConfigurationError: the text is not valid; the message never has a key.
    """
    if not text.strip():
        return ()
    try:
        named = Path(text)
        inline = "\n" in text or text.lstrip().startswith(("[", "-"))
        given = yaml.safe_load(text if inline else named.read_text("utf-8"))
        engines = _ENGINES.validate_python(given)
    except OSError as error:
        raise ConfigurationError(f"{VARIABLE}: {error.strerror}: {text[:200]}") from None
    except yaml.YAMLError:
        raise ConfigurationError(f"{VARIABLE} is not valid YAML or JSON") from None
    except ValidationError as error:
        raise ConfigurationError(f"{VARIABLE}: {first_fault(error)}") from None
    names = [engine.name for engine in engines]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{VARIABLE}: two search engines have the same name")
    return engines
