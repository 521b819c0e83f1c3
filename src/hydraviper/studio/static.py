"""A read-only copy of the studio as static files, to send to a colleague: no server, nothing from outside."""

import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hydraviper import InputError, Run
from hydraviper.runs.draw import drawn
from hydraviper.runs.edit import in_words
from hydraviper.runs.episodes import Episode, episode
from hydraviper.runs.folder import new_folder
from hydraviper.runs.listing import Listed
from hydraviper.studio.lighting import LIGHTING
from hydraviper.studio.shelf import Shelf


def write_copy(folder: Path, out: Path) -> list[Path]:
    """Write a page for every finished run and a list of them into a new folder; the files that were written."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} already holds something, or is a file: pass a new folder with --export.")
    shelf = Shelf(folder)
    found = [one for one in shelf.runs() if not one.problem]
    if not found:
        raise InputError(f"{folder} holds no run that can be read: there is nothing to copy.")
    pages: dict[str, str] = {}
    problems: dict[str, str] = {}
    for one in found:
        try:
            pages[one.name] = _run_page(one, shelf.open(one.name))
        except InputError as error:  # under way, stopped, or of a game that cannot be made here
            problems[one.name] = str(error)
    with new_folder(out, out.parent, out.name) as target:
        contents = {f"{name}.html": text for name, text in pages.items()}
        contents["index.html"] = _index(found, pages.keys(), problems)
        for name, text in contents.items():
            (target / name).write_text(text, encoding="utf-8")
    return [out / name for name in contents]


def _index(found: list[Listed], pages: Any, problems: dict[str, str]) -> str:
    rows = []
    for one in found:
        name = f'<a href="{quote(one.name)}.html">{escape(one.name)}</a>' if one.name in pages else escape(one.name)
        score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
        expert = "" if one.expert is None else f"{one.expert.mean:.2f}"
        told = (one.game, one.algorithm, score, expert, problems.get(one.name, one.state))
        rows.append(f"<tr><th scope=row>{name}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in told)}</tr>")
    heads = "".join(f"<th scope=col>{head}</th>" for head in ("run", "game", "algorithm", "score", "expert", "state"))
    return _page("Runs", f"<h1>Runs</h1><table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>")


def _run_page(one: Listed, run: Run) -> str:
    """A run: its score, an episode that plays, every tree with the path that lights up, and its edits."""
    played = episode(run)
    score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
    expert = "" if one.expert is None else f"; the expert {one.expert.mean:.2f}"
    trees = "".join(
        f'<figure data-agent="{escape(agent.name)}">{drawn(run, place, tree)}</figure>'
        for place, (agent, tree) in enumerate(zip(run.trees.agents, run.trees.trees, strict=True))
    )
    edits = "".join(f"<li>{escape(in_words(record))}</li>" for record in run.trees.edits)
    body = (
        f'<p><a href="index.html">All runs</a></p><h1>{escape(one.name)}</h1><p>{escape(one.game)}, '
        f"{escape(one.algorithm)}: {escape(score)}{escape(expert)}</p>"
        + (f"<h2>Edited by hand</h2><ol>{edits}</ol>" if edits else "")
        + '<h2>An episode</h2><p><button id="back">Back</button> <button id="play">Play</button> '
        '<button id="step">Step</button> <button id="next">Next where trees and expert disagree</button> '
        '<label>step <input id="at" type="range" min="0" value="0"></label></p>'
        f'<p id="told" role="status"></p><div id="picture"{_ground(played.ground)}></div>'
        f'<h2>Trees</h2>{trees}<script type="application/json" id="episode">{_data(played)}</script>'
        f"<script>{_SCRIPT}</script>"
    )
    return _page(one.name, body)


def _ground(address: str) -> str:
    return f' style="background: #fff url({address}) 0 0 / 100% 100%; max-width: 960px"' if address else ""


def _data(played: Episode) -> str:
    """The episode for the page's script; nothing in it can end the script's element."""
    told = {
        "pictures": [played.picture(step) for step in range(len(played) + 1)],
        "paths": played.paths,
        "actions": played.actions,
        "expert": played.expert,
        "scores": played.scores,
        "disagree": [moment.step for moment in played.moments if moment.kind == "disagree"],
    }
    return json.dumps(told).replace("<", "\\u003c")


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{LIGHTING}</style></head><body><main>{body}</main></body></html>\n"
    )


_STYLE = """
:root { color-scheme: light dark; } body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 1200px; margin: 0 auto; padding: 24px; } h1 { font-size: 26px; } h2 { font-size: 19px; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 5px 16px 5px 0; border-bottom: 1px solid #8886; }
button { font: inherit; padding: 4px 12px; } figure { margin: 12px 0; overflow-x: auto; background: #fff; }
figure svg, #picture svg, #picture img { display: block; max-width: 100%; height: auto; }
"""

_SCRIPT = """
(function () {
  var film = JSON.parse(document.getElementById("episode").textContent), now = 0, timer = null;
  var at = document.getElementById("at"), play = document.getElementById("play"), last = film.scores.length;
  at.max = last;
  function show(step) {
    now = Math.max(0, Math.min(last, step));
    at.value = now;
    document.getElementById("picture").innerHTML = film.pictures[now];
    var score = film.scores.slice(0, now).reduce(function (a, b) { return a + b; }, 0), told = [];
    document.querySelectorAll("figure[data-agent]").forEach(function (figure) {
      var name = figure.dataset.agent, path = film.paths[name][now] || [];
      figure.classList.toggle("lighting", path.length > 0);
      figure.querySelectorAll("[data-node]").forEach(function (part) {
        part.classList.toggle("lit", path.indexOf(Number(part.dataset.node)) >= 0);
      });
      if (now < last && film.expert[name] && film.actions[name][now] !== film.expert[name][now]) {
        told.push(name + " does " + film.actions[name][now] + ", the expert would do " + film.expert[name][now]);
      }
    });
    document.getElementById("told").textContent = "step " + now + " of " + last + ", score so far " + score.toFixed(2)
      + (told.length ? ". " + told.join("; ") : "");
  }
  function pause() { clearInterval(timer); timer = null; play.textContent = "Play"; }
  play.onclick = function () {
    if (timer) { return pause(); }
    play.textContent = "Pause";
    timer = setInterval(function () { if (now >= last) { pause(); } else { show(now + 1); } }, 600);
  };
  document.getElementById("back").onclick = function () { show(now - 1); };
  document.getElementById("step").onclick = function () { show(now + 1); };
  document.getElementById("next").onclick = function () {
    var later = film.disagree.filter(function (step) { return step > now; });
    if (film.disagree.length) { show(later.length ? later[0] : film.disagree[0]); }
  };
  at.oninput = function () { show(Number(at.value)); };
  show(0);
})();
"""
