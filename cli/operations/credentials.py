"""`answerbus bus credentials`: an nkey for each service, and the server's file of users and permissions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from shared.bus.credentials import SUFFIX
from shared.contracts.errors import ConfigurationError
from shared.contracts.stage import Stage
from shared.runtime.permissions import INJECTOR, OPERATOR, Permissions, users
from shared.runtime.settings import Settings

#: The file that the configuration of the NATS server includes.
USERS_FILE = "users.conf"
#: A service may publish one reply to each request, within this time.
RESPONSES = '{ max: 1, expires: "1m" }'


@dataclass(frozen=True)
class IssuedUser:
    """A user with its public key and the file of its seed; `action` is `new`, `rotated` or `kept`."""

    user: str
    public_key: str
    seed_file: Path
    action: str


def issue_embedded(settings: Settings, stages: Sequence[Stage]) -> Path:
    """Issue the users of the embedded server and make this process its operator; returns the server's file of users.

    Raises:
        ConfigurationError: the data directory cannot be written.
    """
    seeds = seeds_of(settings.data_dir)
    issue(seeds, stages)
    settings.nats_seed = SecretStr(str(seeds))
    return seeds / USERS_FILE


def settings_for_user(settings: Settings, user: str) -> Settings:
    """The settings for a process that logs in as this user; unchanged if there is no folder of seeds."""
    folder = settings.nats_seed.get_secret_value()
    if not folder or not Path(folder).is_dir():
        return settings
    return settings.model_copy(update={"nats_seed": SecretStr(str(Path(folder) / f"{user}{SUFFIX}"))})


def seeds_of(data_dir: Path) -> Path:
    """The folder of the embedded server's seeds."""
    return data_dir / "nats" / "credentials"


def issue(out: Path, stages: Sequence[Stage], *, rotate: Sequence[str] = ()) -> list[IssuedUser]:
    """Write a seed (mode 0600) per user, keeping existing ones, and the server's file of users.

    `rotate` names users that get a new seed; the old one is invalid once the server has reloaded the file.

    Raises:
        ConfigurationError: an unknown user, or the folder cannot be written.
    """
    permitted = users(stages)
    unknown = sorted(set(rotate) - set(permitted))
    if unknown:
        raise ConfigurationError(f"unknown user {unknown[0]}; users: {', '.join(permitted)}")
    try:
        out.mkdir(parents=True, exist_ok=True, mode=0o700)
        issued = [_issued(out, user, user in rotate) for user in permitted]
        _replace(out / USERS_FILE, server_file(permitted, {one.user: one.public_key for one in issued}), 0o644)
    except OSError as error:
        raise ConfigurationError(f"{out}: {error.strerror}") from None
    return issued


def server_file(permitted: Mapping[str, Permissions], keys: Mapping[str, str]) -> str:
    """The `authorization` block of the server's configuration: every user by its public key, with its permissions."""
    blocks = [_user(name, permissions, keys[name]) for name, permissions in permitted.items()]
    head = "# Written by `answerbus bus credentials` from the declarations of the stages; it contains no secrets.\n"
    return f"{head}authorization {{\n  users: [\n{''.join(blocks)}  ]\n}}\n"


def _user(name: str, permissions: Permissions, key: str) -> str:
    responses = "" if name in (OPERATOR, INJECTOR) else f"        allow_responses: {RESPONSES}\n"
    return (
        f"    # {name}\n    {{\n      nkey: {key}\n      permissions: {{\n"
        f"        publish: {{ allow: {json.dumps(permissions.publish)} }}\n"
        f"        subscribe: {{ allow: {json.dumps(permissions.subscribe)} }}\n"
        f"{responses}      }}\n    }}\n"
    )


def _issued(out: Path, user: str, rotate: bool) -> IssuedUser:
    path = out / f"{user}{SUFFIX}"
    known = None if rotate or not path.exists() else _public_key(path)
    if known:
        return IssuedUser(user, known, path, "kept")
    action = "rotated" if path.exists() else "new"
    import nkeys

    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode()
    _replace(path, f"# user: {user}\n{seed}\n", 0o600)
    return IssuedUser(user, _public_key(path), path, action)


def _public_key(path: Path) -> str:
    import nkeys

    seed = next((line for line in path.read_text("utf-8").split() if line.startswith("SU")), "")
    try:
        key: str = nkeys.from_seed(bytearray(seed, "ascii")).public_key.decode()
    except (nkeys.NkeysError, ValueError):
        raise ConfigurationError(f"{path} does not contain a seed; delete the file to get a new one") from None
    return key


def _replace(path: Path, text: str, mode: int) -> None:
    """Write a temporary file and rename it, so that no one reads a partial file, or a seed with a wider mode."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
