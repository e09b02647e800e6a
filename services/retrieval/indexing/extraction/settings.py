"""Settings of extraction: `retrieval.extraction` of a pipeline."""

from __future__ import annotations

from pydantic import Field

from services.retrieval.indexing.extraction.prompts import EXTRACT
from shared.contracts.pipelines import Section


class ExtractionSettings(Section):
    """Extraction of entities and relations by the model in the role `fast`, when a document is indexed."""

    model: bool = Field(
        default=False, description="Whether a model extracts entities and relations, in addition to the rules."
    )
    batch_chars: int = Field(default=3000, ge=200, le=20_000, description="Characters of passages per model call.")
    max_calls: int = Field(
        default=100, ge=1, description="Maximum model calls per document; the rest is left to the rules."
    )
    concurrency: int = Field(default=4, ge=1, le=64, description="Concurrent model calls per document.")
    seconds: float = Field(default=300.0, gt=0, description="Time limit of extraction per document, in seconds.")
    prompt: str = Field(default=EXTRACT, min_length=1, description="System prompt of the model.")
