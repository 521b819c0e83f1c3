"""Where games, experts, algorithms and engines come from, by the names that people give them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from hydraviper.data import InputError, Progress
from hydraviper.engines.cluster import RayEngine
from hydraviper.engines.counted import counted
from hydraviper.engines.local import LocalEngine
from hydraviper.engines.pieces import PieceEngine
from hydraviper.experts import elsewhere, store, worth
from hydraviper.experts.algorithms import ALGORITHMS
from hydraviper.experts.store import StoredExpert
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Engine, Expert, Game, offers
from hydraviper.records import Making
from hydraviper.runs import trust
from hydraviper.variants import VARIANTS, Variant

SHIPPED = (
    *ALGORITHMS,
    "mplight-joint",
    "idqn-joint",
    "maddpg-seed-1",
    "maddpg-60000-episodes",
)  # names of experts, for some games
EXPERT = "expert.safetensors"  # in the folder of a run that has an expert of its own, or a copy of one from elsewhere
Tell = Callable[[str], None]  # gives the user a sentence to know beside the result


def game_named(spec: str) -> Game:
    """The game that the user names."""
    source = catalogue.named_source(spec)
    game = catalogue.make(spec)
    if source is not None:
        trust.remember(source if isinstance(source, Path) else trust.from_here(source))
    return game


def expert_named(game: Game, name: Path | str | None, workers: int = 1, trust_code: bool = False) -> AnyExpert:
    """An expert for a game: from a file of ours, from elsewhere, by the name of one that ships, or the one that ships.

    `trust_code` lets a file of another framework run code where it cannot be loaded without.
    """
    if name is not None and elsewhere.is_name(str(name)):
        if elsewhere.runs_code(str(name)):
            trust.remember(trust.from_here(elsewhere.absolute(str(name))))
        return worth.load_expert(name, game, trust=trust_code)
    if name is not None and is_file(name):
        expert = store.load(name, game)
    else:
        expert = store.shipped(game, None if name is None else str(name))
    return replace(expert, workers=workers)


def game_and_expert(
    spec: str,
    name: Path | str | None,
    *,
    workers: int,
    tell: Tell,
    values: str | None = None,
    trust_code: bool = False,
    progress: Progress = lambda step, done, of: None,
) -> tuple[Game, AnyExpert]:
    """The game of a name and its expert, whose actions are valued as `values` says (see experts/worth.py)."""
    game = game_named(spec)
    return game, expert_for(
        game, name, workers=workers, tell=tell, values=values, trust_code=trust_code, progress=progress
    )


def expert_for(
    game: Game,
    name: Path | str | None,
    *,
    workers: int,
    tell: Tell,
    values: str | None = None,
    trust_code: bool = False,
    progress: Progress = lambda step, done, of: None,
) -> AnyExpert:
    """An expert for a game, its actions valued as asked for; the user is told if it was trained for another one."""
    if values is not None and not (name is not None and elsewhere.is_name(str(name))):
        raise InputError("--values is for experts from elsewhere; for one of ours, `hydraviper critic` fits values.")
    expert = expert_named(game, name, workers, trust_code)
    if values is not None:
        with engine_for(game, workers) as engine:
            expert = worth.weighed(game, expert, values, engine, progress)
    return noted(game, expert, tell)


def is_at_hand(game: Game, name: Path | str | None) -> bool:
    """Tell whether an expert is named or ships for a game."""
    return name is not None or bool(store.all_shipped(game))


def noted(game: Game, expert: AnyExpert, tell: Tell) -> AnyExpert:
    """The expert; the user is told if it was trained for a game with other parameters."""
    before = store.trained_with(expert, game) if isinstance(expert, StoredExpert) else {}
    ignored = offers(game).search.varied
    other = [name for name in before if before[name] != game.parameters.get(name) and name not in ignored]
    if other:
        then, now = (", ".join(f"{name}={each.get(name)}" for name in other) for each in (before, game.parameters))
        tell(f"Note: the expert was trained with {then}, not {now}.")
    return expert


def is_file(name: Path | str) -> bool:
    """Tell whether --expert names a file rather than an expert that ships."""
    return Path(name).exists() or str(name) not in SHIPPED


def file_of(name: Path | str | None, expert: Expert | Making) -> str | None:
    """Where a run finds its expert again: the whole path of a file, a copy in its folder, or a name from elsewhere.

    None for an expert that ships.
    """
    if name is not None and elsewhere.is_name(str(name)):
        return EXPERT if is_kept(expert) else elsewhere.absolute(str(name))
    return str(Path(name).resolve()) if name is not None and is_file(name) else None


def is_kept(expert: Expert | Making) -> bool:
    """Tell whether a run keeps a copy of its expert: it comes from elsewhere, and a file of ours can hold it."""
    return isinstance(expert, StoredExpert) and "contents" in expert.about and store.can_save(expert)


def variant_named(name: str) -> Variant:
    """An algorithm by its name."""
    if name not in VARIANTS:
        raise InputError(f"there is no algorithm {name!r}: choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


@dataclass(frozen=True)
class Where:
    """Where rollouts are played: on this machine, or on a Ray cluster at an address."""

    engine: str = "local"
    address: str | None = None  # None: a cluster of this machine, started for it

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(f"there is no engine {self.engine!r}: choose one of {', '.join(ENGINES)}.")
        if self.address is not None and self.engine != "ray":
            raise InputError("--address is for --engine ray: add that, or leave the address out.")


ENGINES = ("local", "ray")
_where: ContextVar[Where] = ContextVar("where rollouts are played", default=Where())  # noqa: B039 (it is frozen)


def play_on(engine: str = "local", address: str | None = None) -> None:
    """From now on, play rollouts on this machine (`local`), or on a Ray cluster (`ray`)."""
    _where.set(Where(engine, address))


def is_elsewhere() -> bool:
    """Tell whether rollouts are played on a cluster."""
    return _where.get().engine != "local"


def engine_for(game: Game, workers: int) -> PieceEngine:
    """An engine with so many workers; a game that cannot be made again elsewhere is played in this process."""
    try:
        catalogue.read(game.name, game.parameters)
        again = catalogue.maker(game)
    except InputError:
        again = offers(game).again
    where = _where.get()
    if again is None:
        if where.engine != "local":
            raise InputError(f"{game.name} cannot be made again on another machine: leave --engine {where.engine} out.")
        return LocalEngine(lambda: game)
    return LocalEngine(again, workers) if where.engine == "local" else RayEngine(again, where.address)


@contextmanager
def playing(
    game: Game, engine: Engine | None, workers: int, tell: Callable[[int], None] | None = None
) -> Iterator[Engine]:
    """The given engine, or one of this machine that is closed in the end.

    `tell` is told how many episodes have been played.
    """
    with nullcontext(engine) if engine is not None else engine_for(game, workers) as chosen:
        yield chosen if tell is None else counted(game, chosen, tell)


def episodes_for(game: Game, episodes: int | None) -> int:
    """How many unseen episodes to score on; None: as many as suit the game."""
    return game.recommended.evaluation_episodes if episodes is None else episodes
