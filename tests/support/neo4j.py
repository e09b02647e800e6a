"""A real Neo4j for tests: a container where a Docker engine has the image, else Community from Maven Central.

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
from tests.support.container_servers import container_server, image_of
from tests.support.servers import Server, free_port, missing, way_taken

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
    if image := image_of("neo4j"):
        with container_server("neo4j", image) as container:
            yield container
        return
    _need_java()
    port = free_port()
    # Run from its source by the JDK, so that nothing has to be built.
    command = ["java", "-Xmx512m", "-cp", f"{_libraries()}/*", str(_SOURCE), str(tmp_path / "neo4j"), str(port)]
    server = Server("neo4j", port, f"bolt://127.0.0.1:{port}", command, tmp_path / "neo4j.log")
    way_taken("neo4j", "local server")
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
        missing(
            "neo4j",
            f"no Docker engine has an image of it, and {', '.join(absent)} not found (a JDK 17 and Maven are needed)",
        )
    told = subprocess.run(["javac", "-version"], capture_output=True, text=True).stdout
    version = re.search(r"javac (\d+)", told)
    if version is None or int(version[1]) < _JAVA:
        missing("neo4j", f"it wants Java {_JAVA} or newer and finds {told.strip() or 'none'}")


@contextlib.contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Servers may take that long to start meanwhile."""
    usual, servers.START_SECONDS = servers.START_SECONDS, seconds
    try:
        yield
    finally:
        servers.START_SECONDS = usual
