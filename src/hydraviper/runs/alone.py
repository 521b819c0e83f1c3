"""One at a time: several threads may have a run open, but only one of them may play its game."""

from contextlib import suppress
from threading import Lock
from weakref import WeakKeyDictionary

from hydraviper.data import InputError
from hydraviper.games import traffic_facts
from hydraviper.runs.run import Run

_SIMULATOR = Lock()  # there is one SUMO in a process
_LOCKS: WeakKeyDictionary[Run, Lock] = WeakKeyDictionary()


def alone(run: Run) -> Lock:
    """What to hold while a run's game is made or played."""
    is_simulated = traffic_facts.looks_like_signals(run.trees.agents)
    return _SIMULATOR if is_simulated else _LOCKS.setdefault(run, Lock())


def has_game(run: Run) -> bool:
    """Tell whether a run's game has been made."""
    return "game" in vars(run)


def make_game(run: Run) -> None:
    """Make a run's game; one that cannot be made here is left out, as drawings do without it."""
    with suppress(InputError):
        _ = run.game
