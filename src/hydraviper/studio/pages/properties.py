"""A property that somebody writes, the prover's answer, and where it breaks on the game's own picture."""

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nicegui import ui

from hydraviper import Agent, InputError, Run, Verification
from hydraviper.records import Counterexample, PropertyAnswer
from hydraviper.runs.counterexamples import picture
from hydraviper.runs.verify import verify
from hydraviper.studio.frame import away, button, line, safely, text

EVERY = "*"
SIGNS = (">", ">=", "<", "<=", "==")


class PropertyForm:
    """Conditions and what must never be done then, for one agent, every agent, or several at once."""

    def __init__(self, run: Run, shown: Callable[[str, dict[str, float]], None]) -> None:
        self.run, self.shown = run, shown
        self.never: dict[str, ui.select] = {}
        agents = [agent.name for agent in run.trees.agents]
        text("Does it always hold?", "h2")
        text(
            "Say when, and what must never be done then; or ask for the game's own. For several agents: what they must "
            "not do at the same time.",
            "p",
            "soft",
        )
        with line():
            self.agents = ui.select(
                {EVERY: "every agent", **dict(zip(agents, agents, strict=True))},
                label="Whose",
                value=[agents[0]],
                multiple=True,
                on_change=lambda e: self.turn(),
            ).props("use-chips")
            self.feature = ui.select([], label="Feature", with_input=True).style("min-width: 280px")
            self.sign = ui.select(list(SIGNS), label="is", value=">").style("min-width: 80px")
            self.number = ui.number("Number", value=1).style("width: 110px")
            button("Add the condition", safely(self.add))
        self.when = ui.textarea("When all of these hold, one per line").style("width: 100%; max-width: 720px")
        self.when.props("autogrow")
        self.room = ui.element("div").style("display: flex; flex-wrap: wrap; gap: 16px; align-items: end")
        with line():
            button("Prove it", safely(self.prove))
            button("Prove the game's own properties", safely(lambda: self.ask(None)))
        self.answers = ui.element("div").props('role="status"')
        self.turn()
        self.when.value = f"[{run.trees.agents[0].features[0]}] > 1"

    @property
    def chosen(self) -> list[str]:
        """Whose property it is: agents by name, or every one."""
        return [str(name) for name in self.agents.value or ()]

    def turn(self) -> None:
        """Offer the features and actions of the chosen agents."""
        names = named(self.run.trees.agents, self.chosen)
        several = len(names) > 1
        of = {name: self.run.trees.agents[self.run.trees.place(name)] for name in names}
        first = next(iter(of.values()), self.run.trees.agents[0])
        features = [f"{name}: {one}" for name, agent in of.items() for one in agent.features]
        self.feature.set_options(features if several else list(first.features))
        self.feature.value = self.feature.options[0]
        self.room.clear()
        self.never = {}
        with self.room:
            for name in names if several else (EVERY,):
                actions = list(of[name].actions) if several else list(first.actions)
                label = f"{name} does" if several else "It never does"
                self.never[name] = ui.select(actions, label=label, value=actions[0])
            if several:
                text("and never all of this at once", "p", "soft")

    def add(self) -> None:
        """Put a condition below the others."""
        if self.number.value is None:
            raise InputError("say which number the feature is compared with.")
        line = f"[{self.feature.value}] {self.sign.value} {self.number.value:g}"
        self.when.value = "\n".join([*_lines(str(self.when.value or "")), line])

    async def prove(self) -> None:
        """Prove what was written."""
        never = {name: str(one.value) for name, one in self.never.items()}
        await self.ask(written(self.run.trees.agents, self.chosen, _lines(str(self.when.value or "")), never))

    async def ask(self, source: str | None) -> None:
        """Prove properties and show each answer."""
        self.answers.clear()
        with self.answers:
            text("It is being proved ...")
        try:
            answer = await away(_verified, self.run, source)
            drawn = [await away(_drawn, self.run, one) for one in answer.properties]
        finally:
            if not self.answers.is_deleted:
                self.answers.clear()
        with self.answers:
            for one, html in zip(answer.properties, drawn, strict=True):
                self._answer(one, html)

    def _answer(self, one: PropertyAnswer, html: str | None) -> None:
        word = "proved" if one.holds else "undecided" if one.holds is None else "broken"
        text(f"{word}: {one.property} ({one.cases} cases, {one.seconds:.1f} s)", "h3")
        for problem in one.problems[:1]:
            text(problem)
        for example in one.counterexamples[:1]:
            text(f"Counterexample: {example.words or example.case}")
            if html is not None:
                ui.html(html, sanitize=False).props('data-picture="counterexample"').style("max-width: 720px")
            with line():
                for name in example.actions:
                    button(
                        f"Set the sliders to what {name} sees", partial(self.shown, name, example.observations[name])
                    )


def written(agents: Sequence[Agent], whose: list[str], when: list[str], never: dict[str, str]) -> str:
    """The property as a file that `hydraviper verify` reads."""
    names = named(agents, whose)
    if not whose or not when:
        raise InputError("say whose property it is, and when it applies.")
    several = len(names) > 1
    told = " and ".join(f"{name} {action}" for name, action in never.items()) if several else next(iter(never.values()))
    forbidden = ", ".join(f"{_quoted(name)} = {_quoted(action)}" for name, action in never.items())
    lines = {
        "name": _quoted(f"never {told} when {' and '.join(when)}"),
        "agents" if several else "agent": _quoted(names if several else whose),
        "when": _quoted(when),
        "never": f"{{ {forbidden} }}" if several else _quoted(told),
    }
    return "[[property]]\n" + "\n".join(f"{key} = {value}" for key, value in lines.items())


def _quoted(words: str | list[str]) -> str:
    """Words as TOML has them, which is as JSON has them."""
    return json.dumps(words, ensure_ascii=False)


def named(agents: Sequence[Agent], whose: list[str]) -> list[str]:
    """The agents that are meant one by one; none if it is every agent by itself."""
    return [] if EVERY in whose else [agent.name for agent in agents if agent.name in whose]


def _lines(words: str) -> list[str]:
    return [line.strip() for line in words.splitlines() if line.strip()]


def _verified(run: Run, source: str | None) -> Verification:
    with tempfile.TemporaryDirectory() as folder:
        path = None if source is None else Path(folder, "property.toml")
        if path is not None and source is not None:
            path.write_text(source, encoding="utf-8")
        return verify(run, path)


def _drawn(run: Run, one: PropertyAnswer) -> str | None:
    """The first counterexample as a picture for the page."""
    example: Counterexample | None = next(iter(one.counterexamples), None)
    found = None if example is None else picture(run, example)
    return None if found is None or example is None else found.html(f"counterexample: {example.case}")
