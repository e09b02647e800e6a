"""The control socket of `up`: one line asks, one answers, for nobody but its user."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.errors import ConfigurationError, RefusedError, UnavailableError
from shared.operations.control_socket import NAME, ControlSocket, send_command


async def doubled(request: dict[str, Any]) -> dict[str, Any]:
    if request["number"] < 0:
        raise ConfigurationError("numbers from 0")
    return {"number": request["number"] * 2}


@pytest.mark.parametrize("depth", [0, 12], ids=["short path", "longer than a socket's address may be"])
async def test_who_asks_is_answered_and_only_the_user_may_ask(tmp_path: Path, depth: int) -> None:
    folder = tmp_path.joinpath(*["a-folder-name"] * depth)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("left by one that was killed")
    control = ControlSocket(folder, doubled)
    await control.open()
    try:
        mode = stat.S_IMODE((folder / NAME).stat().st_mode)
        replies = [await send_command(folder, {"number": number}) for number in (1, 21)]
        with pytest.raises(RefusedError, match="numbers from 0"):
            await send_command(folder, {"number": -1})
    finally:
        await control.close()

    assert mode == 0o600
    assert [reply["number"] for reply in replies] == [2, 42]
    assert not (folder / NAME).exists()


async def test_where_nothing_runs_the_line_says_what_to_start(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="none runs there"):
        await send_command(tmp_path, {})
