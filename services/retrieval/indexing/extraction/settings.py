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
    prompt: str = Field(default=EXTRACT, min_length=1, description="System prompt of the model.")
