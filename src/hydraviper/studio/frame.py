"""What every page has: its head with the ways to the other pages, its colours, and how errors are told."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import wraps
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from nicegui import run as background
from nicegui import ui

from hydraviper import InputError, JobError, Run
from hydraviper.runs.alone import alone, has_game, make_game
from hydraviper.studio.shelf import Shelf

PATIENCE = 60  # seconds that a run's files may take to be read
KEPT = 8  # episodes and the like of a run
_KNOWN: WeakKeyDictionary[Run, dict[Any, Any]] = WeakKeyDictionary()
VIEWS = {"trees": "Trees", "replay": "Replay", "questions": "Questions", "correct": "Correct"}  # of a run

STYLE = """
:root { --ink: #1a1d21; --soft: #4f5763; --line: #b4bbc4; --ground: #ffffff; --panel: #f5f7f9; --accent: #00558a; }
body.body--dark { --ink: #eceff3; --soft: #b6bfca; --line: #4a525d; --ground: #14171b; --panel: #1f242a;
  --accent: #8cc8f5; }
body { background: var(--ground); color: var(--ink); }
.nicegui-content { padding: 0; }
#content { width: 100%; max-width: 1500px; margin: 0 auto; padding: 16px 24px 48px; }
h1 { font-size: 26px; line-height: 1.25; font-weight: 700; margin: 4px 0 8px; }
h2 { font-size: 19px; line-height: 1.3; font-weight: 600; margin: 16px 0 6px; } caption { white-space: nowrap; }
h3 { font-size: 16px; line-height: 1.4; font-weight: 600; margin: 12px 0 4px; }
p { margin: 4px 0; } .q-select, .q-input { min-width: 220px; }
a { color: var(--accent); text-decoration: underline; }
a:focus-visible, button:focus-visible, [tabindex]:focus-visible, input:focus-visible { outline: 3px solid #d55e00;
  outline-offset: 2px; }
.q-field:focus-within .q-field__control { outline: 3px solid #d55e00; outline-offset: 2px; }
.soft { color: var(--soft); }
.panel { background: var(--panel); border-radius: 8px; padding: 12px 16px; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 8px; top: 8px; z-index: 10; background: var(--ground); }
header.top { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; padding: 8px 24px;
  border-bottom: 1px solid var(--line); width: 100%; }
header.top nav { display: flex; gap: 14px; flex-wrap: wrap; } header.top a[aria-current] { font-weight: 700; }
.line { align-items: end; gap: 8px 16px; margin: 4px 0 8px; } .nicegui-html svg { max-width: 100%; height: auto; }
.side { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 900px) {
  .side.picture { grid-template-columns: minmax(300px, 2fr) minmax(0, 3fr); }
  .side.sliders { grid-template-columns: minmax(280px, 380px) minmax(0, 1fr); }
  .side.form { grid-template-columns: minmax(0, 1fr) minmax(300px, 380px); }
  .side.twins { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
}
.many { display: grid; gap: 8px; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); }
.fields { display: grid; gap: 10px 24px; grid-template-columns: repeat(auto-fit, minmax(260px, 420px)); }
.scroll { overflow-x: auto; max-width: 100%; }
.chart { background: #fff; border: 1px solid var(--line); border-radius: 8px; max-width: 900px; }
table.plain { border-collapse: collapse; font-variant-numeric: tabular-nums; }
table.plain th, table.plain td { text-align: left; padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); }
table.plain td.n, table.plain th.n { text-align: right; }
button.plain { font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; padding: 4px 12px; cursor: pointer; min-height: 32px; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""

DARK = """
<script>
document.documentElement.lang = "en";
function studioDark() {  // as last chosen here, else as the system has it
  const kept = localStorage.getItem("studio-dark");
  setDark(kept === null ? null : kept === "1");
}
function studioTurn() {
  localStorage.setItem("studio-dark", Quasar.Dark.isActive ? "0" : "1");
  studioDark();
}
</script>
"""


def address(name: str, view: str = "trees") -> str:
    """Where a page of a run is."""
    return f"/run/{quote(name, safe='')}/{view}"


@contextmanager
def page(title: str, name: str | None = None, view: str | None = None) -> Iterator[None]:
    """A page: its head, and room for what the caller puts there."""
    ui.page_title(f"{title} - hydraviper studio")
    ui.add_css(STYLE)
    ui.add_head_html(DARK)
    ui.link("Skip to the content", "#content").classes("skip")
    with ui.element("header").classes("top"):
        ui.link("hydraviper studio", "/").style("font-weight: 700; text-decoration: none")
        with ui.element("nav").props('aria-label="Pages"'):
            ui.link("Runs", "/").props('aria-current="page"' if name is None and view is None else "")
            ui.link("New run", "/new").props('aria-current="page"' if view == "new" else "")
            for one, words in VIEWS.items() if name is not None else ():
                ui.link(words, address(name or "", one)).props('aria-current="page"' if one == view else "")
        ui.element("div").style("flex: 1")
        button("Light / dark", js="studioTurn()")
    with ui.element("div").props('id=content tabindex="-1"'):  # Quasar's page around it is the landmark `main`
        heading(title, 1)
        yield


@asynccontextmanager
async def run_page(shelf: Shelf, name: str, view: str) -> AsyncIterator[Run | None]:
    """A page about a run's trees; without trees it says why, and the caller gets None."""
    with page(f"{name}: {VIEWS[view].lower()}", name, view):
        try:
            run = await background.io_bound(shelf.open, name)
            if run is not None and not has_game(run):
                await prepared("The game is being made ...", make_game, run)
        except InputError as error:
            text(str(error)).props('role="alert"')
            ui.link("Follow this run", address(name, "follow"))
            run = None
        yield run


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


def button(words: str, act: Callable[..., Any] | None = None, js: str | None = None) -> "Words":
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


def tell(sentence: str, kind: Any = "warning") -> None:
    """A sentence for the user, which screen readers say at once."""
    ui.notify(sentence, type=kind, position="bottom", multi_line=True, close_button="close", timeout=15_000)


def safely(act: Callable[..., Any]) -> Callable[..., Any]:
    """Let errors that a user can cause become sentences on the page."""

    @wraps(act)
    async def tried(*arguments: Any, **more: Any) -> Any:
        client = ui.context.client
        try:
            result = act(*arguments, **more)
            return await result if hasattr(result, "__await__") else result
        except (InputError, JobError) as error:
            with client:  # the button itself may be gone
                tell(str(error), "negative")
            return None

    return tried


async def away(function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """Work that takes a while, in a thread, so that the page stays awake; whoever plays a run's game has it alone."""
    run = next((one for one in arguments if isinstance(one, Run)), None)

    def act() -> Any:
        with nullcontext() if run is None else alone(run):
            return function(*arguments, **more)

    return await background.io_bound(act)


async def prepared(sentence: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a page needs of a run before it can show anything, with a sentence meanwhile; None, and why, if it fails.

    It is kept as long as the run is: until its files change.
    """
    known = _KNOWN.setdefault(arguments[0], {})
    key = function, arguments[1:]
    if key in known:
        return known[key]
    waiting = Words("p", sentence).props('role="status"')
    await ui.context.client.connected()
    try:
        result = await away(function, *arguments)
    except (InputError, JobError) as error:
        waiting.say(str(error))
        return None
    waiting.delete()
    if len(known) >= KEPT:
        known.pop(next(iter(known)))
    known[key] = result
    return result
