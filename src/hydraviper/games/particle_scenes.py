"""Where everybody is, as some agents of a particle world see it."""

from collections.abc import Mapping, Sequence

from hydraviper.data import Agent
from hydraviper.geometry import Mark, Point, Scene, Seen

LANDMARK_SIZE = 0.05  # as drawn
GOAL = "goal"
_NEAR = 1e-3  # a goal this close to a landmark is that landmark


def scene_of(agents: Sequence[Agent], landmarks: int, agent_size: float, seen: Seen) -> Scene:
    """The scene that some agents see; one that does not know its own place, and whom nobody sees, is in the middle."""
    places: dict[str, Point] = {}
    for name, features in seen.items():
        own = places.setdefault(name, (features.get("position x", 0.0), features.get("position y", 0.0)))
        for thing, way in _ways(features).items():
            places.setdefault(thing, (own[0] + way[0], own[1] + way[1]))
    goal = places.get(GOAL)
    marks = []
    for k in range(landmarks):
        if (place := places.get(f"landmark {k}")) is not None:
            is_goal = goal is not None and max(abs(place[0] - goal[0]), abs(place[1] - goal[1])) < _NEAR
            marks.append(Mark(f"landmark {k}", GOAL if is_goal else "landmark", place, LANDMARK_SIZE))
    marks += [Mark(agent.name, "agent", places[agent.name], agent_size) for agent in agents if agent.name in places]
    return Scene(tuple(marks))


def _ways(features: Mapping[str, float]) -> dict[str, Point]:
    """From an agent to whatever it sees: others by their names, landmarks, the goal."""
    found = {}
    for name, value in features.items():
        thing = name.removesuffix(" dx")
        if name.endswith(" dx") and f"{thing} dy" in features:
            is_mark = thing == GOAL or thing.startswith("landmark ")
            found[thing if is_mark else thing.replace(" ", "-")] = value, features[f"{thing} dy"]
    return found
