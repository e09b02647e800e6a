"""Who is let in: keys with roles, and without keys this machine alone."""

from __future__ import annotations

from datetime import datetime

import pytest
from pydantic import ValidationError

from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.http.state import gateway_of
from services.gateway.server.http_server import HttpServer
from shared.contracts.errors import ConfigurationError
from shared.runtime.settings import Settings
from tests.support.memory_bus import MemoryBus
from tests.unit.gateway.harness import running_gateway

KEYS = "web:client:client-key-0123456789,ed:editor:editor-key-0123456789,ops:operator:operator-key-012345"
CLIENT, EDITOR, OPERATOR = "client-key-0123456789", "editor-key-0123456789", "operator-key-012345"
#: A route of each role, as method and path, without anything to find there.
ROUTES = {"client": ("GET", "/api/v1/pipelines"), "editor": ("POST", "/api/v1/ingest"), "operator": ("GET", "/metrics")}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    ("key", "may"),
    [(CLIENT, {"client"}), (EDITOR, {"client", "editor"}), (OPERATOR, {"client", "editor", "operator"})],
)
async def test_a_key_opens_the_routes_of_its_role_and_of_those_below(key: str, may: set[str]) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        for role, (method, path) in ROUTES.items():
            reply = await here.http.request(method, path, headers=bearer(key))

            assert (reply.status_code == 403) is (role not in may)
            assert (reply.status_code != 403) or reply.json()["detail"].startswith(f"Send a key with the role {role}")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("another-key-0123456789"),
        bearer(""),
        {"Authorization": f"Basic {CLIENT}"},
        {"X-API-Key": "another-key-0123456789"},
        {"X-API-Key": ""},
    ],
)
async def test_without_a_valid_key_nobody_is_let_in(headers: dict[str, str]) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        reply = await here.http.get("/api/v1/pipelines", headers=headers)

    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.headers["content-type"] == MEDIA_TYPE
    assert "X-API-Key" in reply.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        bearer(CLIENT),
        {"Authorization": f"bearer  {CLIENT} "},
        {"X-API-Key": CLIENT},
        {"X-API-Key": CLIENT, "Authorization": "Basic d2Vi"},
    ],
)
async def test_a_key_is_taken_from_either_header(headers: dict[str, str]) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        assert (await here.http.get("/api/v1/pipelines", headers=headers)).status_code == 200


async def test_old_and_new_key_of_a_name_are_both_valid_while_it_rotates() -> None:
    new = "client-key-new-9876543210"
    async with running_gateway(api_keys=f"{KEYS},web:client:{new}") as here:
        for key in (CLIENT, new):
            reply = await here.http.post("/api/v1/questions", json={"question": "When?"}, headers=bearer(key))
            (event,) = here.bus.history(reply.json()["id"])
            assert event.payload.model_dump()["client"]["key"] == "web"
    async with running_gateway(api_keys=f"{KEYS},web:client:{new}".replace(f"web:client:{CLIENT},", "")) as here:
        statuses = [
            (await here.http.get("/api/v1/pipelines", headers=bearer(key))).status_code for key in (CLIENT, new)
        ]
    assert statuses == [401, 200]


async def test_a_question_remembers_the_name_of_the_key_and_not_the_key() -> None:
    async with running_gateway(api_keys=KEYS) as here:
        body = {"question": "When?", "client": {"key": "somebody else", "page": "/harbour"}}
        reply = await here.http.post("/api/v1/questions", json=body, headers=bearer(CLIENT))

        (event,) = here.bus.history(reply.json()["id"])
        assert event.payload.model_dump()["client"] == {"key": "web", "page": "/harbour"}
        assert CLIENT.encode() not in event.encode()


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/health", "/api/v1/health"])
async def test_probes_need_no_key(path: str) -> None:
    async with running_gateway(api_keys=KEYS) as here:
        assert (await here.http.get(path)).status_code == 200


@pytest.mark.parametrize("path", ["/readyz", "/health", "/api/v1/health"])
async def test_without_the_bus_the_gateway_is_not_ready_but_lives(path: str) -> None:
    async with running_gateway() as here:
        here.bus.log.unavailable = True

        assert (await here.http.get(path)).status_code == 503
        assert (await here.http.get("/livez")).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:8080", "[::1]", "[::1]:8080", "LOCALHOST"])
async def test_without_keys_everybody_on_this_machine_is_the_operator(host: str) -> None:
    async with running_gateway() as here:
        assert (await here.http.get("/metrics", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "answers.example.org"},
        {"Host": "127.0.0.1.example.org:8080"},
        {"Host": "localhost@example.org"},
        {"Host": "[::1"},
        {"Host": "localhost:anything"},
        {"Host": "localhost:80:80"},
        {"Host": "localhost/path"},
        {"Origin": "http://localhost:anything"},
        {"Origin": "http://user@localhost"},
        {"Origin": "chrome-extension://localhost"},
        {"Host": ""},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
    ],
)
async def test_without_keys_foreign_sites_are_turned_away(headers: dict[str, str]) -> None:
    async with running_gateway() as here:
        reply = await here.http.post("/api/v1/documents?source=kb:a", content=b"text", headers=headers)

        assert reply.status_code == 403
        assert here.bus.log.stored == []


