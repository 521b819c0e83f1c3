"""Train an expert, save it and score it."""

from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec import structs

from hydraviper.data import Progress
from hydraviper.experts import algorithms, store
from hydraviper.experts.store import StoredExpert
from hydraviper.logs import open_log
from hydraviper.profile import Profile
from hydraviper.protocols import Game
from hydraviper.records import Summary, to_json
from hydraviper.runs.evaluate import evaluate_profile
from hydraviper.runs.folder import check_new_file, plain
from hydraviper.runs.opening import engine_for

SCORED_ON = 10_000  # episodes, of a game that steps many at once

Curve = list[dict[str, object]]  # the learning curve, a point each


@dataclass(frozen=True)
class Trained:
    """An expert that was trained, with its score and its learning curve."""

    expert: StoredExpert
    summary: Summary
    curve: Curve
    path: Path

    def to_json(self) -> dict[str, object]:
        """Plain values by name."""
        return {**to_json(self.summary), "curve": self.curve}


def train(
    game: Game,
    *,
    algorithm: str | None = None,
    episodes: int | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Path | None = None,
    progress: Progress = lambda step, done, of: None,
    log: Path | str | None = None,
) -> Trained:
    """Train an expert for a game by maddpg, idqn, mplight or linear (default: what suits the game), save and score it.

    `log` is FILE.csv or a folder for TensorBoard, for the learning curve while it grows.
    """
    algorithm = algorithms.choose(game, algorithm)
    path = out or Path(f"{plain(game.name)}-{algorithm}-{seed}.safetensors")
    check_new_file(path)
    opened = None if log is None else open_log(log, str(path))
    changes = {"seed": seed} | ({} if episodes is None else {"episodes": episodes})
    with engine_for(game, workers) as engine:
        training = algorithms.train(game, algorithm, changes, engine, progress, opened)
        store.save(training.expert, path)
        count = SCORED_ON if game.width is None else game.recommended.evaluation_episodes
        scores = evaluate_profile(game, Profile(training.expert), engine, count, progress=progress)
    summary = Summary(**structs.asdict(scores), game=game.name, algorithm=algorithm, seed=seed, out=str(path))
    curve = [asdict(status) for status in training.curve]
    return Trained(training.expert, summary, curve, path)
