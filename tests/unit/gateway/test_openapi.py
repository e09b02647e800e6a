"""The OpenAPI document says what the server does: real replies fit its schemas, errors have their own form."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.unit.gateway.harness import CID, RunningGateway, run, running_gateway

Document = dict[str, Any]


async def document_of(here: RunningGateway) -> Document:
    document: Document = (await here.http.get("/openapi.json")).json()
    return document


def schema_of(document: Document, method: str, path: str, status: str) -> Document:
    responses = document["paths"][path][method]["responses"]
    content = responses.get(status, responses["default"])["content"]
    (schema,) = (one["schema"] for one in content.values())
    return {**schema, "components": document["components"]}


async def test_every_operation_has_a_name_of_its_own_and_says_how_it_fails() -> None:
    async with running_gateway() as here:
        document = await document_of(here)

    operations = [(path, one) for path, methods in document["paths"].items() for one in methods.values()]
    names = [one["operationId"] for _, one in operations]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    for path, one in operations:
        (error,) = one["responses"]["default"]["content"].values()
        assert error["schema"]["$ref"].endswith("/OpenAIProblem" if path.startswith("/v1/") else "/Problem")
        assert "422" not in one["responses"]
        assert ("security" in one) == (path.rsplit("/", 1)[1] not in ("livez", "readyz", "health", "login"))


async def test_examples_are_valid() -> None:
    async with running_gateway() as here:
        document = await document_of(here)

    shown = 0
    for schema in document["components"]["schemas"].values():
        for example in [*schema.get("examples", ()), *([schema["example"]] if "example" in schema else ())]:
            jsonschema.validate(example, {**schema, "components": document["components"]})
            shown += 1
    assert shown >= 3


@pytest.mark.parametrize("whole", [True, False], ids=["answered", "withdrawn"])
async def test_replies_about_a_question_fit_the_document(whole: bool) -> None:
    question = f"/api/v1/questions/{CID}"
    async with running_gateway() as here:
        document = await document_of(here)
        await here.publish(*run("At nine.", "At eight.")[: None if whole else 1])
        requests: list[tuple[str, str, str, Any]] = [
            ("post", "/api/v1/questions", "/api/v1/questions", {"question": "When?"}),
            ("get", "/api/v1/questions/{question_id}", question, None),
            ("post", "/api/v1/questions/{question_id}/stream-ticket", f"{question}/stream-ticket", None),
            ("delete", "/api/v1/questions/{question_id}", question, None),
            ("get", "/api/v1/questions/{question_id}", question, None),
            ("post", "/api/v1/questions/{question_id}/feedback", f"{question}/feedback", {"rating": "up"}),
            ("post", "/api/v1/questions", "/api/v1/questions", {"question": " "}),
            ("get", "/api/v1/questions/{question_id}", f"/api/v1/questions/{'0' * 32}", None),
            ("post", "/v1/chat/completions", "/v1/chat/completions", {"messages": []}),
        ]
        for method, path, url, body in requests:
            reply = await here.http.request(method, url, json=body)
            jsonschema.validate(reply.json(), schema_of(document, method, path, str(reply.status_code)))
            assert reply.status_code != 500
