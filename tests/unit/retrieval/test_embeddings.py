"""Texts to vectors: the endpoint, the model in this process, and the cache in front of them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import httpx2
import pytest

from services.retrieval.embeddings import create_embeddings
from services.retrieval.embeddings.embedder import Embeddings
from services.retrieval.embeddings.endpoint import EndpointEmbedder
from services.retrieval.embeddings.local import LocalEmbedder
from shared.contracts.errors import ConfigurationError, UnavailableError
from shared.runtime.settings import Settings
from tests.support.tiny_onnx import write_model


class CountingEmbedder:
    """Plays `Embedder`: a text's vector is its length; dies after `lives` calls, and gives `dimension` numbers."""

    name = "counting"

    def __init__(self, dimension: int = 2, lives: int = 1000) -> None:
        self.dimension = dimension
        self.lives = lives
        self.asked: list[str] = []

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if not self.lives:
            raise UnavailableError("the model is away")
        self.lives -= 1
        self.asked += texts
        return [[float(len(text))] * self.dimension for text in texts]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Callable[[CountingEmbedder], Embeddings]]:
    made: list[Embeddings] = []

    def make(embedder: CountingEmbedder) -> Embeddings:
        made.append(Embeddings(embedder, tmp_path / "cache" / "embeddings.sqlite"))
        return made[-1]

    yield make
    for one in made:
        await one.close()


Make = Callable[[CountingEmbedder], Embeddings]


async def test_passages_are_embedded_once_also_after_a_restart(opened: Make) -> None:
    # Given embedded passages
    first = opened(CountingEmbedder())
    await first.open()
    assert [list(vector) for vector in await first.of_passages(["a", "bb", "a"])] == [[1, 1], [2, 2], [1, 1]]
    # When another process asks for them and a new one
    embedder = CountingEmbedder()
    second = opened(embedder)
    await second.open()
    vectors = await second.of_passages(["bb", "ccc"])
    # Then the model is asked for the new one only
    assert [list(vector) for vector in vectors] == [[2, 2], [3, 3]]
    assert embedder.asked == ["ccc"]


async def test_passages_continue_where_the_model_failed(opened: Make) -> None:
    # Given a model that dies after its first batch
    embedder = CountingEmbedder(lives=1)
    embeddings = opened(embedder)
    await embeddings.open()
    texts = [f"text {number}" for number in range(100)]
    with pytest.raises(UnavailableError):
        await embeddings.of_passages(texts)
    done = len(embedder.asked)
    # When it is back
    embedder.lives = 10
    vectors = await embeddings.of_passages(texts)
    # Then it is asked for the rest only
    assert 0 < done < 100
    assert len(embedder.asked) == len(vectors) == 100


async def test_vector_of_another_length_is_refused_with_what_to_do(opened: Make) -> None:
    # Given passages embedded with two numbers
    first = opened(CountingEmbedder(dimension=2))
    await first.open()
    await first.of_passages(["a"])
    # When the model of that name gives three
    second = opened(CountingEmbedder(dimension=3))
    await second.open()
    with pytest.raises(ConfigurationError, match=r"3 numbers instead of 2: .*ANSWERBUS_EMBED_MODEL"):
        await second.of_passages(["b"])
    with pytest.raises(ConfigurationError):
        await second.of_question("b")


async def test_question_is_embedded_once(opened: Make) -> None:
    embedder = CountingEmbedder()
    embeddings = opened(embedder)
    await embeddings.open()
    assert await embeddings.of_question("why") == await embeddings.of_question("why")
    assert embedder.asked == ["why"]


# --- the endpoint ---


def _endpoint(answer: Callable[[httpx2.Request], httpx2.Response], *, tries: int = 3) -> EndpointEmbedder:
    return EndpointEmbedder(
        "http://models.test/v1", "tiny", "secret", waits=[0.0] * (tries - 1), transport=httpx2.MockTransport(answer)
    )


def _reply(*vectors: Sequence[float]) -> httpx2.Response:
    rows = [{"index": number, "embedding": list(vector)} for number, vector in enumerate(vectors)]
    return httpx2.Response(200, json={"data": rows[::-1]})


