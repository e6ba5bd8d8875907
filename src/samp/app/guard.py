"""Who may talk to the app: nobody without its token, no page of another site, nobody who was led here by its name.

The token keeps out other users and programs of the machine. A page of another site cannot read it, but could send
requests blindly, or point a name of its own at 127.0.0.1 (DNS rebinding): hence the checks of `Host`, `Origin` and
`Sec-Fetch-Site`, which come first.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from samp.app.page import render_refusal

TOKEN_HEADER = "x-samp-token"
USE_ADDRESS = "use the address that `samp app` printed, with its token."
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """The rules of one server."""

    token: str | None
    """None lets in everybody, as a public demo does."""
    hosts: frozenset[str] | None
    """Values of `Host` that are ours; None for any, where the address is not known."""
    framed: bool = False
    """Whether other pages may show this one in a frame, as some hosts of demos do."""

    def refusal(self, path: str, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """Return why a request is refused, in one sentence; None if it is not.

        >>> Guard("secret", frozenset(["127.0.0.1:80"])).refusal("/api/info", {"host": "evil.example"}, {})
        "this server is not 'evil.example': use the address that `samp app` printed, with its token."
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts is not None and host.lower() not in self.hosts:
            return f"this server is not {host[:80]!r}: {USE_ADDRESS}"
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return f"this request comes from a page of another site: {USE_ADDRESS}"
        if self._is_foreign(path, headers):
            return f"this request comes from a page of another site: {USE_ADDRESS}"
        if self.token is None or path.startswith("/page/"):
            return None
        given = query.get("token", "") if path == "/" else headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return f"the token is {'wrong' if given else 'missing'}: {USE_ADDRESS}"
        return None

    def _is_foreign(self, path: str, headers: Mapping[str, str]) -> bool:
        """Return whether a browser says that another site sent the request; a link to the page itself may be there."""
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return False
        kinds = ("document", "iframe") if self.framed else ("document",)
        followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in kinds
        return not (path == "/" and followed)

    def headers(self) -> dict[str, str]:
        """Return the headers of every response."""
        frames = {} if self.framed else {"frame-ancestors": "'none'"}
        policy = "; ".join(f"{name} {value}" for name, value in {**POLICY, **frames}.items())
        return {**HEADERS, "Content-Security-Policy": policy, **({} if self.framed else {"X-Frame-Options": "DENY"})}


class GuardedApp:
    """An ASGI app behind a guard."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.guard.headers())
            await send(message)

        path = scope["path"]
        why = self.guard.refusal(path, Headers(scope=scope), QueryParams(scope["query_string"]))
        answer = self.app if why is None else refuse(path, 403, why)
        await answer(scope, receive, send_with_headers)


def refuse(path: str, status: int, sentence: str) -> Response:
    """Return a page for people and JSON for the page's script."""
    if path == "/":
        return HTMLResponse(render_refusal(sentence), status)
    return JSONResponse({"error": sentence}, status)
