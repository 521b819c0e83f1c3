"""The report's episode: it plays on the game's own picture, beside the trees whose paths light up."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hydraviper.drawing.stages import Stage

SPEEDS = {"0.5": "½ ×", "1": "1 ×", "2": "2 ×", "5": "5 ×"}


@dataclass(frozen=True)
class Deeds:
    """What one agent's tree did."""

    agent: str
    actions: Sequence[str]  # names
    leaves: Sequence[int]  # [T] the leaf that decided; -1 where the agent had no choice
    does: Sequence[int]  # [T] actions
    expert: Sequence[int] | None = None  # [T] what the expert would have done


@dataclass(frozen=True)
class Episode:
    """An episode that the trees played, or why there is none."""

    seed: int
    score: str = ""  # its name
    scores: Sequence[str] = ()  # [T + 1] the score so far
    deeds: Sequence[Deeds] = ()  # in the order of the trees
    stage: Stage | None = None
    problem: str = ""


def player(episode: Episode) -> str:
    """The picture with its buttons; hidden until a script brings it to life."""
    if episode.stage is None:
        return f'<p class="soft">An episode could not be shown: {escape(episode.problem)}</p>'
    speeds = "".join(f'<option value="{k}"{" selected" * (k == "1")}>{name}</option>' for k, name in SPEEDS.items())
    deeds = "".join(f"<li><b>{escape(one.agent)}</b> <span></span></li>" for one in episode.deeds)
    steps = len(episode.scores) - 1
    return (
        '<section class="episode" aria-label="An episode" hidden><div class="desk">'
        f'<div class="stage">{episode.stage.html}</div>'
        '<p class="told" role="status"></p>'
        '<div class="controls"><button type="button" class="back">Back</button>'
        '<button type="button" class="play">Play</button><button type="button" class="step">Step</button>'
        f'<select class="speed" aria-label="Speed">{speeds}</select>'
        f'<input class="at" type="range" min="0" max="{steps}" value="0" aria-label="Step">'
        '<button type="button" class="closer" aria-pressed="false" hidden>Closer</button>'
        '<button type="button" class="next" title="where trees and expert disagree" hidden></button></div></div>'
        f'<ul class="deeds">{deeds}</ul><p class="moments" role="status"></p>'
        f'<script type="application/json">{_data(episode, episode.stage)}</script></section>'
        "<noscript><p>A browser that runs scripts shows an episode here.</p></noscript>"
    )


def _data(episode: Episode, stage: Stage) -> str:
    """The episode for the page's script; nothing in it can end the script's element."""
    agents = [
        {"name": one.agent, "actions": one.actions, "leaves": list(one.leaves), "does": list(one.does)}
        | ({} if one.expert is None else {"expert": list(one.expert)})
        for one in episode.deeds
    ]
    told = {
        **{"steps": len(episode.scores) - 1, "score": episode.score, "scores": list(episode.scores)},
        **{"agents": agents, "near": [stage.near.get(one.agent) for one in episode.deeds]},
        **{"frames": stage.frames, "pictures": stage.pictures},
    }
    return json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")


STYLE = """
.episode[hidden] { display: none; }
.stage svg, .stage img { display: block; width: 100%; height: auto; max-height: 56vh; border: 1px solid var(--line);
  border-radius: 8px; background: #fff; object-fit: contain; }
.controls { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
.at { flex: 1 1 160px; min-width: 0; accent-color: var(--strong); min-height: 30px; }
.play { min-width: 76px; } .told { margin: 8px 0; font-variant-numeric: tabular-nums; }
.deeds { list-style: none; padding: 0; margin: 10px 0; max-height: 9.5em; overflow: auto; }
.moments button { padding: 1px 9px; margin: 2px 0; } .moments { margin: 6px 0 12px; }
@media screen and (max-width: 999px) and (min-height: 640px) {  /* the picture stays in sight beside the tree */
  .episode:not([hidden]) { display: contents; }
  .desk { position: sticky; top: 0; z-index: 1; background: var(--ground); padding: 6px 0 8px;
    border-bottom: 1px solid var(--line); }
  .stage svg, .stage img { max-height: 32vh; } .told { font-size: 14px; margin: 4px 0; }
}
"""
