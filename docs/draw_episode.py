"""Draw README's picture: episodes of cooperative navigation beside the tree that steers one of the three agents.

`python docs/draw_episode.py` distils the trees (seconds, always the same ones) and writes docs/images/episode.svg,
an SVG that moves: while the agents play, the path that agent-0's observation takes through its tree lights up.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import hydraviper
from hydraviper.drawing.trees import to_svg

OUT = Path(__file__).parent / "images" / "episode.svg"
SEEDS = (0, 1, 2)  # the episodes, one after the other
SECONDS_PER_STEP, PAUSE = 0.16, 6  # an episode's last picture stays for some steps
SIDE, SCALE, TOP = 330, 118, 70  # pixels: the arena's side, one unit of length, the arena's upper edge
COLOURS = ("#c2410c", "#1d4ed8", "#15803d")


def main() -> None:
    game = hydraviper.make("cooperative-navigation")
    result = hydraviper.distill(game, hydraviper.shipped_expert(game), hydraviper.Settings(depth=3))
    players, landmarks, paths = play(game, result.profile)
    agent, tree = game.agents[0], result.profile.students[0]
    drawing = to_svg(agent, tree)
    width, height = (float(x) for x in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing).groups())
    body = drawing[drawing.index("</title>") + len("</title>") : drawing.rindex("</svg>")]
    body = re.sub(r"<g><title>.*?</title>", "<g>", body, flags=re.S)  # tooltips do not show in an <img>
    lit = light(drawing, paths, len(tree))
    total = SIDE + width
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height:.0f}" font-family="sans-serif" '
        f'role="img" aria-label="Three agents spread over three landmarks, steered by trees">',
        f'<rect width="{total:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *arena(players, landmarks),
        f'<g transform="translate({SIDE} 0)">{body}{lit}</g>',
        "</svg>",
    ]
    OUT.write_text("\n".join(parts) + "\n")
    print(f"{OUT.name}: {OUT.stat().st_size / 1000:.0f} kB")


def play(game: hydraviper.Game, profile: hydraviper.Profile) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Agents' and landmarks' positions [T, 3, 2] at each step, and the nodes that agent-0's observation passes."""
    place = {name: k for k, name in enumerate(game.agents[0].features)}
    pair = lambda name: [place[name.format(axis)] for axis in "xy"]  # noqa: E731
    players, landmarks, paths = [], [], []
    for seed in SEEDS:
        played = hydraviper.play(game, profile, np.array([seed], np.uint64), record=True)
        steps = [*range(game.horizon), *[game.horizon - 1] * PAUSE]
        own = np.stack([seen[:, pair("position {}")] for seen in played.observations], axis=1)  # [T, 3, 2]
        first = played.observations[0]
        marks = np.stack([own[:, 0] + first[:, pair(f"landmark {k} d{{}}")] for k in range(3)], axis=1)
        nodes = [profile.students[0].path(row) for row in first]
        players += [own[k] for k in steps]
        landmarks += [marks[k] for k in steps]
        paths += [[int(node) for node in nodes[k]] for k in steps]
    return np.array(players), np.array(landmarks), paths


def arena(players: np.ndarray, landmarks: np.ndarray) -> list[str]:
    """The episode: landmarks as crosses, agents as discs with their numbers."""
    parts = [
        '<text x="16" y="28" font-size="16" font-weight="bold" fill="#1a1d21">three agents, three landmarks</text>',
        '<text x="16" y="47" font-size="12" fill="#5b6470">each agent follows its own tree; nobody talks</text>',
        f'<rect x="16" y="{TOP}" width="{SIDE - 40}" height="{SIDE - 40}" rx="6" fill="#f6f7f9" stroke="#d5dae1"/>',
    ]
    for k in range(3):
        cross = '<path d="M-7 -7L7 7M-7 7L7 -7" stroke="#1a1d21" stroke-width="3"/>'
        label = f'<text x="10" y="-5" font-size="11" fill="#1a1d21">{k}</text>'
        parts.append(f"<g>{cross}{label}{move(landmarks[:, k], 'discrete')}</g>")
    for k, colour in enumerate(COLOURS):
        disc = f'<circle r="13" fill="{colour}" fill-opacity="0.85"/>'
        number = f'<text y="4" font-size="12" font-weight="bold" text-anchor="middle" fill="#ffffff">{k}</text>'
        parts.append(f"<g>{disc}{number}{move(players[:, k], 'linear')}</g>")
    return parts


def move(positions: np.ndarray, mode: str) -> str:
    middle = (16 + (SIDE - 40) / 2, TOP + (SIDE - 40) / 2)
    spots = np.stack([middle[0] + SCALE * positions[:, 0], middle[1] - SCALE * positions[:, 1]], axis=1)
    values = ";".join(f"{x:.0f} {y:.0f}" for x, y in spots)
    return (
        f'<animateTransform attributeName="transform" type="translate" calcMode="{mode}" '
        f'dur="{len(spots) * SECONDS_PER_STEP:.2f}s" repeatCount="indefinite" values="{values}"/>'
    )


def light(drawing: str, paths: list[list[int]], nodes: int) -> str:
    """A frame over each node, seen while the observation passes the node."""
    box = r'node (\d+)\n[^<]*</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"'
    frames = []
    for node, x, y, wide, high in re.findall(box, drawing):
        on = [int(node) in path for path in paths]
        if any(on):
            values = ";".join(str(int(shown)) for shown in on)
            frames.append(
                f'<rect x="{float(x) - 3:.0f}" y="{float(y) - 3:.0f}" width="{float(wide) + 6:.0f}" '
                f'height="{float(high) + 6:.0f}" rx="6" fill="none" stroke="{COLOURS[0]}" stroke-width="4" opacity="0">'
                f'<animate attributeName="opacity" calcMode="discrete" dur="{len(on) * SECONDS_PER_STEP:.2f}s" '
                f'repeatCount="indefinite" values="{values}"/></rect>'
            )
    if len(re.findall(box, drawing)) != nodes:
        raise SystemExit("the drawing of trees has changed: find its boxes again in `light`")
    return "".join(frames)


if __name__ == "__main__":
    main()
