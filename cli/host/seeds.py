"""Where the embedded NATS server keeps its users, and which of their seeds each process of a platform gets.

It imports no stage and no client of NATS: the supervisor needs nothing else of credentials.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from shared.bus.settings import SEED_SUFFIX
from shared.runtime.settings import OWN, Settings

#: The file that the configuration of the NATS server includes. It has a folder of its own, because a container must
#: mount the folder: a file that is mounted alone stays the old one when it is replaced.
USERS_FILE = "server/users.conf"


def settings_for_user(settings: Settings, user: str) -> Settings:
    """The settings for a process that logs in as this user; unchanged without a folder of seeds."""
    folder = settings.nats_seed.get_secret_value()
    if not folder or not Path(folder).is_dir():
        return settings
    return settings.model_copy(update={"nats_seed": SecretStr(str(Path(folder) / f"{user}{SEED_SUFFIX}"))})


def operator_rights(settings: Settings) -> str:
    """What `operator_credentials` is for the gateway of a platform on this machine: as configured, else all rights.

    Those are the folder of seeds with which this process itself operates, or the gateway's own login where NATS has no
    users. A seed or a password that is one user's gives the gateway nothing.
    """
    folder = settings.nats_seed.get_secret_value()
    if settings.operator_credentials or (folder and not Path(folder).is_dir()):
        return settings.operator_credentials
    return folder or ("" if settings.nats_user else OWN)


def seeds_of(data_dir: Path) -> Path:
    """The folder of the embedded server's seeds."""
    return data_dir / "nats" / "credentials"
