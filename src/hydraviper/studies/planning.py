"""Which cells of a study a call asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from hydraviper.data import InputError
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue
from hydraviper.runs.run import expert_hash
from hydraviper.studies import expert_files
from hydraviper.studies.cells import Cell, ExpertName, cell_of
from hydraviper.studies.design import Arm
from hydraviper.studies.expert_files import ExpertFiles
from hydraviper.studies.study import Study


@dataclass(frozen=True)
class Wanted:
    """Which part of a study is wanted; None means all."""

    seeds: int = 10
    games: Sequence[str] | None = None
    algorithms: Sequence[str] | None = None
    budgets: Sequence[str] | None = None
    scale: float = 1.0
    experts: Sequence[str] | None = None


def plan(study: Study, wanted: Wanted, files: ExpertFiles, own: ExpertFiles | None = None) -> list[tuple[Cell, Arm]]:
    """The cells that are wanted, seed by seed, so that a study that is stopped early compares on common seeds.

    Within a seed the arms follow one another, since the arms of one game may take rollouts from those before.
    `files` are experts that a user passes, `own` those that the study itself names.
    """
    arms, experts = _arms(study, wanted), _experts(study, wanted)
    games = {name: catalogue.make(study.spec(name)) for name in experts}
    titles = {catalogue.without_options(game.name, game.parameters): experts[name] for name, game in games.items()}
    for (title, algorithm), path in files.items():
        if title not in titles or (algorithm not in titles[title] and None not in titles[title]):
            asked = "; ".join(f"{name}: {', '.join(map(_named, names))}" for name, names in experts.items())
            raise InputError(f"{path} is an expert for {title} by {algorithm}, which is not asked for here ({asked}).")
    named = {
        (name, expert): _identity(expert_files.find(game, expert, {**(own or {}), **files}), expert)
        for name, game in games.items()
        for expert in experts[name]
    }
    return [
        (cell_of(arm, game, named[name, expert], seed, wanted.scale, study.settings.get(name), study.episodes), arm)
        for seed in range(wanted.seeds)
        for arm in arms
        for name, game in games.items()
        for expert in experts[name]
    ]


def _identity(expert: AnyExpert, name: str | None) -> ExpertName:
    return ExpertName(name or str(expert.about.get("algorithm")), expert_hash(expert))


def _named(expert: str | None) -> str:
    return expert or "any expert"


def _experts(study: Study, wanted: Wanted) -> dict[str, list[str | None]]:
    """The games that are wanted, each with its experts; None is whichever expert ships."""
    experts: dict[str, list[str | None]] = {}
    for word in wanted.games or study.games:
        # a comma divides the words, so that a title with parameters is named by what stands before them
        game = next((title for title in study.games if word in (title, title.partition(",")[0])), None)
        if game is None:
            raise InputError(f"{study.name} has no game {word!r}: choose among {', '.join(study.games)}.")
        names = study.experts.get(game)
        if not names:
            experts[game] = [*(wanted.experts or [None])]
            continue
        chosen = [name for name in names if wanted.experts is None or name in wanted.experts]
        if chosen:
            experts[game] = [*chosen]
        elif wanted.games:
            raise InputError(
                f"{study.name} distils {game} from {' or '.join(names)}, not from {', '.join(wanted.experts or ())}: "
                f"choose again, or leave {game} out."
            )
    return experts


def _arms(study: Study, wanted: Wanted) -> list[Arm]:
    names = dict.fromkeys(name for arm in study.arms for name in (arm.algorithm, arm.name))
    for name in wanted.algorithms or ():
        if name not in names:
            raise InputError(f"{study.name} has no algorithm {name!r}: choose among {', '.join(names)}.")
    chosen = wanted.algorithms or names
    arms = [arm for arm in study.arms if arm.algorithm in chosen or arm.name in chosen]
    levels = {_short(arm.level): arm.level for arm in arms}
    for name in wanted.budgets or ():
        if _short(name) not in levels:
            of = f" for {', '.join(wanted.algorithms)}" if wanted.algorithms else ""
            raise InputError(f"{study.name} has no budget {name!r}{of}: choose among {', '.join(levels)}.")
    budgets = [levels[_short(name)] for name in wanted.budgets or levels]
    return [arm for arm in arms if arm.level in budgets]


def _short(level: str) -> str:
    """`high` for `high/high`."""
    first, _, second = level.partition("/")
    return first if second in ("", first) else level
