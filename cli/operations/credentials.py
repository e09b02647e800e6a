"""`answerbus bus credentials`: an nkey for each service, and the server's file of accounts, users and permissions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from cli.host.seeds import USERS_FILE, seeds_of
from shared.bus.settings import SEED_SUFFIX
from shared.contracts.errors import ConfigurationError
from shared.contracts.stage import Stage
from shared.runtime.accounts import BUS, STREAMED, Account, accounts
from shared.runtime.permissions import Permissions, users
from shared.runtime.settings import Settings

#: Extension of the files with the public keys that were replaced and are still valid, one a line.
REPLACED = ".replaced"


@dataclass(frozen=True)
class IssuedUser:
    """A user with its public key and the file of its seed; `action` is `new`, `rotated` or `kept`.

    `replaced` are its earlier public keys that the server accepts as well, until a run with `finish`.
    """

    user: str
    public_key: str
    seed_file: Path
    action: str
    replaced: tuple[str, ...] = ()


def issue_embedded(settings: Settings, stages: Sequence[Stage]) -> Path:
    """Issue the users of the embedded server and make this process its operator; returns the server's file of users.

    Raises:
        ConfigurationError: the data directory cannot be written.
    """
    seeds = seeds_of(settings.data_dir)
    issue(seeds, stages, own_server=True)
    settings.nats_seed = SecretStr(str(seeds))
    return seeds / USERS_FILE


def issue(
    out: Path,
    stages: Sequence[Stage],
    *,
    rotate: Sequence[str] = (),
    finish: bool = False,
    owner: int | None = None,
    own_server: bool = False,
) -> list[IssuedUser]:
    """Write a seed (mode 0600) per user, keeping existing ones, and the server's file of users.

    `rotate` names users that get a new seed. Their old key stays valid, so that workers can change to the new one at
    any time, until a run with `finish`. `owner` is the user id that seeds belong to; a rotated seed keeps its owner.
    Any user of the machine may read the file of users, as a server may have its own user; with `own_server` it is
    for this user alone.

    Raises:
        ConfigurationError: an unknown user, or the folder or the owner of a file cannot be changed.
    """
    permitted = users(stages)
    unknown = sorted(set(rotate) - set(permitted))
    if unknown:
        raise ConfigurationError(f"unknown user {unknown[0]}; users: {', '.join(permitted)}")
    try:
        out.mkdir(parents=True, exist_ok=True, mode=0o700)
        (out / USERS_FILE).parent.mkdir(exist_ok=True)
        (out / USERS_FILE).parent.chmod(0o700 if own_server else 0o755)
        made = [_issued(out, user, rotate=user in rotate, finish=finish) for user in permitted]
        issued = [user for user, _ in made]
        keys = {login.user: (login.public_key, *login.replaced) for login in issued}
        # First the server's file: if this ends in between, the old seeds are still there and valid.
        _replace(out / USERS_FILE, server_file(permitted, keys), 0o600 if own_server else 0o644)
        for login, seed in made:
            _write_replaced(out, login)
            _write_seed(login, seed, owner)
    except OSError as error:
        raise ConfigurationError(f"{error.filename or out}: {error.strerror}") from None
    return issued


def server_file(permitted: Mapping[str, Permissions], keys: Mapping[str, Sequence[str]]) -> str:
    """The `accounts` block of the server's configuration, with every user by its public keys and its permissions."""
    blocks = "".join(_account(account, permitted, keys) for account in accounts(permitted))
    head = "# Written by `answerbus bus credentials` from the declarations of the stages; it contains no secrets.\n"
    return f"{head}accounts {{\n{blocks}}}\n"


def _account(account: Account, permitted: Mapping[str, Permissions], keys: Mapping[str, Sequence[str]]) -> str:
    users = [_user(name, permitted[name], key) for name in account.users for key in keys[name]]
    exports = [_export("service", subject, others) for subject, others in account.services.items()]
    exports += [_export("stream", subject, others) for subject, others in account.streams.items()]
    imports = [_import("service", owner, subject) for owner, subject in account.uses]
    imports += [_import("stream", owner, subject) for owner, subject in account.hears]
    jetstream = "    jetstream: enabled\n" if account.name == BUS else ""
    lists = {"users": users, "exports": exports, "imports": imports}
    body = "".join(f"    {name}: [\n{''.join(lines)}    ]\n" for name, lines in lists.items() if lines)
    return f"  {account.name} {{\n{jetstream}{body}  }}\n"


