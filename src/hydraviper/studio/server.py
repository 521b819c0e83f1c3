"""The server of the page: it answers on this machine alone, unless the user asks for more."""

import secrets
import socket
from pathlib import Path

from hydraviper import InputError
from hydraviper.studio.shelf import Shelf

HOST = "127.0.0.1"


def serve(folder: Path, port: int = 8050, browser: bool = True, host: str = HOST, *, trust_path: bool = False) -> None:
    """Show the runs of a folder on a page until somebody presses Ctrl-C."""
    try:
        from nicegui import app, ui
        from starlette.middleware.gzip import GZipMiddleware
    except ModuleNotFoundError:
        raise InputError(
            "the studio needs the package nicegui, which is not installed: run pip install 'hydraviper[studio]'."
        ) from None
    from hydraviper.studio.guard import LOOPBACK, Guard
    from hydraviper.studio.look import SCRIPT, STYLE
    from hydraviper.studio.pages import compare, correct, follow, new, questions, replay, runs, trees
    from hydraviper.studio.window import open_windows

    _check_port(host, port)
    shelf = Shelf(folder, trust_path)
    modules = (runs, compare, new, follow, trees, replay, questions, correct)
    open_windows({path: build for module in modules for path, build in module.pages(shelf).items()})
    ui.add_css(STYLE, shared=True)
    ui.add_head_html(SCRIPT, shared=True)
    token = None if host in (HOST, "localhost") else secrets.token_urlsafe(24)
    names = LOOPBACK if token is None else (*LOOPBACK, host, socket.gethostname(), *_addresses())
    app.add_middleware(Guard, port=port, names=names, token=token)
    if token is not None:
        print(f"whoever has this address may use the studio: http://{socket.gethostname()}:{port}/?token={token}")
    app.config.vue_config_script += "window.studioDark?.();"  # before anything is drawn: colours do not fade over
    ui.run(
        host=host,
        port=port,
        show=browser and token is None,
        reload=False,
        dark=None,
        tailwind=False,
        title="hydraviper studio",
        favicon="🌳",
        binding_refresh_interval=None,
        endpoint_documentation="none",
        reconnect_timeout=30,
        gzip_middleware_factory=None if token is None else GZipMiddleware,  # on one machine it only costs time
        ws_per_message_deflate=token is not None,
    )


def _addresses() -> list[str]:
    """The numbers of this machine."""
    try:
        return socket.gethostbyname_ex(socket.gethostname())[2]
    except OSError:
        return []


def _check_port(host: str, port: int) -> None:
    """Refuse a port that another program listens on."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except (OSError, OverflowError):
            raise InputError(
                f"port {port} of {host} cannot be used: another program may have it, pass another --port."
            ) from None
