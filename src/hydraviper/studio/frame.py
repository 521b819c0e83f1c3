"""What every page has: its head with the ways to the other pages, its colours, and how errors are told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import wraps
from typing import Literal, ParamSpec, TypeVar, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary

from nicegui import ui

from hydraviper import InputError, JobError, Run
from hydraviper.runs.alone import alone, has_game, make_game
from hydraviper.studio.shelf import Shelf

SOON = 0.01  # seconds: what is seen first is sent first
CONTENT = "content"  # the id of all that is below a page's head
KEPT = 8  # episodes and the like of a run
_KNOWN: WeakKeyDictionary[Run, dict[object, object]] = WeakKeyDictionary()
P = ParamSpec("P")
T = TypeVar("T")
VIEWS = {"trees": "Trees", "replay": "Replay", "questions": "Questions", "correct": "Correct"}  # of a run


def address(name: str, view: str = "trees") -> str:
    """Where a page of a run is."""
    return f"/run/{quote(name, safe='')}/{view}"


@contextmanager
def page(title: str, name: str | None = None, view: str | None = None) -> Iterator[None]:
    """A page: its head, and room for what the caller puts there."""
    ui.page_title(f"{title} - hydraviper studio")
    ui.link("Skip to the content", f"#{CONTENT}").classes("skip")
    with ui.element("header").classes("top"):
        ui.link("hydraviper studio", "/").style("font-weight: 700; text-decoration: none")
        with ui.element("nav").props('aria-label="Pages"'):
            ui.link("Runs", "/").props('aria-current="page"' if name is None and view is None else "")
            ui.link("New run", "/new").props('aria-current="page"' if view == "new" else "")
            for one, words in VIEWS.items() if name is not None else ():
                ui.link(words, address(name or "", one)).props('aria-current="page"' if one == view else "")
        ui.element("div").style("flex: 1")
        button("Light / dark", js="studioTurn()")
    with ui.element("div").props(f'id={CONTENT} tabindex="-1"'):  # Quasar's page around it is the landmark `main`
        top = heading(title, 1).props('tabindex="-1"')
        if not ui.context.client.sub_pages_router.is_initial_request:
            top.focus()  # the link that was followed is gone
        yield


@asynccontextmanager
async def run_page(shelf: Shelf, name: str, view: str) -> AsyncIterator[Run | None]:
    """A page about a run's trees; without trees it says why, and the caller gets None."""
    with page(f"{name}: {VIEWS[view].lower()}", name, view):
        try:
            run = shelf.known(name) or await away(shelf.open, name)
            if run is not None and not has_game(run):
                await prepared("The game is being made ...", make_game, run)
        except InputError as error:
            text(str(error)).props('role="alert"')
            ui.link("Follow this run", address(name, "follow"))
            run = None
        yield run


def whole(words: str) -> int:
    """A number of a page's address; what is none counts as 0."""
    return int(words) if words.isdecimal() and len(words) < 10 else 0


def heading(words: str, level: int = 2) -> "Words":
    """A heading that screen readers find."""
    return text(words, f"h{level}")


def text(words: str, tag: str = "p", classes: str = "") -> "Words":
    """Words in an element; markup in them stays words."""
    return Words(tag, words).classes(classes)


class Words(ui.element):
    """An element with words that can change."""

    def __init__(self, tag: str, words: str) -> None:
        super().__init__(tag)
        self._text = words

    def say(self, words: str) -> None:
        """Show other words."""
        if self._text != words:
            self._text = words
            self.update()

    def focus(self) -> None:
        """Let the keyboard go on from here."""
        self.client.run_javascript(f"getHtmlElement({self.id})?.focus()")


def button(words: str, act: Callable[..., object] | None = None, js: str | None = None) -> "Words":
    """A button that works with keyboard and screen reader."""
    made = Words("button", words).classes("plain").props('type="button"')
    if js is not None:
        made.on("click", js_handler=f"() => {js}")
    elif act is not None:
        made.on("click", act)
    return made


def paper(words: str) -> ui.element:
    """Room for a chart, white in the dark as well; the words say what it shows."""
    return ui.element("div").classes("chart").props(f'role="img" aria-label="{words}"')


def line() -> ui.row:
    """Fields and buttons side by side, on one line as long as there is room."""
    return ui.row().classes("line")


def tell(sentence: str, kind: Literal["positive", "negative", "warning"] = "warning") -> None:
    """A sentence for the user, which screen readers say at once."""
    ui.notify(sentence, type=kind, position="bottom", multi_line=True, close_button="close", timeout=15_000)


class GoneError(Exception):
    """Whoever asked has gone to another page: there is nobody to answer."""


def safely(act: Callable[..., object]) -> Callable[..., Awaitable[None]]:
    """Let errors that a user can cause become sentences on the page."""

    @wraps(act)
    async def tried(*arguments: object) -> None:
        client = ui.context.client
        try:
            result = act(*arguments)
            if isinstance(result, Awaitable):
                await result
        except (InputError, JobError) as error:
            if not client.is_deleted:
                with client:  # the button itself may be gone
                    tell(str(error), "negative")
        except GoneError:
            pass

    return tried


async def away(function: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T:
    """Work that takes a while, in a thread, so that the page stays awake; whoever plays a run's game has it alone.

    It goes on if the user leaves the page; then `GoneError` is raised at its end.
    """
    run = next((one for one in arguments if isinstance(one, Run)), None)
    here = ui.context.slot.parent  # a button, say; it may be drawn anew while its page stays
    room = next((one for one in here.ancestors(include_self=True) if one.props.get("id") == CONTENT), here)

    def act() -> T:
        with nullcontext() if run is None else alone(run):
            return function(*arguments, **more)

    result = await asyncio.get_running_loop().run_in_executor(None, act)
    if room.is_deleted:
        raise GoneError
    return result


async def prepared(sentence: str, function: Callable[..., T], run: Run, *more: int) -> T | None:
    """What a page needs of a run before it can show anything, with a sentence meanwhile; None, and why, if it fails.

    It is kept as long as the run is: until its files change.
    """
    known = _KNOWN.setdefault(run, {})
    key = function, more

    def kept() -> T:
        if key not in known:  # another window may have asked for the same meanwhile
            result = function(run, *more)
            while len(known) >= KEPT:
                known.pop(next(iter(known)))
            known[key] = result
        return cast(T, known[key])

    if key in known:
        return kept()
    waiting = Words("p", sentence).props('role="status"')
    await ui.context.client.connected()
    try:
        result = await away(lambda _: kept(), run)
    except (InputError, JobError) as error:
        waiting.say(str(error))
        return None
    waiting.delete()
    return result
