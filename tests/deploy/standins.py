"""Images that stand in for the public ones that the compose file names, made without a registry.

They are Debian's packages on a system that `mmdebstrap` makes, the nats-server of the Python package, and an HTTP
server that answers Qdrant's requests with the client library's local mode: that one proves addresses, networks,
permissions and volumes, and says nothing about Qdrant. Versions and sizes are not those of the public images; what
depends on them is not tested here. No public name is used: the compose file takes the names of images from variables,
see `VARIABLES`.

    python -m tests.deploy.standins        # makes those that are missing
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES = HERE / "standins"
PREFIX = "answerbus-standin"
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
SERVERS = ("nats", "redis", "postgres", "prometheus")
#: What `.env` says for these images.
VARIABLES = {f"{name.upper()}_IMAGE": f"{PREFIX}-{name}" for name in ("python", "qdrant", *SERVERS)}
#: The list of authorities of this machine, so that a build reaches the registries which this machine reaches.
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
#: Ends with an error if a container does not reach the Python package index.
REACHES = """
import urllib.request
for address in ("https://pypi.org/simple/uv/", "https://files.pythonhosted.org/"):
    urllib.request.urlopen(urllib.request.Request(address, headers={"User-Agent": "answerbus-tests"}), timeout=30)
"""
#: Seconds for the packages of Debian to arrive and to be unpacked.
PATIENCE = 420.0


class StandInError(Exception):
    """The images cannot be made on this machine; the text says why."""


def make() -> None:
    """Make the images that are missing.

    Raises:
        StandInError: Debian's or Python's packages cannot be had, or the engine does not build.
    """
    if not _exists(f"{PREFIX}-python"):
        _make_root()
        with tempfile.TemporaryDirectory() as folder:
            if AUTHORITIES.exists():
                shutil.copy(AUTHORITIES, folder)
            else:
                (Path(folder) / AUTHORITIES.name).touch()
            _build("python", "python.Dockerfile", Path(folder))
    # A build in this network would fail without saying that it is the network's fault.
    _run("docker", "run", "--rm", f"{PREFIX}-python", "python3", "-c", REACHES, seconds=120)
    with tempfile.TemporaryDirectory() as folder:
        context = Path(shutil.copytree(FILES, Path(folder) / "context"))
        if not _exists(f"{PREFIX}-servers"):
            server = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
            shutil.copy(server, context / "nats-server")
            _build("servers", "servers.Dockerfile", context, PYTHON_IMAGE=f"{PREFIX}-python")
        if not _exists(f"{PREFIX}-qdrant"):
            _install("qdrant-client", context / "libraries")
            _build("qdrant", "qdrant.Dockerfile", context, PYTHON_IMAGE=f"{PREFIX}-python")
    for name in SERVERS:
        if not _exists(f"{PREFIX}-{name}"):
            _build(name, "server.Dockerfile", FILES, SERVERS=f"{PREFIX}-servers", SERVER=name)


def _make_root() -> None:
    """A system with Python and nothing else, as an image of one layer."""
    if not shutil.which("mmdebstrap"):
        raise StandInError("mmdebstrap is not installed")
    packages = "--include=ca-certificates,python3,python3-venv"
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io", packages, SUITE, "-", MIRROR]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as system:
        try:
            _run("docker", "import", "-", f"{PREFIX}-root", stdin=system.stdout)
            failed = system.wait(PATIENCE)
        except (StandInError, subprocess.TimeoutExpired) as error:
            system.kill()
            raise StandInError(f"Debian {SUITE} of {MIRROR}: {error}") from None
        if failed:
            log.seek(0)
            raise StandInError(f"mmdebstrap: {log.read().decode(errors='replace')[-500:]}")


def _install(package: str, folder: Path) -> None:
    """A package of the lock and what it needs, for the Python of `SUITE`."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    _run(uv, "pip", "install", "--quiet", "--python-version", "3.11", "--target", str(folder), package)


def _build(name: str, file: str, context: Path, **arguments: str) -> None:
    given = [part for key, value in arguments.items() for part in ("--build-arg", f"{key}={value}")]
    _run("docker", "build", "--quiet", "--tag", f"{PREFIX}-{name}", "--file", str(FILES / file), *given, str(context))


def _exists(image: str) -> bool:
    found = subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False)
    return found.returncode == 0


def _run(*command: str, stdin: object = None, seconds: float = PATIENCE) -> None:
    try:
        ran = subprocess.run(
            command,
            stdin=stdin,  # type: ignore[call-overload]
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise StandInError(f"{' '.join(command[:3])} took longer than {seconds:.0f} s") from None
    if ran.returncode:
        raise StandInError(f"{' '.join(command[:3])}: {(ran.stderr or ran.stdout)[-800:]}")


if __name__ == "__main__":
    try:
        make()
    except StandInError as error:
        sys.exit(str(error))