async def test_without_keys_a_page_of_this_machine_may_call() -> None:
    async with running_gateway() as here:
        reply = await here.http.get("/api/v1/pipelines", headers={"Origin": "http://localhost:3000"})

    assert reply.status_code == 200


async def test_with_keys_any_name_may_lead_here() -> None:
    async with running_gateway(api_keys=KEYS) as here:
        headers = {**bearer(CLIENT), "Host": "answers.example.org", "Origin": "https://example.org"}

        assert (await here.http.get("/api/v1/pipelines", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("written", "moment", "status"),
    [
        ("@2027-01-31", "2027-01-31T23:59:59+00:00", 200),
        ("@2027-01-31", "2027-02-01T00:00:00+00:00", 401),
        ("@2027-01-31T12:00Z", "2027-01-31T11:59:59+00:00", 200),
        ("@2027-01-31T12:00Z", "2027-01-31T12:00:00+00:00", 401),
        ("@2027-01-31T12:00:30Z", "2027-01-31T12:00:29+00:00", 200),
        ("", "2999-01-01T00:00:00+00:00", 200),
    ],
)
async def test_a_key_with_a_date_is_valid_until_then(written: str, moment: str, status: int) -> None:
    async with running_gateway(api_keys=f"web:client:{CLIENT}{written},ops:operator:{OPERATOR}") as here:
        here.gateway.authenticator._clock = datetime.fromisoformat(moment).timestamp
        reply = await here.http.get("/api/v1/pipelines", headers=bearer(CLIENT))
        other = await here.http.get("/api/v1/pipelines", headers=bearer(OPERATOR))

    assert (reply.status_code, other.status_code) == (status, 200)
    if status == 401:
        assert reply.json()["detail"] == "This API key has expired; send its successor."
        assert reply.headers["www-authenticate"].startswith('Bearer error="invalid_token"')


async def test_a_key_rotates_by_date_without_a_moment_in_which_none_is_valid() -> None:
    new = "client-key-new-9876543210"
    keys = f"web:client:{CLIENT}@2027-01-31,web:client:{new}@2027-04-30"
    async with running_gateway(api_keys=keys) as here:
        for moment, expected in (("2027-01-15", [200, 200]), ("2027-02-15", [401, 200]), ("2027-05-15", [401, 401])):
            here.gateway.authenticator._clock = datetime.fromisoformat(f"{moment}T00:00+00:00").timestamp
            replies = [await here.http.get("/api/v1/pipelines", headers=bearer(key)) for key in (CLIENT, new)]
            assert [reply.status_code for reply in replies] == expected


async def test_the_date_is_no_part_of_the_key() -> None:
    async with running_gateway(api_keys=f"web:client:{CLIENT}@2999-01-31") as here:
        reply = await here.http.get("/api/v1/pipelines", headers=bearer(f"{CLIENT}@2999-01-31"))
    assert reply.status_code == 401


@pytest.mark.parametrize("written", ["@2027-02-30", "@2027-01-31T25:00Z", "@0000-01-01", "@9999-12-31"])
def test_a_date_that_does_not_exist_is_refused_at_the_start(written: str) -> None:
    with pytest.raises(ValidationError, match="date that does not exist"):
        Settings(api_keys=f"web:client:{CLIENT}{written}")  # type: ignore[arg-type]


def test_the_date_does_not_count_for_the_length_of_a_key() -> None:
    with pytest.raises(ValidationError, match="16"):
        Settings(api_keys="web:client:short@2027-01-31")  # type: ignore[arg-type]


async def started(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """Start a gateway for other machines, with its credentials as a compose file passes them on: empty if not set."""
    credentials = ("ANSWERBUS_API_KEYS", "ANSWERBUS_OIDC_ISSUER", "ANSWERBUS_OIDC_AUDIENCE")
    for name in credentials:
        monkeypatch.setenv(name, environment.get(name, ""))
    async with MemoryBus(settings=Settings(host="0.0.0.0", port=0)) as bus:
        server = HttpServer(gateway_of(bus.context()))
        await server.open()
        await server.close()


@pytest.mark.parametrize(
    "environment",
    [
        {"ANSWERBUS_API_KEYS": "web:client:client-key-0123456789"},
        {
            "ANSWERBUS_OIDC_ISSUER": "https://login.example.org",
            "ANSWERBUS_OIDC_AUDIENCE": "https://answers.example.org",
        },
    ],
)
async def test_gateway_starts_for_other_machines_with_keys_or_with_an_issuer_of_tokens(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    await started(monkeypatch, environment)


async def test_gateway_without_either_ends_and_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="ANSWERBUS_API_KEYS=name:role:key, or ANSWERBUS_OIDC_ISSUER"):
        await started(monkeypatch, {})


async def test_issuer_without_an_audience_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="oidc_audience"):
        await started(monkeypatch, {"ANSWERBUS_OIDC_ISSUER": "https://login.example.org"})
