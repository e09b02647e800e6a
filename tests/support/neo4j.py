"""A real Neo4j for tests: Community from Maven Central on a free port, or a container where a Docker daemon answers.

    with neo4j_server(tmp_path) as neo4j: ...    # neo4j.url (bolt://), no password

The libraries (about 130 MB) are fetched once, into `$XDG_CACHE_HOME/answerbus` (`~/.cache/answerbus`). Starting takes
about ten seconds, so tests share one server.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support import servers
from tests.support.servers import Server, free_port, missing

VERSION = "5.26.0"
_FETCH_SECONDS = 600
_JAVA = 17
_SOURCE = Path(__file__).with_name("BoltServer.java")
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>answerbus</groupId><artifactId>neo4j-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""


@contextlib.contextmanager
def neo4j_server(tmp_path: Path) -> Iterator[Server]:
    """A server with an empty database under `tmp_path`."""
    if _docker_answers():
        with _container() as server:
            yield server
        return
    _need_java()
    port = free_port()
    # Run from its source by the JDK, so that nothing has to be built.
    command = ["java", "-Xmx512m", "-cp", f"{_libraries()}/*", str(_SOURCE), str(tmp_path / "neo4j"), str(port)]
    server = Server("neo4j", port, f"bolt://127.0.0.1:{port}", command, tmp_path / "neo4j.log")
    with _patience(120):
        server.start()
    try:
        yield server
    finally:
        server.stop()


def _libraries() -> Path:
    """Where the jars are; fetched aside and renamed, so that an interrupted fetch is not taken for a whole one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "answerbus"
    libraries = cache / f"neo4j-{VERSION}"
    if libraries.is_dir():
        return libraries
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as fresh:
        (Path(fresh) / "pom.xml").write_text(_POM)
        fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(fetch, cwd=fresh, capture_output=True, text=True, timeout=_FETCH_SECONDS)
        except subprocess.TimeoutExpired:
            missing("neo4j", f"Maven did not fetch it within {_FETCH_SECONDS} s")
        if done.returncode != 0:
            told = (line.partition("[ERROR]")[2].strip() for line in done.stdout.splitlines())
            why = next(filter(None, told), "it does not say why")
            missing("neo4j", f"Maven could not fetch its libraries (is there a network?): {why[:300]}")
        with contextlib.suppress(OSError):  # another run was first
            (Path(fresh) / "lib").rename(libraries)
    return libraries


def _need_java() -> None:
    absent = [program for program in ("java", "javac", "mvn") if shutil.which(program) is None]
    if absent:
        missing("neo4j", f"no Docker daemon answers and {', '.join(absent)} not found (a JDK 17 and Maven are needed)")
    told = subprocess.run(["javac", "-version"], capture_output=True, text=True).stdout
    version = re.search(r"javac (\d+)", told)
    if version is None or int(version[1]) < _JAVA:
        missing("neo4j", f"it wants Java {_JAVA} or newer and finds {told.strip() or 'none'}")


def _docker_answers() -> bool:
    return (
        shutil.which("docker") is not None and subprocess.run(["docker", "info"], capture_output=True).returncode == 0
    )


@contextlib.contextmanager
def _container() -> Iterator[Server]:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.waiting_utils import wait_for_logs

    container = DockerContainer(f"neo4j:{VERSION}-community").with_env("NEO4J_AUTH", "none").with_exposed_ports(7687)
    with container:
        wait_for_logs(container, "Started.", timeout=120)
        host, port = container.get_container_host_ip(), int(container.get_exposed_port(7687))
        yield Server("neo4j", port, f"bolt://{host}:{port}", (), Path(os.devnull))


@contextlib.contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Servers may take that long to start meanwhile."""
    usual, servers.START_SECONDS = servers.START_SECONDS, seconds
    try:
        yield
    finally:
        servers.START_SECONDS = usual
