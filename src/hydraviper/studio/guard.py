"""Who may talk to the page: browsers sent to it by its own address and, beyond this machine, with its token."""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

Message = MutableMapping[str, Any]
Scope = Message  # what ASGI sends around
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "studio-token"


class Guard:
    """Refuse requests for other host names (a foreign name that points here) and from pages of other origins.

    With a `token`, also those that bring it neither as a cookie nor in the address; from there it becomes a cookie.
    """

    def __init__(
        self, application: Application, port: int, names: tuple[str, ...] = LOOPBACK, token: str | None = None
    ) -> None:
        self._application, self._token = application, token
        self._hosts = {f"{name}:{port}" for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or answer it with a refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        head = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        is_welcome = self._is_at_home(head)
        if is_welcome and self._is_known(head.get(b"cookie", "")):
            await (self._application if scope["type"] == "websocket" else self._answered)(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif is_welcome and self._same(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]):
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, [(b"location", quote(scope["path"]).encode()), (b"set-cookie", cookie.encode())])
        else:
            body = b"The studio answers only under its own address, and beyond its own machine only with its token."
            await _answer(send, 403, [(b"content-type", b"text/plain; charset=utf-8")], body)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on; if the browser leaves before there is an answer, nobody fails for want of one."""
        is_gone = has_begun = False

        async def heard() -> Message:
            nonlocal is_gone
            message = await receive()
            is_gone = is_gone or message["type"] == "http.disconnect"
            return message

        async def said(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._application(scope, heard, said)
        except Exception:
            if not is_gone or has_begun:
                raise
        if is_gone and not has_begun:
            await _answer(send, 499, [])

    def _is_at_home(self, head: dict[bytes, str]) -> bool:
        origin = head.get(b"origin")
        return head.get(b"host") in self._hosts and (origin is None or urlsplit(origin).netloc in self._hosts)

    def _is_known(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            found = None
        return self._token is None or (found is not None and self._same(found.value))

    def _same(self, token: str) -> bool:
        return self._token is not None and secrets.compare_digest(token.encode(), self._token.encode())


async def _answer(send: Send, status: int, head: list[tuple[bytes, bytes]], body: bytes = b"") -> None:
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
