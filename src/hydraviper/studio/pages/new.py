"""A form for a new run."""

from dataclasses import replace

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from hydraviper import InputError
from hydraviper.runs.starting import NewRun, choices
from hydraviper.studio.frame import address, button, page, safely, text
from hydraviper.studio.shelf import Shelf
from hydraviper.studio.window import Builder

NUMBERS = {  # field -> label, and what stands there at first; nothing: what suits the game
    "train_budget": ("Training rollouts", None),
    "valid_budget": ("Validation rollouts", None),
    "iterations": ("Iterations (students per agent)", 100),
    "depth": ("Depth (most questions of a tree)", 4),
    "teams": ("Teams that a partition makes", 2),
    "seed": ("Seed", 0),
    "refine": ("Seconds of refining in the end", 0),
    "episodes": ("Episodes to score on", None),
}


def pages(shelf: Shelf) -> dict[str, Builder]:
    """The page, by its address."""

    def new() -> None:
        known = choices()
        with page("New run", view="new"):
            text(
                "Fields that are empty take what suits the game. The run goes on when this page is closed.", "p", "soft"
            )
            fields: dict[str, ValueElement] = {}
            with ui.element("form").classes("fields"):
                fields["game"] = ui.input(
                    "Game", value=known["games"][0], autocomplete=[*known["games"], *known["families"]]
                )
                fields["algorithm"] = ui.select(list(known["algorithms"]), label="Algorithm", value="hydraviper")
                fields["expert"] = ui.input("Expert (empty: the one that ships)")
                fields["budget"] = ui.select(["low", "high"], label="Budget", value="low")
                fields["features"] = ui.select(
                    {"": "what suits the game", **{name: name for name in known["features"]}},
                    label="Features that trees may ask for",
                    value="",
                )
                fields["partition"] = ui.select(list(known["partitions"]), label="Partition into teams", value="none")
                fields["constraints"] = ui.select(
                    {"": "none", "shipped": "the game's own properties"}, label="Constraints", value=""
                )
                for name, (label, value) in NUMBERS.items():
                    fields[name] = ui.number(label, value=value)

            @safely
            def start() -> None:
                ui.navigate.to(address(shelf.start(_read(fields)), "follow"))

            button("Start the run", start).style("margin-top: 16px")

    return {"/new": new}


def _read(fields: dict[str, ValueElement]) -> NewRun:
    """What the form says."""
    if not str(fields["game"].value or "").strip():
        raise InputError("say which game: choose one of the list.")
    wish = NewRun(str(fields["game"].value).strip())
    words = {name: str(one.value or "").strip() or None for name, one in fields.items() if name not in NUMBERS}
    numbers = {name: _whole(NUMBERS[name][0], fields[name].value) for name in NUMBERS}
    numbers["seed"] = numbers["seed"] or 0
    return replace(wish, **{**words, **numbers})  # type: ignore[arg-type]


def _whole(label: str, value: float | str | None) -> int | None:
    if value in (None, ""):
        return None
    if float(value) != int(float(value)):
        raise InputError(f"{label} must be a whole number, not {value}.")
    return int(float(value))
