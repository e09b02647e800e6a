"""Which embedder the process settings ask for, if any."""

from __future__ import annotations

from services.retrieval.embed.embeddings import Embeddings
from services.retrieval.ports import Embedder
from shared.errors import ConfigurationError
from shared.settings import Settings


def embeddings_of(settings: Settings) -> Embeddings | None:
    """An endpoint where a URL is set, a model in this process where only a model is, else none.

    Raises:
        ConfigurationError: a URL without the name of a model.
    """
    embedder: Embedder
    if settings.embed_url:
        if not settings.embed_model:
            raise ConfigurationError("ANSWERBUS_EMBED_URL needs ANSWERBUS_EMBED_MODEL: the name of its model")
        from services.retrieval.embed.endpoint import EndpointEmbedder

        key = settings.embed_api_key.get_secret_value()
        embedder = EndpointEmbedder(settings.embed_url, settings.embed_model, key)
    elif settings.embed_model:
        from services.retrieval.embed.local import LocalEmbedder

        embedder = LocalEmbedder(settings.embed_model)
    else:
        return None
    return Embeddings(embedder, settings.data_dir / "retrieval" / "embeddings.sqlite")
