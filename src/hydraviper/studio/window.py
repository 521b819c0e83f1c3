"""A browser's window: a click on a link changes what it shows and its address, and loads no page anew."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

from fastapi import Request
from nicegui import __version__, ui

from hydraviper.studio.run_table import RunTable
from hydraviper.studio.tree_view import TreeView

PATIENCE = 60  # seconds that a run's files may take to be read
Builder = Callable[..., Awaitable[None] | None]


def open_windows(pages: Mapping[str, Builder]) -> None:
    """Let every address of a page open a window that shows it, and from there the others."""

    async def window(request: Request) -> None:
        router = ui.context.client.sub_pages_router
        query = request.url.query
        router.current_path = request.scope["raw_path"].decode() + (f"?{query}" if query else "")  # as links have it
        shown = _Shown(dict(pages))
        router.on_path_changed(shown.prepare)
        await shown.built()

    parts = (ui.select, ui.input, ui.html, ui.expansion, ui.timer, ui.link, RunTable, TreeView)
    for address in {f"/_nicegui/{__version__}/components/{part.component.key}" for part in parts if part.component}:
        ui.add_head_html(f'<link rel="modulepreload" href="{address}">', shared=True)  # so that no click waits for it
    for address in pages:
        ui.page(address, response_timeout=PATIENCE)(window)


class _Shown(ui.sub_pages):
    """The page that a window shows."""

    def prepare(self, path: str) -> None:
        """Build a page anew, also if somebody asks for the one that is shown; not if only the place on it changes."""
        if "#" not in path:
            self._reset_match()

    async def built(self) -> None:
        """Wait until the first page is there, or wants to tell the browser something meanwhile."""
        await asyncio.gather(*self._active_tasks)

    @staticmethod
    def _match_path(pattern: str, path: str) -> dict[str, str] | None:
        found = ui.sub_pages._match_path(pattern, path)
        return None if found is None else {name: unquote(value) for name, value in found.items()}
