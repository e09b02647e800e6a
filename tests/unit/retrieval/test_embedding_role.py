"""The role `embed` gives retrieval its vectors where no endpoint of its own is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.retrieval.embeddings import create_embeddings
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings
from tests.support.model_server import ModelServer


def models(kind: str, url: str) -> str:
    endpoint = f"{{name: v, kind: {kind}, base_url: '{url}', model: vectors, api_key: k-1, api_version: '1'}}"
    return f"{{endpoints: [{endpoint}], roles: {{embed: [v]}}}}"


async def test_endpoint_of_the_role_embeds(tmp_path: Path) -> None:
    with ModelServer() as server:
        settings = Settings(data_dir=tmp_path, models=models("openai-compatible", server.url))  # type: ignore[arg-type]
        embeddings = create_embeddings(settings)
        assert embeddings is not None
        await embeddings.open()
        near, far = await embeddings.first.of_passages(["a dog barks", "tax forms"])
        asked = await embeddings.first.of_question("the dog barks")
        await embeddings.close()

    def likeness(vector: object) -> float:
        return sum(a * b for a, b in zip(asked, vector, strict=True))  # type: ignore[call-overload,misc]

    assert likeness(near) > likeness(far)
    assert {one.headers["authorization"] for one in server.asked} == {"Bearer k-1"}


def test_key_alone_embeds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")

    assert create_embeddings(Settings(data_dir=tmp_path)) is None


def test_endpoint_that_cannot_embed_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, models=models("azure", "http://127.0.0.1:1"))  # type: ignore[arg-type]

    with pytest.raises(ConfigurationError, match="role embed"):
        create_embeddings(settings)
