"""Whether and how a model reads documents for the graph."""

from __future__ import annotations

from pydantic import Field

from services.retrieval.indexing.extraction.prompts import EXTRACT
from shared.contracts.pipelines import Section


class ExtractionSettings(Section):
    """Extraction by the model that plays `fast`, when a document is indexed."""

    model: bool = Field(
        default=False, description="Whether a model names entities and relations too, beside those found by rule."
    )
    batch_chars: int = Field(
        default=3000, ge=200, le=20_000, description="So many characters of passages are read in one call."
    )
    max_calls: int = Field(default=100, ge=1, description="The rest of a longer document is left to the rules.")
    concurrency: int = Field(default=4, ge=1, le=64, description="Calls under way at once for a document.")
    seconds: float = Field(default=300.0, gt=0, description="A document is not read by the model for longer.")
    prompt: str = Field(default=EXTRACT, min_length=1, description="What the model is told.")
