"""The `retrieval` section of a pipeline."""

from __future__ import annotations

from pydantic import Field, model_validator

from shared.pipelines import Section


class RetrievalSettings(Section):
    """How passages are looked for and how documents are cut."""

    passages: int = Field(default=6, ge=1, le=20, description="How many passages an answer is written from, at most.")
    per_source: int = Field(default=3, ge=1, description="How many of them may come from one document.")
    candidates: int = Field(default=30, ge=1, le=200, description="How many are fetched from the index to choose from.")
    max_passage_chars: int = Field(
        default=2000, ge=100, le=8000, description="A longer passage is cut at the end of a sentence, in characters."
    )
    duplicate_share: float = Field(
        default=0.9, gt=0, le=1, description="Two passages sharing this share of their words are the same one."
    )
    collections: tuple[str, ...] = Field(default=(), description="Search these collections only; empty: all.")
    chunk_chars: int = Field(
        default=512, ge=100, le=8000, description="Documents are cut to about this many characters."
    )
    chunk_overlap: int = Field(
        default=50, ge=0, description="Whole sentences up to this many characters are repeated in the next passage."
    )

    @model_validator(mode="after")
    def _overlap_fits(self) -> RetrievalSettings:
        if self.chunk_overlap * 2 > self.chunk_chars:
            raise ValueError("chunk_overlap may be half of chunk_chars at most")
        return self
