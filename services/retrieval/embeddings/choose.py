"""Which embedder the process settings ask for, if any."""

from __future__ import annotations

from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.ports import Embedder
from shared.contracts.errors import ConfigurationError
from shared.llm.settings import NO_KEY, OPENAI_URL, EndpointSettings
from shared.runtime.settings import Settings


def embeddings_of(settings: Settings) -> Embeddings | None:
    """An endpoint where a URL is set, a model in this process where only a model is, else the role `embed`, or none.

    Raises:
        ConfigurationError: a URL without the name of a model, or a role played by an endpoint that cannot.
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
        embedder = _playing(role[0])
    else:
        return None
    return Embeddings(embedder, settings.data_dir / "retrieval" / "embeddings.sqlite")


def _playing(endpoint: EndpointSettings) -> Embedder:
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
