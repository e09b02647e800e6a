"""Embeddings over the official client: the vectors of the model with which documents are searched."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio
from langchain_openai import OpenAIEmbeddings

from services.gateway.protocols.openai.embeddings import MAX_INPUTS
from shared.contracts.requests.retrieval import VECTOR_CHARS, VECTOR_TEXTS
from tests.support.faces import KEYS, Faces, running_faces
from tests.support.tiny_onnx import write_model

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORDS = {"tax": [1.0, 0.0, 0.0], "form": [0.0, 1.0, 0.0], "dog": [-1.0, 0.0, 0.5]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faces(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    root = tmp_path_factory.mktemp("embeddings")
    write_model(root / "tiny", WORDS)
    async with running_faces(root / "data", process={"embed_model": str(root / "tiny")}) as running:
        yield running


def client_of(faces: Faces, name: str = "web") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{faces.url}/v1", api_key=KEYS[name][1], max_retries=0)


def close_to(vector: list[float], expected: list[float]) -> bool:
    length = math.hypot(*expected) or 1.0
    return all(abs(one - other / length) < 1e-6 for one, other in zip(vector, expected, strict=True))


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
async def test_vectors_are_those_of_the_model_in_either_encoding(faces: Faces, encoding: Any) -> None:
    options = {} if encoding is None else {"encoding_format": encoding}
    texts = ["tax", "form form", "tax form"]
    reply = await client_of(faces).embeddings.create(model="answerbus", input=texts, **options)

    assert [one.index for one in reply.data] == [0, 1, 2]
    assert reply.model.startswith("tiny@")
    assert reply.usage.prompt_tokens == reply.usage.total_tokens > 0
    vectors: list[Any] = [one.embedding for one in reply.data]
    if encoding == "base64":  # as it was asked for, the client leaves it as it came
        assert all(isinstance(vector, str) for vector in vectors)
        return
    assert close_to(vectors[0], WORDS["tax"])
    assert close_to(vectors[1], WORDS["form"])
    assert close_to(vectors[2], [0.5, 0.5, 0.0])


async def test_more_texts_than_one_batch_come_back_in_their_order(faces: Faces) -> None:
    texts = ["dog" if number % 3 else f"tax {number}" for number in range(2 * VECTOR_TEXTS + 5)]
    client = client_of(faces)
    reply = await client.embeddings.create(model="answerbus", input=texts)
    one = await client.embeddings.create(model=reply.model, input="dog", dimensions=3)

    assert len(reply.data) == len(texts)
    assert [entry.embedding == one.data[0].embedding for entry in reply.data] == [text == "dog" for text in texts]


@pytest.mark.parametrize(
    ("body", "param", "says"),
    [
        ({"input": [[1, 2, 3]]}, "input[0]", "tokens"),
        ({"input": [1, 2, 3]}, "input[0]", "tokens"),
        ({"input": []}, "input", f"1 to {MAX_INPUTS}"),
        ({"input": ["tax"] * (MAX_INPUTS + 1)}, "input", f"1 to {MAX_INPUTS}"),
        ({"input": ["tax", " "]}, "input[1]", "blank"),
        ({"input": "a" * (VECTOR_CHARS + 1)}, "input", str(VECTOR_CHARS)),
        ({"input": "tax", "dimensions": 2}, "dimensions", "3 numbers"),
        ({"input": "tax", "encoding_format": "int8"}, "encoding_format", "base64"),
    ],
)
async def test_what_cannot_be_embedded_is_refused_in_the_form_of_the_api(
    faces: Faces, body: dict[str, Any], param: str, says: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=says) as refused:
        await client_of(faces).post("/embeddings", body={"model": "answerbus", **body}, cast_to=object)

    assert refused.value.param == param


async def test_embeddings_of_another_model_are_not_found(faces: Faces) -> None:
    with pytest.raises(openai.NotFoundError, match="tiny@"):
        await client_of(faces).embeddings.create(model="text-embedding-3-small", input="tax")


async def test_langchain_embeds_texts_and_a_query_alike(faces: Faces) -> None:
    model = OpenAIEmbeddings(
        model="answerbus",
        base_url=f"{faces.url}/v1",
        api_key=KEYS["web"][1],  # type: ignore[arg-type]
        check_embedding_ctx_length=False,
    )

    assert (await model.aembed_documents(["form"]))[0] == await model.aembed_query("form")


async def test_platform_without_a_model_says_how_to_get_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with running_faces(tmp_path_factory.mktemp("none")) as none:
        with pytest.raises(openai.NotFoundError, match="ANSWERBUS_EMBED_MODEL"):
            await client_of(none).embeddings.create(model="answerbus", input="tax")
