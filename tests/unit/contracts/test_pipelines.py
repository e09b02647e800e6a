"""Pipeline documents: read whole from files, typed per stage, and exact about what does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from shared.contracts.domain import PipelineRef
from shared.contracts.errors import PipelineError
from shared.contracts.pipelines import Pipeline, Section, Sections
from shared.runtime.pipelines import check_pipeline, read_pipeline
from shared.stores.memory import MemoryPipelines


class Voice(Section):
    """How it sounds."""

    tone: str = "friendly"
    volume: int = Field(default=3, ge=0)


class Manners(Section):
    greeting: str = "Hello"
    words: tuple[str, ...] = ()
    voice: Voice = Voice()


KINDS: dict[str, type[Section] | None] = {"moderation": Manners, "answer": None}


def written(folder: Path, text: str, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pipeline.yaml").write_text(text, "utf-8")
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content, "utf-8")
    return folder


def test_a_document_is_read_with_one_section_per_stage(tmp_path: Path) -> None:
    folder = written(tmp_path, "name: town\ndescription: For the town.\nmoderation:\n  greeting: Hi\nanswer:\n")

    pipeline = read_pipeline(folder)

    assert (pipeline.name, pipeline.description) == ("town", "For the town.")
    assert pipeline.sections == {"moderation": {"greeting": "Hi"}, "answer": {}}


def test_a_document_without_a_name_is_called_like_its_folder(tmp_path: Path) -> None:
    assert read_pipeline(written(tmp_path / "harbour", "moderation: {}")).name == "harbour"


def test_neighbouring_files_are_pulled_in_whole_or_by_lines(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        "moderation:\n  greeting: !file hello.txt\n  words: !lines lexicon.txt\n",
        hello="Good day,\nstranger.\n",
        lexicon="# not these\nbroom\n\n  café  \n",
    )

    section = read_pipeline(folder).section("moderation", Manners)

    assert section.greeting == "Good day,\nstranger.\n"
    assert section.words == ("broom", "café")


def test_a_table_is_pulled_in_as_what_its_yaml_holds(tmp_path: Path) -> None:
    folder = written(tmp_path, "moderation:\n  words: !yaml words.txt\n", words="- broom\n- café\n")

    assert read_pipeline(folder).sections["moderation"] == {"words": ["broom", "café"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("moderation:\n  words: !yaml ../secret.txt\n", "lies outside the pipeline's folder"),
        ("moderation:\n  greeting: !file ../secret.txt\n", "lies outside the pipeline's folder"),
        ("moderation:\n  greeting: !file /etc/hostname\n", "lies outside the pipeline's folder"),
        ("moderation:\n  greeting: !file none.txt\n", "No such file"),
        ("moderation: [a, b]\n", "moderation: expected a mapping"),
        ("- moderation\n", "expected a mapping with one key per stage"),
        ("moderation: {\n", "pipeline.yaml: while parsing"),
        ("moderation: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
    ],
)
def test_a_file_that_does_not_hold_is_an_error_that_says_where(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = written(tmp_path / "town", text)

    with pytest.raises(PipelineError, match=message) as raised:
        read_pipeline(folder)
    assert "\n" not in str(raised.value)


def test_a_folder_without_a_document_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"pipeline\.yaml: No such file"):
        read_pipeline(tmp_path)


def test_what_a_section_leaves_out_has_the_defaults() -> None:
    pipeline = Pipeline(name="town", sections={"moderation": {"voice": {"volume": 1}}})

    section = pipeline.section("moderation", Manners)

    assert section == Manners(voice=Voice(tone="friendly", volume=1))
    assert pipeline.section("answer", Manners) == Manners()


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"greetings": "Hi"}, "pipeline town: moderation.greetings: Extra inputs are not permitted"),
        ({"voice": {"volume": -1}}, "pipeline town: moderation.voice.volume: Input should be greater"),
        ({"words": 5}, "pipeline town: moderation.words: Input should be"),
    ],
)
def test_a_key_that_does_not_fit_is_named_by_its_place(section: dict[str, object], message: str) -> None:
    pipeline = Pipeline(name="town", sections={"moderation": section})

    with pytest.raises(PipelineError, match=f"^{message}"):
        pipeline.section("moderation", Manners)
    with pytest.raises(PipelineError, match=f"^{message}"):
        check_pipeline(pipeline, KINDS)


def test_a_section_for_a_stage_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(PipelineError, match="no stage is called moderator; stages: answer, moderation"):
        check_pipeline(Pipeline(name="town", sections={"moderator": {}}), KINDS)


def test_a_document_that_holds_passes() -> None:
    check_pipeline(Pipeline(name="town", sections={"moderation": {"greeting": "Hi"}, "answer": {"any": 1}}), KINDS)


KEYS = st.text(min_size=1, max_size=8)
SECTIONS = st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers() | st.text() | st.booleans()), max_size=5)


@given(KEYS, SECTIONS)
def test_equal_documents_are_equal_bytes_and_read_back_as_they_were(
    name: str, sections: dict[str, dict[str, object]]
) -> None:
    pipeline = Pipeline(name=name, sections=sections)
    otherwise = Pipeline(name=name, sections=dict(reversed(sections.items())))

    assert pipeline.encode() == otherwise.encode()
    assert Pipeline.decode(pipeline.encode()) == pipeline


async def test_a_section_is_read_and_validated_once_per_revision() -> None:
    source = MemoryPipelines()
    reads: list[PipelineRef] = []

    class Counted:
        def current(self, name: str) -> PipelineRef | None:
            return source.current(name)

        def names(self) -> list[str]:
            return source.names()

        async def pipeline(self, ref: PipelineRef) -> Pipeline:
            reads.append(ref)
            return await source.pipeline(ref)

    first = source.apply("town", {"moderation": {"greeting": "Hi"}})
    second = source.apply("town", {"moderation": {"greeting": "Good day"}})
    sections = Sections(Counted())

    seen = [await sections.section(ref, "moderation", Manners) for ref in (first, second, first, second)]

    assert [section.greeting for section in seen] == ["Hi", "Good day", "Hi", "Good day"]
    assert seen[0] is seen[2]
    assert reads == [first, second]


def test_sections_cannot_be_changed_by_whoever_reads_them() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Manners().greeting = "Bye"  # type: ignore[misc]


class Memory(Section):
    turns: int = 5


MEMORIES: dict[str, type[Section] | None] = {"gateway": Memory, "persistence": Memory}


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"persistence": {"turns": 12}}, "persistence.turns: 12 earlier turns need gateway.turns: 12, which is 5"),
        ({"gateway": {"turns": 12}}, "gateway.turns: 12 earlier turns need persistence.turns: 12, which is 5"),
        ({"gateway": {"turns": 3}, "persistence": {"turns": 4}}, "persistence.turns: 4 earlier turns need gateway"),
    ],
)
def test_turns_that_another_setting_would_cap_silently_are_an_error(
    sections: dict[str, dict[str, int]], message: str
) -> None:
    with pytest.raises(PipelineError, match=message):
        check_pipeline(Pipeline(name="town", sections=sections), MEMORIES)


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"gateway": {"turns": 12}, "persistence": {"turns": 12}},
        {"gateway": {"turns": 2}},
        {"persistence": {"turns": 2}},
        {"gateway": {"turns": 0}, "persistence": {"turns": 12}},
        {"gateway": {"turns": 12}, "persistence": {"turns": 0}},
    ],
)
def test_turns_that_fit_or_that_are_off_pass(sections: dict[str, dict[str, int]]) -> None:
    check_pipeline(Pipeline(name="town", sections=sections), MEMORIES)
