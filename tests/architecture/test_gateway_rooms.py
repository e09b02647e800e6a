"""The gateway in rooms: each imports only those before it, and only the last ones know HTTP."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT, Module, modules

#: From the ground up.
ROOMS = (
    "routing",
    "settings",
    "limits",
    "streaming",
    "access",
    "asking",
    "crawling",
    "operators",
    "http",
    "protocols",
    "routes",
    "server",
    "app",
)
#: Where an error may be made with a status; elsewhere it is one of `shared.contracts.errors`.
WITH_STATUS = re.compile(r"services/gateway/(http/|routes/|protocols/\w+/routes\.py)")


def gateway() -> list[Module]:
    return [module for module in modules() if module.path.startswith("services/gateway/")]


def room(dotted: str) -> str:
    return dotted.split(".")[2] if dotted.startswith("services.gateway.") else ""


def test_every_room_of_the_gateway_has_its_place() -> None:
    assert {room(module.dotted) for module in gateway()} - {""} == set(ROOMS)


def test_no_room_of_the_gateway_imports_one_above_it() -> None:
    up = {
        (module.path, name)
        for module in gateway()
        for name in module.imports
        if room(module.dotted) and room(name) and ROOMS.index(room(name)) > ROOMS.index(room(module.dotted))
    }

    # The server imports the routes, and the wiring the server, when they open.
    assert up == set()


def test_protocols_do_not_import_one_another() -> None:
    found = set()
    for module in gateway():
        own = module.dotted.split(".")[2:4]
        for name in module.imports:
            other = name.split(".")[2:4]
            if own[0:1] == ["protocols"] and other[0:1] == ["protocols"] and own[1:] != other[1:]:
                found.add((module.path, name))

    assert found == set()


def test_at_most_four_files_of_the_gateway_are_in_no_room() -> None:
    loose = sorted(path.name for path in (ROOT / "services" / "gateway").glob("*.py"))

    assert len(loose) <= 4, loose


def test_use_cases_raise_errors_without_a_status() -> None:
    found = {module.path for module in gateway() if "HttpProblem(" in module.text}

    assert {path for path in found if not WITH_STATUS.match(path)} == set()
