"""Pipelines: a named, revisioned document with one section per stage."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One stage's part of a pipeline: typed and frozen; an unknown key is an error, so that a typo is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")
