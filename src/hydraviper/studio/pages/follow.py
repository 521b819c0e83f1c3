"""A run that is under way: how far it is, and to stop it or go on with it."""

from nicegui import ui

from hydraviper import InputError
from hydraviper.runs.following import FINISHED, RUNNING, Status
from hydraviper.studio.frame import Words, address, button, line, page, paper, safely, text
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.window import Builder

EVERY = 1.0  # seconds between two looks


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    def follow(name: str) -> None:
        with page(name, name, "follow"):
            try:
                shelf.path(name)
            except InputError as error:
                text(str(error)).props('role="alert"')
                return
            state = Words("p", "").props('role="status"')
            facts = Words("p", "")
            with paper("Score and agreement with the expert by iteration"):
                chart = ui.echart(_chart(Status("stopped"))).style("height: 300px")
            with line():
                halt = button("Stop", safely(lambda: shelf.stop(name)))
                resume = button("Go on", safely(lambda: shelf.go_on(name)))
                done = ui.link("Open its trees", address(name))

            def look() -> None:
                now = shelf.status(name)
                failure = shelf.failure(name)
                starting = shelf.is_starting(name) and now.state != RUNNING and now.state != FINISHED
                word = "it starts" if starting else f"it failed: {failure}" if failure else now.state
                if now.state == RUNNING and now.step:
                    word += f" ({now.step})"
                if state._text != word:
                    state.say(word)
                facts.say(_facts(now))
                chart.options.update(_chart(now))
                chart.update()
                halt.set_visibility(now.state == RUNNING)
                resume.set_visibility(now.state not in (RUNNING, FINISHED) and not starting)
                done.set_visibility(now.state == FINISHED)
                if now.state == FINISHED:
                    timer.deactivate()

            timer = ui.timer(EVERY, look)

    return {"/run/{name}/follow": follow}


def _facts(now: Status) -> str:
    scores = [score for score in now.scores if score is not None]
    parts = [f"iteration {now.iteration} of {now.iterations}", f"{now.rollouts:,} rollouts"]
    parts += [f"score so far {scores[-1]:.2f}"] if scores else []
    parts += [f"agrees with the expert on {100 * now.agreement[-1]:.0f} %"] if now.agreement else []
    parts += [f"{now.seconds:.0f} s{'' if now.state == FINISHED else ' so far'}"] if now.seconds else []
    parts += [f"about {now.left:.0f} s left"] if now.left is not None else []
    return ", ".join(parts)


def _chart(now: Status) -> dict[str, object]:
    steps = list(range(1, now.iteration + 1))
    return {
        "animation": False,
        "legend": {},
        "xAxis": {"type": "category", "data": steps, "name": "iteration"},
        "yAxis": [
            {"type": "value", "scale": True, "name": "score"},
            {"type": "value", "min": 0, "max": 1, "name": "agreement"},
        ],
        "series": [
            {"name": "score of what it played", "type": "line", "data": list(now.scores), "connectNulls": True},
            {"name": "agreement", "type": "line", "yAxisIndex": 1, "data": list(now.agreement)},
        ],
    }
