"""The server of the page: it answers on this machine alone."""

import socket
from pathlib import Path

from hydraviper import InputError
from hydraviper.studio.shelf import Shelf

HOST = "127.0.0.1"


def serve(folder: Path, port: int = 8050, browser: bool = True) -> None:
    """Show the runs of a folder on a page until somebody presses Ctrl-C."""
    try:
        from nicegui import app, ui
    except ModuleNotFoundError:
        raise InputError(
            "the studio needs the package nicegui, which is not installed: run pip install 'hydraviper[studio]'."
        ) from None
    from hydraviper.studio.guard import Guard
    from hydraviper.studio.pages import compare, correct, follow, new, questions, replay, runs, trees

    _check_port(port)
    shelf = Shelf(folder)
    for module in (runs, compare, new, follow, trees, replay, questions, correct):
        module.add(shelf)
    app.add_middleware(Guard, port=port)
    ui.run(
        host=HOST,
        port=port,
        show=browser,
        reload=False,
        title="hydraviper studio",
        favicon="🌳",
        binding_refresh_interval=None,
        endpoint_documentation="none",
        reconnect_timeout=30,
    )


def _check_port(port: int) -> None:
    """Refuse a port that another program listens on."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except (OSError, OverflowError):
            raise InputError(f"port {port} cannot be used: another program may have it, pass another --port.") from None
