"""A crew of CrewAI over the models and tools of this stage; the only module that imports CrewAI."""

from __future__ import annotations

from typing import Any

from crewai import Agent, BaseLLM, Crew, Process, Task
from crewai.tools import BaseTool
from pydantic import BaseModel, PrivateAttr, create_model

from services.answer.engines.crew_run import CrewRun, synthesis
from services.answer.ports import AnswerTask
from services.answer.prompts import language_name, passage_blocks
from services.answer.tool_executor import Gathered
from services.answer.tools.crew_tools import ENOUGH
from shared.contracts.errors import ModelError
from shared.llm.ports import Message
from shared.llm.prompt_blocks import DATA_RULES, block

#: The most calls of an agent's model for one task.
_STEPS = 4
_AUTHORS: dict[str, Any] = {"system": "system", "assistant": "assistant"}
#: Name, goal and story of each agent, in the order in which they work.
PLANNER = (
    "Research Planner",
    "Decompose the question into 1 to 4 focused sub-questions that each stand by themselves.",
    "You plan research in a knowledge base. You do not answer.",
)
RETRIEVER = (
    "Knowledge Retriever",
    "Find the passages that answer every sub-question.",
    "You search documents and follow the links of their knowledge graph. You never invent a passage.",
)
SYNTHESIZER = (
    "Answer Synthesizer",
    "Write a cited answer from the passages alone.",
    "You write answers in which every sentence rests on a passage.",
)
EVALUATOR = (
    "Quality Evaluator",
    f"Judge whether the answer is relevant, grounded and complete; {ENOUGH} is enough.",
    "You check answers before anybody relies on them.",
)


class BusModel(BaseLLM):  # type: ignore[misc]
    """The role `main` as a model of CrewAI; its agents call tools in text, which every model can do."""

    _run: CrewRun = PrivateAttr()

    @classmethod
    def over(cls, run: CrewRun) -> BusModel:
        """The model of this run."""
        model = cls(model="main")
        model._run = run
        return model

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        """The reply to a text or a list of messages."""
        if isinstance(messages, str):
            return self._run.say([Message(author="user", text=messages)])
        told = [Message(author=_AUTHORS.get(one["role"], "user"), text=str(one["content"] or "")) for one in messages]
        return self._run.say(told)

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000


class BusTool(BaseTool):  # type: ignore[misc]
    """A tool of the stage as a tool of CrewAI."""

    _crew: CrewRun = PrivateAttr()

    def _run(self, **arguments: Any) -> str:
        return self._crew.use(self.name, arguments)


class ResearchCrew:
    """Four agents and their tasks, each with the results of those before it."""

    @staticmethod
    def work(task: AnswerTask, run: CrewRun, gathered: Gathered) -> str:
        """The answer as the Answer Synthesizer wrote it; runs in a thread of its own.

        Raises:
            ModelError: no model answers, or the crew ends without an answer.
        """
        model = BusModel.over(run)
        planner, retriever, synthesizer, evaluator = (
            _agent(model, PLANNER),
            _agent(model, RETRIEVER, *_tools(run, "hybrid_search", "graph_expansion")),
            _agent(model, SYNTHESIZER),
            _agent(model, EVALUATOR, *_tools(run, "evaluate_answer")),
        )
        question = block("question", task.question.text, limit=10_000, language=language_name(task.question))
        corrected = block("feedback", task.feedback, limit=2000) if task.feedback else ""
        plan = Task(
            description=_told(DATA_RULES, "Plan the research for this question.", question, corrected),
            expected_output="1 to 4 sub-questions, one per line.",
            agent=planner,
        )
        shown = passage_blocks(task.passages, task.settings.max_passage_chars)
        retrieval = Task(
            description=_told(
                DATA_RULES,
                "These passages were found for the question. Search for what they do not answer, then name the numbers "
                "of the passages that answer each sub-question.",
                question,
                shown,
            ),
            expected_output="For each sub-question the numbers of its passages.",
            agent=retriever,
            context=[plan],
        )
        writing = Task(
            description=synthesis(task, gathered),
            expected_output="The answer, in exactly the form that is described.",
            agent=synthesizer,
            context=[plan, retrieval],
        )
        # Passages that were found meanwhile have numbers, too.
        retrieval.callback = lambda _: setattr(writing, "description", synthesis(task, gathered))
        evaluation = Task(
            description=_told(DATA_RULES, "Evaluate the answer to this question with your tool.", question),
            expected_output="The score, and in one sentence what is missing.",
            agent=evaluator,
            context=[writing],
        )
        crew = Crew(
            agents=[planner, retriever, synthesizer, evaluator],
            tasks=[plan, retrieval, writing, evaluation],
            process=Process.sequential,
            memory=False,
            cache=False,
            verbose=False,
            tracing=False,
        )
        try:
            crew.kickoff()
        except ModelError:
            raise
        except Exception as error:  # a library of others: whatever it raises, the question has another way
            raise ModelError(f"the crew failed: {type(error).__name__}") from error
        if writing.output is None or not writing.output.raw.strip():
            raise ModelError("the crew ended without an answer")
        return str(writing.output.raw)


def _told(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _agent(model: BusModel, about: tuple[str, str, str], *tools: BusTool) -> Agent:
    role, goal, story = about
    return Agent(
        role=role,
        goal=goal,
        backstory=story,
        llm=model,
        tools=list(tools),
        max_iter=_STEPS,
        max_retry_limit=0,
        allow_delegation=False,
        verbose=False,
        cache=False,
    )


def _tools(run: CrewRun, *names: str) -> list[BusTool]:
    tools = []
    for one in run.tools:
        if one.name in names:
            tool = BusTool(name=one.name, description=one.description, args_schema=_schema(one.name, one.parameters))
            tool._crew = run
            tools.append(tool)
    return tools


def _schema(name: str, parameters: dict[str, Any]) -> type[BaseModel]:
    """The arguments of a tool, all of them texts, as CrewAI wants them; the tool itself checks them again."""
    fields: dict[str, Any] = dict.fromkeys(parameters["properties"], (str, ...))
    model: type[BaseModel] = create_model(f"{name}_arguments", **fields)
    return model
