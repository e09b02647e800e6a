"""The health of the gateway as text for probes and as JSON for programs, and who a key belongs to."""

from __future__ import annotations

from tests.unit.gateway.harness import running_gateway

JSON = {"Accept": "application/json"}


async def test_health_is_text_or_json_with_the_same_status() -> None:
    async with running_gateway() as here:
        text, data = await here.http.get("/health"), await here.http.get("/api/v1/health", headers=JSON)
        here.bus.log.unavailable = True
        here.gateway.stage_health._until = 0.0
        bad_text, bad_data = await here.http.get("/health"), await here.http.get("/health", headers=JSON)

    assert (text.status_code, text.text) == (200, "ok\n")
    assert (data.status_code, data.json()) == (200, {"status": "ok", "detail": ""})
    assert (bad_text.status_code, bad_text.text) == (503, "NATS is unavailable\n")
    assert bad_data.json() == {"status": "unavailable", "detail": "NATS is unavailable"}


async def test_key_reads_its_own_name_and_role() -> None:
    async with running_gateway(api_keys="ed:editor:editor-key-0123456789") as here:
        reply = await here.http.get("/api/v1/caller", headers={"X-API-Key": "editor-key-0123456789"})
        unknown = await here.http.get("/api/v1/caller")

    assert reply.json() == {"name": "ed", "role": "editor", "tenant": "default"}
    assert unknown.status_code == 401