async def test_endpoint_speaks_the_openai_api_and_may_reply_in_any_order() -> None:
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return _reply([1, 0], [0, 1])

    embedder = _endpoint(answer)
    await embedder.open()
    assert await embedder.embed(["a", "b"]) == [[1, 0], [0, 1]]
    await embedder.close()
    assert str(seen[0].url) == "http://models.test/v1/embeddings"
    assert seen[0].headers["authorization"] == "Bearer secret"
    assert json.loads(seen[0].content) == {"model": "tiny", "input": ["a", "b"]}


async def test_busy_endpoint_is_retried() -> None:
    answers = [httpx2.Response(503), httpx2.Response(429), _reply([1, 0])]
    embedder = _endpoint(lambda _: answers.pop(0))
    await embedder.open()
    assert await embedder.embed(["a"]) == [[1, 0]]
    await embedder.close()


@pytest.mark.parametrize(
    ("response", "kind", "told"),
    [
        (httpx2.Response(503), UnavailableError, "answered 503"),
        (httpx2.Response(401), ConfigurationError, "ANSWERBUS_EMBED_API_KEY"),
        (httpx2.Response(404), ConfigurationError, "ANSWERBUS_EMBED_URL"),
        (httpx2.Response(200, text="<html>"), UnavailableError, "did not answer with JSON"),
        (httpx2.Response(200, json={"data": []}), UnavailableError, "0 vectors for 1 texts"),
        (httpx2.Response(200, json={"data": [{"index": 0}]}), UnavailableError, "without vectors"),
    ],
)
async def test_errors_of_the_endpoint_are_converted(
    response: httpx2.Response, kind: type[Exception], told: str
) -> None:
    embedder = _endpoint(lambda _: response, tries=2)
    await embedder.open()
    with pytest.raises(kind, match=told):
        await embedder.embed(["a"])
    await embedder.close()


async def test_unreachable_endpoint_is_unavailable() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    embedder = _endpoint(refuse, tries=1)
    await embedder.open()
    with pytest.raises(UnavailableError, match="is unavailable: ConnectError"):
        await embedder.embed(["a"])
    await embedder.close()


# --- the model in this process ---


async def test_local_model_gives_mean_pooled_normalised_vectors(tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="the extra `embed` is not installed")
    # Given a folder with a model of three words
    write_model(tmp_path / "tiny", {"tax": [1, 0], "form": [0, 1], "dog": [-1, 0]})
    embedder = LocalEmbedder(str(tmp_path / "tiny"))
    # When texts are embedded
    await embedder.open()
    form, dog = await embedder.embed(["tax form", "dog"])
    await embedder.close()
    # Then near words have near vectors, and the model goes by its content
    assert form == pytest.approx([0.5**0.5, 0.5**0.5], abs=1e-5)
    assert dog == pytest.approx([-1, 0], abs=1e-5)
    assert embedder.name.startswith("tiny@")


async def test_local_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="the extra `embed` is not installed")
    with pytest.raises(ConfigurationError, match=r"contains neither model\.onnx"):
        await LocalEmbedder(str(tmp_path)).open()


async def test_local_model_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(ConfigurationError, match=r"answerbus\[embed\]"):
        await LocalEmbedder("some/model").open()


# --- which one ---


def test_embeddings_are_chosen_by_settings(tmp_path: Path) -> None:
    assert create_embeddings(Settings(data_dir=tmp_path)) is None
    endpoint = create_embeddings(Settings(data_dir=tmp_path, embed_url="http://models.test/v1", embed_model="m"))
    assert endpoint is not None
    assert endpoint.names == ("m",)
    several = create_embeddings(Settings(data_dir=tmp_path, embed_url="http://models.test/v1", embed_model="m, n"))
    assert several is not None
    assert (several.first.name, several.names) == ("m", ("m", "n"))
    assert create_embeddings(Settings(data_dir=tmp_path, embed_model="BAAI/bge-small-en-v1.5")) is not None
    with pytest.raises(ConfigurationError, match="ANSWERBUS_EMBED_MODEL"):
        create_embeddings(Settings(data_dir=tmp_path, embed_url="http://models.test/v1"))
