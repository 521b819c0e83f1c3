"""Who may talk to the page: browsers that were sent to it by its own address, and nobody else."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Refuse requests for other host names (a foreign name that points here) and from pages of other origins."""

    def __init__(self, application: Application, port: int, names: tuple[str, ...] = LOOPBACK) -> None:
        self._application = application
        self._hosts = {f"{name}:{port}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or answer it with a refusal."""
        if scope["type"] not in ("http", "websocket") or self._is_welcome(scope):
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": b"The studio answers only under its own address."})

    def _is_welcome(self, scope: Scope) -> bool:
        head = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        origin = head.get(b"origin")
        return head.get(b"host") in self._hosts and (origin is None or urlsplit(origin).netloc in self._hosts)
