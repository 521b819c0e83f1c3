"""An episode of a run for people: what everybody saw, did and should have done, with a picture of every step."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from io import BytesIO

import numpy as np

from hydraviper.data import InputError, Observations, Rollouts
from hydraviper.drawing import film
from hydraviper.drawing.pictures import image, smaller
from hydraviper.drawing.scenes import draw_scene, scene_window
from hydraviper.geometry import Frame, Scene
from hydraviper.protocols import Game, Policy, offers
from hydraviper.rollout import play
from hydraviper.runs.replay import players
from hydraviper.runs.run import Run, Source, opened
from hydraviper.seeding import Purpose, rollout_seeds

SIDE = 480  # pixels of an environment's own picture
WORST = 5  # steps at which most of the score is lost
EVERY = 5  # seconds of traffic between two pictures
WAIT = "red for"  # how features begin that tell how long somebody has been waiting


@dataclass(frozen=True)
class Moment:
    """A step worth a look, and why."""

    step: int
    kind: str  # disagree, loss or wait
    words: str


@dataclass(frozen=True)
class Episode:
    """An episode that the trees played."""

    number: int
    seed: int
    agents: tuple[str, ...]  # those with trees
    seen: Mapping[str, np.ndarray]  # agent -> [T, F]
    paths: Mapping[str, tuple[tuple[int, ...], ...]]  # agent -> per step, the nodes that its tree passes
    actions: Mapping[str, tuple[str, ...]]  # agent -> [T]
    expert: Mapping[str, tuple[str, ...]]  # agent -> [T] what it would have done; nothing if it is not at hand
    scores: tuple[float, ...]  # [T] what each step adds to the score
    moments: tuple[Moment, ...]  # in the order of the steps
    picture: Callable[[int], str]  # step, 0 to T -> HTML
    ground: str = ""  # the address, with the data in it, of a picture that lies beneath all of them

    def __len__(self) -> int:
        return len(self.scores)


def episode(run: Source, number: int = 0, seed: int = 0) -> Episode:
    """Play an episode of `evaluate` with the trees in charge; episodes count from 0."""
    run = opened(run)
    game, students = run.game, run.students
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, 1, number)
    played, picture, ground = _filmed(game, players(run), seeds)
    seen = played.observations or ()
    names = {i: game.agents[i].name for i in students}
    paths = {names[i]: tuple(tuple(tree.path(row)) for row in seen[i]) for i, tree in students.items()}
    actions = {names[i]: _words(game, i, tree.predict(seen[i])) for i, tree in students.items()}
    wanted = _wanted(run, seen)
    paid = np.zeros((0, len(game.agents))) if played.rewards is None else played.rewards
    scores = game.score.of(paid) - game.score.of(np.zeros((1, paid.shape[1])))
    shown = {names[i]: seen[i] for i in students}
    moments = [*_disagreements(actions, wanted), *_losses(game, scores), *_waits(run, shown)]
    return Episode(
        number,
        seed,
        tuple(names.values()),
        shown,
        paths,
        actions,
        wanted,
        tuple(map(float, scores)),
        tuple(sorted(moments, key=lambda moment: (moment.step, moment.kind))),
        cache(picture),
        ground,
    )


def _wanted(run: Run, seen: Observations) -> dict[str, tuple[str, ...]]:
    """What the expert would have done; nothing of a run whose expert is not at hand."""
    try:
        labels = run.expert.act(seen)
    except InputError:
        return {}
    return {run.game.agents[i].name: _words(run.game, i, labels[:, i]) for i in run.students}


def _words(game: Game, agent: int, actions: np.ndarray) -> tuple[str, ...]:
    return tuple(game.agents[agent].actions[int(action)] for action in actions)


# --------------------------------------------------------------------------- moments


def _disagreements(actions: Mapping[str, Sequence[str]], expert: Mapping[str, Sequence[str]]) -> list[Moment]:
    """The steps at which somebody does something else than the expert would."""
    found: dict[int, list[str]] = {}
    for name, wanted in expert.items():
        for step, (mine, better) in enumerate(zip(actions[name], wanted, strict=True)):
            if mine != better:
                found.setdefault(step, []).append(f"{name} does {mine}, the expert would do {better}")
    return [Moment(step, "disagree", "; ".join(words)) for step, words in found.items()]


def _losses(game: Game, scores: np.ndarray) -> list[Moment]:
    """The steps that cost most."""
    loss = scores if game.score.lower_is_better else -scores
    if not len(loss) or loss.max() <= np.median(loss):
        return []
    worst = [int(step) for step in np.argsort(-loss, kind="stable")[:WORST] if loss[step] > np.median(loss)]
    return [Moment(step, "loss", f"{game.score.name} {scores[step]:+.2f} in this step") for step in worst]


def _waits(run: Run, seen: Mapping[str, np.ndarray]) -> list[Moment]:
    """Where a signal keeps somebody waiting longest, of games that tell."""
    found = []
    for agent in run.trees.agents:
        columns = [k for k, name in enumerate(agent.features) if name.startswith(WAIT) or f" {WAIT}" in name]
        values = seen[agent.name][:, columns]
        if columns and values.size and values.max() > 0:
            step, k = np.unravel_index(int(values.argmax()), values.shape)
            words = f"{agent.name}: {agent.features[columns[int(k)]]} is {values.max():.0f}, its longest wait"
            found.append(Moment(int(step), "wait", words))
    return found


# --------------------------------------------------------------------------- pictures


class _Camera:
    """A policy that keeps where everybody is before each of its answers."""

    def __init__(self, policy: Policy, look: Callable[[], Scene]) -> None:
        self._policy, self._look = policy, look
        self.scenes: list[Scene] = []

    def act(self, observations: Observations) -> np.ndarray:
        self.scenes.append(self._look())
        return self._policy.act(observations)


Filmed = tuple[Rollouts, Callable[[int], str], str]


def _filmed(game: Game, policy: Policy, seeds: np.ndarray) -> Filmed:
    """An episode, its picture by step, by whichever way the game can be drawn, and what lies beneath."""
    drawing = offers(game).drawing
    if drawing.scene is not None:
        camera = _Camera(policy, drawing.scene)
        played = play(game, camera, seeds, record=True)
        scenes = [*camera.scenes, drawing.scene()]
        window = scene_window(scenes)
        return played, lambda step: draw_scene(scenes[step], window, f"{game.name}, step {step}"), ""
    if drawing.film is not None and drawing.road_map is not None:
        return _traffic(game, policy, seeds)
    played = play(game, policy, seeds, record=True)
    if drawing.pictures is None:
        return played, lambda step: f"<p>{escape(game.name)} has no picture.</p>", ""
    taken = dict(drawing.pictures(policy, int(seeds[0]), int(played.lengths[0]) + 1))
    return played, lambda step: image(smaller(taken[min(step, max(taken))], SIDE), f"step {step}"), ""


def _traffic(game: Game, policy: Policy, seeds: np.ndarray) -> Filmed:
    drawing = offers(game).drawing
    assert drawing.film is not None
    assert drawing.road_map is not None
    road_map, frames = drawing.road_map(), list[Frame]()
    drawing.film(frames.append, EVERY)
    played = play(game, policy, seeds, record=True)
    length = max(int(played.lengths[0]), 1)
    try:
        studio = film.Film(road_map, game.name, None)
    except InputError as error:  # without Pillow
        sentence = str(error)
        return played, lambda step: f"<p>{escape(sentence)}</p>", ""
    content = BytesIO()
    studio.ground().save(content, "PNG", optimize=True)

    def picture(step: int) -> str:
        return studio.above(frames[round(step / length * (len(frames) - 1))], f"{game.name}, step {step}")

    return played, picture, f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
