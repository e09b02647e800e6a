"""`/docs`: Swagger UI over the OpenAPI document, from files of this server and under a policy of its own.

The files come with the package fastapi-offline, as FastAPI's own page loads them from a foreign address. The page only
describes: it takes no key and sends no request, because it has the origin of pages that keep keys and tokens.
"""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.gateway.server.web_pages import WebFile, content_policy, reply, web_file

PAGE = "/docs"
_HTML = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Answerbus: HTTP API</title>
<link rel="icon" href="icon.svg"><link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
#: Without the Authorize buttons and the button that tries a request.
_START = b"""const none = () => null;
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  supportedSubmitMethods: [],
  plugins: [{ wrapComponents: { authorizeBtn: () => none, authorizeOperationBtn: () => none } }],
});
"""
#: Swagger UI draws its icons from `data:` and sets style attributes; scripts come from files only.
_POLICY = content_policy((), images="data:", styles="'unsafe-inline'")


_FILES = ("swagger-ui.css", "swagger-ui-bundle.js", "start.js")


def routes() -> list[Route]:
    """The page, and its files below it."""

    async def send(request: Request) -> Response:
        found = await asyncio.to_thread(_files)
        return reply(request, found[request.url.path.removeprefix(PAGE).strip("/")], _POLICY)

    paths = (PAGE, *(f"{PAGE}/{name}" for name in _FILES))
    return [Route(path, send, methods=["GET"], include_in_schema=False) for path in paths]


@cache
def _files() -> dict[str, WebFile]:
    """The page under an empty name, and its files by theirs; compressed when the first reader comes."""
    static = files("fastapi_offline").joinpath("static")
    contents = {"": _HTML, "start.js": _START}
    contents |= {name: static.joinpath(name).read_bytes() for name in _FILES if name not in contents}
    return {name: web_file(name or "index.html", content) for name, content in contents.items()}
