"""What several subcommands of `evaluate` share: the pipeline option and the temporary index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shared.contracts.pipelines import Pipeline
    from shared.runtime.settings import Settings

PipelineFolder = Annotated[Path | None, typer.Option(help="Folder of a pipeline whose settings apply.")]


def read_pipeline_option(folder: Path | None, stage: str = "", changes: Mapping[str, Any] | None = None) -> Pipeline:
    """The pipeline in the folder, or one of defaults, with other values for some settings of a stage."""
    from shared.contracts.pipelines import Pipeline
    from shared.runtime.pipelines import read_pipeline

    pipeline = read_pipeline(folder) if folder else Pipeline(name="default")
    return with_settings(pipeline, stage, changes) if changes is not None else pipeline


def with_settings(pipeline: Pipeline, stage: str, changes: Mapping[str, Any]) -> Pipeline:
    """A copy of the pipeline with other values for some settings of a stage."""
    section = {**pipeline.sections.get(stage, {}), **changes}
    return pipeline.model_copy(update={"sections": {**pipeline.sections, stage: section}})


@contextmanager
def index_settings(data: Path | None) -> Iterator[Settings]:
    """Settings for an embedded index under `data`, or in a folder that is deleted afterwards."""
    import tempfile
    from contextlib import nullcontext

    from answerbus_lab.evaluation.retrieval import embedded_settings

    temporary = tempfile.TemporaryDirectory(prefix="answerbus-evaluate-") if data is None else nullcontext(str(data))
    with temporary as folder:
        yield embedded_settings(Path(folder))
