"""Two tenants of one platform as their callers see them, over HTTP and by commands, before and after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.platform import cli, running

pytestmark = pytest.mark.e2e

KEYS = {
    "acme": "acme-key-0123456789",
    "beta": "beta-key-0123456789",
    "boss": "boss-key-0123456789",
}
ENV = {
    "ANSWERBUS_API_KEYS": ",".join(f"{name}:operator:{key}" for name, key in KEYS.items()),
    "ANSWERBUS_TENANTS": "acme,beta",
    "ANSWERBUS_KEY_TENANTS": "acme:acme,beta:beta,boss:*",
}
QUESTION = "How much is the rent of a garden plot?"
RENT = {"acme": "forty", "beta": "ninety"}


def told(url: str, name: str, *, tenant: str = "") -> dict[str, Any]:
    """What this key is told when it asks, in a conversation of the same id for all."""
    headers = {"Authorization": f"Bearer {KEYS[name]}", **({"Answerbus-Tenant": tenant} if tenant else {})}
    with httpx.Client(base_url=url, headers=headers, timeout=90, trust_env=False) as http:
        asked = http.post("/api/v1/query", json={"question": QUESTION, "conversation_id": "talk", "language": "en"})
        foreign = http.get("/api/v1/caller", headers={"Answerbus-Tenant": "beta" if name == "acme" else "acme"})
        assert foreign.status_code == (200 if name == "boss" else 403)
    body: dict[str, Any] = asked.raise_for_status().json()
    return body


def env_of(name: str) -> dict[str, str]:
    return {"ANSWERBUS_API_KEY": KEYS[name]}


def test_each_tenant_is_answered_from_its_own_documents_also_after_a_restart(tmp_path: Path) -> None:
    questions: dict[str, str] = {}
    for start in range(2):
        with running(tmp_path / "data", "--in-process", env=ENV) as up:
            for tenant, rent in RENT.items():
                if not start:
                    folder = tmp_path / tenant
                    folder.mkdir()
                    text = f"# Garden\n\nThe rent of a garden plot is {rent} euros. Plots are rented for one year.\n"
                    (folder / "garden.md").write_text(text, "utf-8")
                    ingested = cli("ingest", str(folder), "--url", up.url, env=env_of(tenant))
                    assert ingested.returncode == 0, ingested.stderr
                body = told(up.url, tenant)
                content = body["result"]["answer"]["content"]
                assert [one in content for one in RENT.values()] == [one == rent for one in RENT.values()]
                questions.setdefault(tenant, body["id"])
            with httpx.Client(base_url=up.url, timeout=60, trust_env=False) as http:
                for tenant, other in (("acme", "beta"), ("beta", "acme")):
                    headers = {"Authorization": f"Bearer {KEYS[tenant]}"}
                    for path in ("questions", "events", "exchanges"):
                        reply = http.get(f"/api/v1/{path}/{questions[other]}", headers=headers)
                        assert (reply.status_code, RENT[other] in reply.text) == (404, False), path
                    assert http.get("/metrics", headers=headers).status_code == 403

            listed = cli("--tenant", "beta", "documents", "list", "--json", "--url", up.url, env=env_of("boss"))
            assert (listed.returncode, "garden.md" in listed.stdout) == (0, True), listed.stderr
            listed = cli("documents", "list", "--json", "--url", up.url, env=env_of("boss"))
            assert (listed.returncode, "garden.md" in listed.stdout) == (0, False), listed.stderr
            refused = cli("--tenant", "beta", "documents", "list", "--url", up.url, env=env_of("acme"))
            assert (refused.returncode, "Answerbus-Tenant" in refused.stderr) == (1, True)
            assert RENT["beta"] in told(up.url, "boss", tenant="beta")["result"]["answer"]["content"]