def _export(kind: str, subject: str, others: Sequence[str]) -> str:
    streamed = STREAMED.get(subject) if kind == "service" else None
    replies = f', response_type: stream, response_threshold: "{streamed}"' if streamed else ""
    return f"      {{ {kind}: {json.dumps(subject)}, accounts: {json.dumps(others)}{replies} }}\n"


def _import(kind: str, owner: str, subject: str) -> str:
    return f"      {{ {kind}: {{ account: {owner}, subject: {json.dumps(subject)} }} }}\n"


def _user(name: str, permissions: Permissions, key: str) -> str:
    return (
        f"      # {name}\n      {{\n        nkey: {key}\n        permissions: {{\n"
        f"          publish: {{ allow: {json.dumps(permissions.publish)} }}\n"
        f"          subscribe: {{ allow: {json.dumps(permissions.subscribe)} }}\n"
        f"        }}\n      }}\n"
    )


def _issued(out: Path, user: str, *, rotate: bool, finish: bool) -> tuple[IssuedUser, str]:
    """The user, and its seed if that is new and not written yet."""
    path = out / f"{user}{SEED_SUFFIX}"
    known = _public_key(path) if path.exists() else ""
    replaced = () if finish else _replaced_keys(out, user)
    if known and not rotate:
        return IssuedUser(user, known, path, "kept", replaced), ""
    import nkeys

    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER).decode()
    if known and not finish:
        replaced = (*replaced, known)
    return IssuedUser(user, _key_of(seed), path, "rotated" if known else "new", replaced), seed


def _replaced_keys(out: Path, user: str) -> tuple[str, ...]:
    path = out / f"{user}{REPLACED}"
    return tuple(path.read_text("utf-8").split()) if path.exists() else ()


def _write_replaced(out: Path, issued: IssuedUser) -> None:
    path = out / f"{issued.user}{REPLACED}"
    if issued.replaced:
        _replace(path, "".join(f"{key}\n" for key in issued.replaced), 0o600)
    else:
        path.unlink(missing_ok=True)


def _write_seed(issued: IssuedUser, seed: str, owner: int | None) -> None:
    path = issued.seed_file
    if seed:
        kept = path.stat().st_uid if owner is None and path.exists() else owner
        _replace(path, f"# user: {issued.user}\n{seed}\n", 0o600, owner=kept)
    elif owner is not None and path.stat().st_uid != owner:
        try:
            os.chown(path, owner, -1)
        except PermissionError:
            raise ConfigurationError(_owner_advice(path, owner)) from None


def _owner_advice(path: Path, owner: int) -> str:
    return f"{path} cannot be given to user id {owner}; run this command as root"


def _public_key(path: Path) -> str:
    seed = next((line for line in path.read_text("utf-8").split() if line.startswith("SU")), "")
    import nkeys

    try:
        return _key_of(seed)
    except (nkeys.NkeysError, ValueError):
        raise ConfigurationError(f"{path} does not contain a seed; delete the file to get a new one") from None


def _key_of(seed: str) -> str:
    import nkeys

    key: str = nkeys.from_seed(bytearray(seed, "ascii")).public_key.decode()
    return key


def _replace(path: Path, text: str, mode: int, *, owner: int | None = None) -> None:
    """Write a temporary file and rename it, so that no one reads a partial file, or a seed with a wider mode."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, mode)  # whatever the umask: the server's user must be able to read its file
        file.write(text)
    if owner is not None and owner != temporary.stat().st_uid:
        try:
            os.chown(temporary, owner, -1)
        except PermissionError:
            temporary.unlink()
            raise ConfigurationError(_owner_advice(path, owner)) from None
    temporary.replace(path)
