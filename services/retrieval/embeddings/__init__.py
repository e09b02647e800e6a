"""Texts to vectors: an endpoint or a model in this process, behind one cache."""

from __future__ import annotations

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import Embedder
from shared.contracts.errors import ConfigurationError
from shared.llm.settings import NO_KEY, OPENAI_URL, EndpointSettings
from shared.runtime.settings import Settings


def create_embeddings(settings: Settings) -> Embeddings | None:
    """An endpoint when a URL is set, a model in this process when only a model is, else the role `embed`, else None.

    Raises:
        ConfigurationError: a URL without a model name, or an endpoint for the role that cannot embed.
    """
    embedder: Embedder
    role = settings.model_endpoints.of("embed")
    if settings.embed_url:
        if not settings.embed_model:
            raise ConfigurationError("ANSWERBUS_EMBED_URL needs ANSWERBUS_EMBED_MODEL: the name of its model")
        key = settings.embed_api_key.get_secret_value()
        embedder = _endpoint(settings.embed_url, settings.embed_model, key)
    elif settings.embed_model:
        from services.retrieval.embeddings.local import LocalEmbedder

        embedder = LocalEmbedder(settings.embed_model)
    elif role:
        embedder = _for_role(role[0])
    else:
        return None
    return Embeddings(embedder, settings.data_dir / "retrieval" / "embeddings.sqlite")


def _for_role(endpoint: EndpointSettings) -> Embedder:
    if endpoint.kind not in ("openai", "openai-compatible"):
        raise ConfigurationError(
            f"ANSWERBUS_MODELS: role embed: endpoint {endpoint.name} is of kind {endpoint.kind}; "
            "it takes one of kind openai or openai-compatible"
        )
    key = "" if endpoint.key == NO_KEY else endpoint.key
    return _endpoint(endpoint.base_url or OPENAI_URL, endpoint.model, key)


def _endpoint(url: str, model: str, key: str) -> Embedder:
    from services.retrieval.embeddings.endpoint import EndpointEmbedder

    return EndpointEmbedder(url, model, key)
