"""For which tenant a request is: what keys, claims and the header say together."""

from __future__ import annotations

import pytest

from services.gateway.access.auth import in_tenant
from services.gateway.access.caller import Caller
from services.gateway.access.oidc import TokenVerifier
from shared.contracts.errors import ForbiddenError
from shared.contracts.tenants import TENANT_HEADER
from shared.runtime.settings import Settings
from tests.support.issuer import Issuer, issuer_server
from tests.unit.gateway.harness import running_gateway

KNOWN = ("town", "acme", "beta")
KEYS = "one:operator:one-key-0123456789a,two:client:two-key-0123456789a,all:operator:all-key-0123456789a"
TENANTS = {"tenant": "town", "tenants": "acme,beta", "key_tenants": "two:acme,two:beta,all:*"}


@pytest.mark.parametrize(
    ("own", "wanted", "tenant", "every"),
    [
        (("acme",), "", "acme", False),
        (("acme",), "acme", "acme", False),
        (("acme", "beta"), "beta", "beta", False),
        (("gone", "beta"), "", "beta", False),
        (("*",), "", "town", True),
        (("*",), "acme", "acme", False),
    ],
)
def test_request_is_for_the_tenant_that_it_names_or_the_only_one(
    own: tuple[str, ...], wanted: str, tenant: str, every: bool
) -> None:
    caller = in_tenant(Caller("web", "operator", tenants=own), KNOWN, wanted)
    assert (caller.tenant, caller.every_tenant, caller.seen_tenant) == (tenant, every, "" if every else tenant)


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ((), ""),
        (("gone",), ""),
        (("gone",), "gone"),
        (("acme",), "beta"),
        (("acme",), "*"),
        (("acme", "beta"), ""),
        (("*",), "gone"),
        (("*",), "*"),
    ],
)
def test_request_for_a_tenant_that_the_caller_does_not_have_is_refused(own: tuple[str, ...], wanted: str) -> None:
    with pytest.raises(ForbiddenError):
        in_tenant(Caller("web", "client", tenants=own), KNOWN, wanted)


def test_on_a_platform_of_one_tenant_every_operator_is_one_of_all_and_no_client_sees_more_than_its_tenant() -> None:
    operator, client = (
        in_tenant(Caller("a", role, tenants=("town",)), ("town",), "") for role in ("operator", "client")
    )
    assert (operator.seen_tenant, client.seen_tenant) == ("", "town")


async def test_a_key_is_of_its_tenants_and_without_any_of_the_platforms_own() -> None:
    async with running_gateway(api_keys=KEYS, **TENANTS) as here:
        found = []
        for name, header in (("one", ""), ("two", "beta"), ("two", ""), ("all", ""), ("all", "acme"), ("one", "acme")):
            headers = {"Authorization": f"Bearer {name}-key-0123456789a", **({TENANT_HEADER: header} if header else {})}
            reply = await here.http.get("/api/v1/caller", headers=headers)
            found.append(reply.json()["tenant"] if reply.status_code == 200 else reply.status_code)
    assert found == ["town", "beta", 403, "town", "acme", 403]


async def test_without_keys_a_caller_on_this_machine_names_the_tenant() -> None:
    async with running_gateway(tenants="acme") as here:
        for header, tenant in (("", "default"), ("acme", "acme")):
            reply = await here.http.get("/api/v1/caller", headers={TENANT_HEADER: header} if header else {})
            assert reply.json()["tenant"] == tenant


@pytest.mark.parametrize(
    ("claim", "header", "expected"),
    [
        ("acme", "", "acme"),
        (["acme", "beta"], "beta", "beta"),
        (["acme", "beta"], "", 403),
        ("acme", "beta", 403),
        (None, "", 403),
        ("nobody", "", 403),
        ("*", "", 403),
        (["*"], "acme", 403),
        (7, "", 403),
    ],
)
async def test_a_token_is_of_the_tenants_that_its_claim_names_and_of_no_other(
    claim: object, header: str, expected: str | int
) -> None:
    with issuer_server() as issuer:
        settings = {**issuer.settings, **TENANTS, "oidc_tenant_claim": "org", "api_keys": KEYS}
        async with running_gateway(**settings) as here:
            token = issuer.token(**({} if claim is None else {"org": claim}))
            headers = {"Authorization": f"Bearer {token}", **({TENANT_HEADER: header} if header else {})}
            reply = await here.http.get("/api/v1/caller", headers=headers)
    assert (reply.json()["tenant"] if reply.status_code == 200 else reply.status_code) == expected


async def test_a_token_is_of_the_platforms_own_tenant_where_no_claim_is_configured() -> None:
    with issuer_server() as issuer:
        caller = await _verified(issuer)
    assert caller.tenants == ("town",)


async def _verified(issuer: Issuer) -> Caller:
    verifier = TokenVerifier(Settings(**issuer.settings, **TENANTS))
    return await verifier.caller(issuer.token(org="acme"))


async def test_anonymous_session_is_of_the_platforms_own_tenant() -> None:
    async with running_gateway(api_keys=KEYS, **TENANTS, anonymous_session_seconds=60) as here:
        token = (await here.http.post("/api/v1/sessions")).json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        asked = await here.http.post("/api/v1/questions", json={"question": "When?"}, headers=headers)
        assert {event.tenant for event in here.bus.history(asked.json()["id"])} == {"town"}
        named = await here.http.post(
            "/api/v1/questions", json={"question": "When?"}, headers={**headers, TENANT_HEADER: "acme"}
        )
        assert named.status_code == 403
