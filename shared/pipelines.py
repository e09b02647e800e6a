"""Pipelines: a named, revisioned document with one section per stage, read from files, kept in the key-value store.

A file may pull in its neighbours: `!file prompts/system.md` stands for the text of a file, `!lines lexicons/en.txt`
for its lines (blank ones and `#` comments left out). Both are read at `check` and `apply`, so that what is stored is
whole.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared import subjects
from shared.domain import PipelineRef
from shared.errors import PipelineError

S = TypeVar("S", bound="Section")

#: Keys of a document that are not stages.
HEADING = ("name", "description", "project_introduction")


class Section(BaseModel):
    """One stage's part of a pipeline: typed and frozen; an unknown key is an error, so that a typo is found."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PromptedSection(Section):
    """The section of a stage that asks models; see `shared.models.prompts.assemble`."""

    project_introduction: str = Field(
        default="",
        description="Who is answering whom about what, told to every model; empty: the pipeline's own, from its head.",
    )


class Pipeline(BaseModel):
    """A pipeline document: its name, what every model is told of the project, and the raw sections by stage."""

    model_config = ConfigDict(frozen=True)

    name: str
    description: str = ""
    project_introduction: str = ""
    sections: dict[str, dict[str, Any]] = {}

    def section(self, stage: str, kind: type[S]) -> S:
        """The stage's section, typed; what the document leaves out has the section's defaults.

        Raises:
            PipelineError: naming the key that does not fit.
        """
        given = self.sections.get(stage, {})
        if issubclass(kind, PromptedSection) and self.project_introduction:
            given = {"project_introduction": self.project_introduction, **given}
        try:
            return kind.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(map(str, (stage, *first["loc"])))
            raise PipelineError(f"pipeline {self.name}: {place}: {first['msg']}") from None

    def encode(self) -> bytes:
        """Canonical bytes: equal documents are equal bytes."""
        return json.dumps(self.model_dump(), sort_keys=True, ensure_ascii=False).encode()

    @classmethod
    def decode(cls, data: bytes) -> Pipeline:
        return cls.model_validate_json(data)


class PipelineSource(Protocol):
    """Where workers get pipelines from."""

    def current(self, name: str) -> PipelineRef | None:
        """The newest revision of that name, or None when there is no such pipeline."""

    def names(self) -> list[str]:
        """Every pipeline there is, in alphabetical order."""

    async def pipeline(self, ref: PipelineRef) -> Pipeline:
        """The document of exactly that revision.

        Raises:
            PipelineError: when it is not kept any more, or never was.
        """


class Sections:
    """Typed sections by pipeline revision, each validated once per process."""

    def __init__(self, source: PipelineSource) -> None:
        self._source = source
        self._cache: dict[tuple[str, int, str], Section] = {}

    async def section(self, ref: PipelineRef, stage: str, kind: type[S]) -> S:
        key = (ref.name, ref.revision, stage)
        if key not in self._cache:
            self._cache[key] = (await self._source.pipeline(ref)).section(stage, kind)
        return self._cache[key]  # type: ignore[return-value]


def is_candidate(name: str) -> bool:
    """Whether a pipeline is only tried out in replays; no question of an asker is answered by it."""
    return name.startswith(subjects.CANDIDATE_PREFIX)


def read_pipeline(folder: Path) -> Pipeline:
    """Read `<folder>/pipeline.yaml` (or the file itself) and what it pulls in.

    Raises:
        PipelineError: no such file, not YAML, a reference out of the folder, or a section that is no mapping.
    """
    path = folder if folder.is_file() else folder / "pipeline.yaml"
    folder = path.parent
    try:
        document = yaml.load(path.read_text("utf-8"), _loader(folder))  # noqa: S506 (a SafeLoader with two tags)
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise PipelineError(f"{path}: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise PipelineError(f"{path}: expected a mapping with one key per stage")
    sections = {key: value or {} for key, value in document.items() if key not in HEADING}
    for stage, section in sections.items():
        if not isinstance(section, dict):
            raise PipelineError(f"{path}: {stage}: expected a mapping of settings")
    name = str(document.get("name") or folder.name)
    texts = {key: str(document.get(key) or "") for key in HEADING if key != "name"}
    return Pipeline(name=name, sections=sections, **texts)


def with_setting(pipeline: Pipeline, given: str) -> Pipeline:
    """The document with one more setting: `answer.temperature=0`; the value is YAML.

    Raises:
        PipelineError: it is not STAGE.KEY=VALUE.
    """
    place, equals, text = given.partition("=")
    stage, *keys = place.split(".")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    if not equals or not stage or not keys or not all(keys):
        raise PipelineError(f"--set {given[:60]}: expected STAGE.KEY=VALUE, such as answer.temperature=0")
    sections = json.loads(json.dumps(pipeline.sections))
    inner = sections.setdefault(stage, {})
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise PipelineError(f"--set {given[:60]}: {key} is no mapping in pipeline {pipeline.name}")
    inner[keys[-1]] = value
    return pipeline.model_copy(update={"sections": sections})


def check_pipeline(pipeline: Pipeline, kinds: dict[str, type[Section] | None]) -> None:
    """Validate every section against its stage.

    Raises:
        PipelineError: the first thing that does not hold.
    """
    unknown = sorted(set(pipeline.sections) - set(kinds))
    if unknown:
        raise PipelineError(
            f"pipeline {pipeline.name}: no stage is called {unknown[0]}; stages: {', '.join(sorted(kinds))}"
        )
    for stage, kind in kinds.items():
        if kind is not None:
            pipeline.section(stage, kind)


def _loader(folder: Path) -> type[yaml.SafeLoader]:
    class Loader(yaml.SafeLoader):
        """YAML with `!file` and `!lines`."""

    def neighbour(node: yaml.Node) -> str:
        path = (folder / str(node.value)).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise PipelineError(f"{folder.name}: {node.value} lies outside the pipeline's folder")
        try:
            return path.read_text("utf-8")
        except OSError as error:
            raise PipelineError(f"{folder.name}: {node.value}: {error.strerror}") from None

    def lines(node: yaml.Node) -> list[str]:
        stripped = (line.strip() for line in neighbour(node).splitlines())
        return [line for line in stripped if line and not line.startswith("#")]

    Loader.add_constructor("!file", lambda _, node: neighbour(node))
    Loader.add_constructor("!lines", lambda _, node: lines(node))
    return Loader
